"""The page holds every weight to 0.002, the strongest exactly, in under a megabyte, and no token can break it."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.errors import FileError, InputError, UnknownNameError
from regard.lens.draw.page import fragment, notebook, page, plan, show
from regard.lens.draw.page.answers import answers
from regard.lens.draw.page.legend import shorter
from regard.lens.draw.page.payload import payload
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.tokens import NEXT
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from tests.families import FAMILIES
from tests.page_cases import Elements, Read, named, noise
from tests.unit.lens.recording.test_maps import OPTIONS, Made, apart, inputs, record

HALF_A_LEVEL = 0.5 / 255
A_PART = 1 / 255 / (1 << 14)  # the strongest are told to half of one; to a whole one where a level is full
HOSTILE = ["</script><b>x", "<!--", "שלום", "\n", "", "\u202e", "&amp;\"'", "x" * 300, "\ud800", "🙂", "\\u003c"]


def weights(call: ForwardCall, site: str, batch: int = 0) -> Tensor:
    return torch.stack([call.weights(site, head, batch=batch) for head in call.map(site).heads])


@pytest.fixture(scope="module")
def seen() -> Recording:
    """Two texts: encoder, decoder and cross-attention."""
    family = FAMILIES["transformer post"]
    model = family.model()
    with watch(model) as recording:
        family.run(model, family.example(lengths=(7, 3)))
    return recording


# Numbers


@pytest.mark.parametrize("name", ["plain", "causal", "padding left, causal", "causal window", "sinks", "any mask"])
@pytest.mark.parametrize("batch", [0, 1])
def test_every_weight_is_there_as_a_byte_and_the_strongest_exactly(name: str, batch: int) -> None:
    """The page asks for all heads at once, we for one after another: products of another shape, rounded otherwise."""
    given, options = inputs(), OPTIONS[name]
    call = record(Made(**options), given).last
    ((levels, exact),) = Read(payload(call, batch=batch)).maps
    truth, bound = weights(call, "made.0.self", batch), apart(given, options)
    assert bound < 0.1 * HALF_A_LEVEL
    assert (levels / 255 - truth).abs().max() <= HALF_A_LEVEL + bound
    bound += A_PART
    for head, rows in enumerate(exact):
        for row, found in enumerate(rows):
            assert len(found) == 5
            top = sorted(truth[head, row].tolist(), reverse=True)[:5]
            assert sorted(found.values(), reverse=True) == pytest.approx(top, abs=bound)
            assert all(truth[head, row, column].item() == pytest.approx(w, abs=bound) for column, w in found.items())


def test_what_is_exact_is_so_to_a_part_of_a_level() -> None:
    """Of the very numbers that the page was made from, so that nothing but the 14 bits is left to differ."""
    call = record(Made(**OPTIONS["plain"]), inputs()).last
    ((levels, exact),) = Read(payload(call)).maps
    truth = call.tile("made.0.self")
    assert torch.equal(levels, (255 * truth).round().to(torch.uint8))
    for head, row in itertools.product(range(len(exact)), range(len(exact[0]))):
        for column, found in exact[head][row].items():
            assert found == pytest.approx(truth[head, row, column].item(), abs=A_PART)


def test_all_sites_of_two_texts(seen: Recording) -> None:
    read = Read(payload(seen.last))
    assert [one["site"] for one in read.description["maps"]] == seen.sites
    assert [one["kind"] for one in read.description["maps"]] == [
        "encoder",
        "encoder",
        "decoder",
        "cross",
        "decoder",
        "cross",
    ]
    for site, (levels, _) in zip(seen.sites, read.maps, strict=True):
        assert torch.equal(levels, (255 * seen.last.tile(site)).round().to(torch.uint8))
    cross = read.description["maps"][3]
    texts = [read.description["texts"][cross[side]] for side in ("rows", "columns")]
    assert [text["name"] for text in texts] == ["target", "source"]
    assert tuple(text["tokens"] for text in texts) == seen.labels("decoder.0.cross")


def test_a_page_has_the_tokens_that_rows_read_and_those_that_they_write(seen: Recording) -> None:
    told = payload(seen.last).description
    assert told["row"] == "output"
    assert payload(seen.last, row="input").description["row"] == "input"
    for one in told["maps"]:
        read = told["texts"][one["rows"]]["tokens"]
        assert read == seen.labels(one["site"])[0]
        if one["kind"] == "encoder":
            assert one["written"] is None
            assert one["says"] == ["each row: where a token of the source looks"]
        else:
            assert told["texts"][one["written"]]["tokens"] == [*read[1:], NEXT]
            assert "has read this token" in one["says"][0]
            assert one["says"][1].endswith("to write this token")


def test_a_causal_map_is_stored_to_the_diagonal_only() -> None:
    read = Read(payload(noise(1, 2, 10, causal=True)))
    assert len(read.levels) == 2 * 10 * 11 // 2


def test_a_page_holds_what_the_payload_does() -> None:
    call = noise(2, 2, 9)
    made = payload(call)
    found = Elements(page(call)).payload()
    assert (found.levels, found.exact) == (made.levels, made.exact)
    assert found.description["texts"] == made.description["texts"]


@pytest.mark.parametrize(
    ("spread", "causal"), [(0.3, True), (1.0, True), (3.0, True), (0.3, False), (0.6, False), (3.0, False)]
)
def test_twelve_by_twelve_heads_at_128_tokens_are_under_a_megabyte(spread: float, causal: bool) -> None:
    """Noise compresses worst: 0.3 is how far apart the scores of a fresh GPT-2 or BERT lie, 3 makes them sharp."""
    call = noise(12, 12, 128, spread=spread, causal=causal)
    made = page(call, title="noise")
    assert len(made.encode()) < 1_000_000
    told = json.loads(Elements(made).parts["description"])
    assert all(one["cell"] == [1, 1] and one["keys"] >= 1 for one in told["maps"])
    assert causal is False or all(one["keys"] == 5 for one in told["maps"])


# By value


def test_the_norms_of_the_values_come_along(seen: Recording) -> None:
    read = Read(payload(seen.last))
    assert read.description["by"] == "weight"
    shares, at = torch.tensor(read.shares()) / 65535, 0
    for told in read.description["maps"]:
        norms = seen.last.map(told["site"]).norms
        assert norms is not None
        assert (told["by"], told["norms"]["of"]) == ("weight", "|v W_O|")
        columns = seen.last.extent(told["site"])[1]
        found = shares[at : at + 4 * columns].reshape(4, columns) * torch.tensor(told["norms"]["largest"])[:, None]
        torch.testing.assert_close(found, norms[0, :, :columns], atol=1e-4, rtol=1e-5)
        at += 4 * columns
    assert at == len(shares)
    assert payload(seen.last, by="value").description["by"] == "value"


def test_without_norms_nothing_is_claimed_of_them() -> None:
    read = Read(payload(noise(1, 2, 6)))
    assert read.norms == b""
    assert read.description["maps"][0]["norms"] is None


@pytest.mark.parametrize(("spread", "causal"), [(1.0, True), (3.0, True), (0.3, False), (0.6, False), (3.0, False)])
def test_norms_fit_into_the_megabyte_too(spread: float, causal: bool) -> None:
    """If need be, in place of exact weights; the badge says how many of those there are."""
    call = noise(12, 12, 128, spread=spread, causal=causal, values=True)
    made = page(call, title="noise", by="value")
    assert len(made.encode()) < 1_000_000
    told = json.loads(Elements(made).parts["description"])
    assert all(one["norms"]["largest"] and one["cell"] == [1, 1] for one in told["maps"])
    shown = dict(told["badge"]["lines"])["shown"]
    assert ("exact" in shown) is (told["maps"][0]["keys"] > 0)


def test_pooled_cells_are_by_the_measure_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 2 * 2 * 50 * 50)
    call = noise(2, 2, 150, spread=3.0, values=True)
    read = Read(payload(call, by="value", site="layers.1.attn", head=1))
    assert [(one["by"], one["cell"]) for one in read.description["maps"]] == [
        ("value", (4, 4)),
        ("value", (4, 4)),
        ("weight", (1, 1)),
    ]
    for site, (levels, _) in zip(call.sites, read.maps, strict=False):
        products = call.weights(site, by="value") / call.largest_norms(site)[:, None, None]
        pooled = in_cells(products, 4)
        assert ((levels / 255) - pooled).abs().max() <= HALF_A_LEVEL + 1e-5
    assert len(read.shares()) == 150  # of the one head that is not pooled


def in_cells(numbers: Tensor, cell: int) -> Tensor:
    """The largest of each cell; those at the right and at the bottom may be smaller."""
    high, wide = (-(-size // cell) * cell - size for size in numbers.shape[-2:])
    whole = torch.nn.functional.pad(numbers, (0, wide, 0, high), value=-math.inf)
    return whole.unflatten(-1, (-1, cell)).unflatten(-3, (-1, cell)).amax((-3, -1))


def test_questions_by_value_are_answered_with_products(seen: Recording) -> None:
    """Of one head, and of all of a site."""
    where = {"what": "weights", "site": "decoder.1.cross", "by": "value"}
    one, said = asked(seen.last, **where, head=2)
    torch.testing.assert_close(one, seen.weights("decoder.1.cross", 2, by="value"))
    torch.testing.assert_close(one[3], seen.row("decoder.1.cross", 2, 3, by="value"))
    every, _ = asked(seen.last, **where)
    torch.testing.assert_close(every, torch.stack([seen.weights("decoder.1.cross", h, by="value") for h in range(4)]))
    assert said == {"shape": list(one.shape), "meta": {}}


def asked(call: ForwardCall, batch: int = 0, **question: Any) -> tuple[Tensor, dict[str, Any]]:
    """The numbers of an answer, and what is said of them, as it arrives by way of JSON."""
    words, numbers = answers(call, batch)(question)
    said = json.loads(json.dumps(words, allow_nan=False))
    found = torch.frombuffer(bytearray(numbers), dtype=torch.float32) if numbers else torch.zeros(0)
    return found.reshape(said.get("shape", [-1])), said


def test_weights_that_are_no_weights_are_counted_and_claim_nothing() -> None:
    call = noise(1, 2, 6)
    one = call.maps["layers.0.attn"]
    lse = one.lse.clone()
    lse[0, 0, 2], lse[0, 1, 3] = math.nan, -5.0
    read = Read(payload(ForwardCall({"layers.0.attn": replace(one, lse=lse)}, call.text)))
    told = read.description["maps"][0]
    assert told["broken"] > 6
    assert told["keys"] == 0
    assert read.maps[0][0][0, 2].eq(0).all()
    json.loads(
        payload(ForwardCall({"layers.0.attn": replace(one, lse=lse, query=one.query * math.nan)}, call.text)).json
    )


# Long texts


def test_long_texts_are_pooled_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 2 * 2 * 50 * 50)
    call = noise(2, 2, 101, causal=True)
    read = Read(payload(call))
    for site, told, (levels, exact) in zip(call.sites, read.description["maps"], read.maps, strict=True):
        assert (told["cell"], told["keys"]) == ((4, 4), 0)
        assert torch.equal(levels, (255 * call.tile(site, cell=4, pool="max")).round().to(torch.uint8))
        assert torch.equal(levels, (255 * in_cells(weights(call, site), 4)).round().to(torch.uint8))
        assert ["pooling", "max of 4 x 4"] in [list(line) for line in told["badge"]["lines"]]
        assert not any(row for head in exact for row in head)
    assert "pooling: max of 4 x 4" in read.description["badge"]["text"]


def test_what_is_asked_for_is_shown_finer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 2 * 2 * 50 * 50)
    call = noise(2, 2, 101)
    read = Read(payload(call, site="layers.1.attn", head=1))
    finer = read.description["maps"][2]
    assert (finer["closer"], finer["heads"], finer["cell"], finer["keys"]) == (True, (1,), (1, 1), 5)
    assert torch.equal(read.maps[2][0][0], (255 * call.weights("layers.1.attn", 1)).round().to(torch.uint8))
    assert read.description["open"] == {"site": "layers.1.attn", "head": 1}
    monkeypatch.setattr(plan, "CLOSER", 60 * 60)
    assert Read(payload(call, site="layers.1.attn", head=1)).description["maps"][2]["cell"] == (2, 2)


def test_1500_tokens_make_a_small_page_without_a_map_of_that_size(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 0
    tile = ForwardCall.tile

    def watched(*args: Any, **kwargs: Any) -> Tensor:
        nonlocal largest
        found = tile(*args, **kwargs)
        largest = max(largest, found.numel())
        return found

    monkeypatch.setattr(ForwardCall, "tile", watched)
    monkeypatch.setattr(plan, "TOGETHER", 1 << 18)
    assert len(page(noise(1, 2, 1500, spread=3.0))) < 400_000
    assert largest <= 1 << 18


# Words


def test_no_token_can_break_the_page() -> None:
    call = named(noise(1, 1, len(HOSTILE)), HOSTILE)
    made = page(call, title="</title><script>alert(1)</script>")
    made.encode("utf-8")
    found = Elements(made)
    assert found.tags.count("script") == 6
    assert "b" not in found.tags
    assert found.payload().description["texts"][0]["tokens"] == HOSTILE
    assert "<script>alert" in found.text


def test_a_page_asks_nothing_of_any_network() -> None:
    """Neither does it itself, nor may it: its policy forbids what a token could talk it into."""
    made = page(noise(1, 1, 4))
    for sign in ("http:", "https:", "//cdn", "@import", "url("):
        assert sign not in made
    policy = dict(part.strip().partition(" ")[::2] for part in Elements(made).policy.split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/]{43}=' 'sha256-[\w+/]{43}='", policy["script-src"])
    assert policy["img-src"] == "data: blob:"


def test_the_badge_is_told_in_full_and_a_false_one_warns(seen: Recording) -> None:
    told = payload(seen.last).description
    assert told["badge"]["state"] == "true"
    assert told["badge"]["text"] == str(seen.badge)
    assert dict(told["badge"]["lines"])["shown"] == "to 0.002; top 5 keys of a row exact"
    call = noise(1, 1, 4)
    one = call.maps["layers.0.attn"]
    for badge, state in (
        (replace(one.badge, difference=0.5), "false"),
        (replace(one.badge, rows=0), "unchecked"),
        (replace(one.badge, dropout=True), "unchecked"),
    ):
        other = ForwardCall({"layers.0.attn": replace(one, badge=badge)}, call.text)
        assert payload(other).description["badge"]["state"] == state
        assert payload(other).description["maps"][0]["badge"]["state"] == state


def test_without_a_script_there_are_still_words() -> None:
    call = noise(1, 1, 4)
    for made in (page(call), fragment(call)):
        assert str(call.badge) in made
        assert "none ran here" in made


def test_titles() -> None:
    call = noise(1, 1, 3)
    assert payload(call).description["title"] == "word0 word1 word2"
    assert payload(named(call, ["a", "b", "c"])).description["title"] == "a b c"
    assert payload(named(call, ["[CLS]", "read", "##ing"])).description["title"] == "reading"
    assert payload(noise(1, 1, 40)).description["title"].endswith("…")
    bare = payload(ForwardCall(call.maps)).description
    assert bare["title"] == "What each head looked at"
    assert bare["texts"] == [{"name": "text", "count": 3}]
    assert payload(call, title="mine").description["title"] == "mine"


def test_names_of_sites_without_what_they_share() -> None:
    assert shorter(["h.0.attn", "h.1.attn"]) == {"h.0.attn": "0", "h.1.attn": "1"}
    assert shorter(["a.0.self", "b.0.self"]) == {"a.0.self": "a", "b.0.self": "b"}
    assert shorter(["only.one"]) == {"only.one": "only.one"}


def test_measures_are_means_over_rows(seen: Recording) -> None:
    """Those of `regard heads`; from one text to another there is no distance, and no own token."""
    lines = Recording(calls=[one_text(seen.last)]).heads().lines
    for told in payload(seen.last).description["maps"]:
        own = [line for line in lines if line.site == told["site"]]
        within = told["kind"] != "cross"
        assert set(told["measures"]) == {"entropy", "top_weight", "first", *(("distance", "own") if within else ())}
        for name, means in told["measures"].items():
            assert means == pytest.approx([getattr(line, name) for line in own], abs=1e-4), name


def one_text(call: ForwardCall) -> ForwardCall:
    """The first of the batch alone."""
    maps = {site: one.pick(0) for site, one in call.maps.items()}
    texts = [None if text is None else replace(text, ids=text.ids[:1]) for text in (call.text, call.source)]
    return ForwardCall(maps, *texts)


# Ways to it


def test_to_html_returns_and_writes(seen: Recording, tmp_path: Path) -> None:
    file = tmp_path / "new" / "page.html"
    made = seen.to_html(file, site="decoder.1.cross", head=2)
    assert file.read_text(encoding="utf-8") == made == page(seen.last, site="decoder.1.cross", head=2)
    assert made.startswith("<!doctype html>")
    with pytest.raises(FileError):
        seen.to_html(tmp_path)


def test_what_is_not_there_is_said_so(seen: Recording) -> None:
    with pytest.raises(UnknownNameError, match=r"decoder\.1\.cross"):
        page(seen.last, site="decoder.1.cros")
    with pytest.raises(InputError, match="head 9"):
        page(seen.last, site="decoder.1.cross", head=9)
    with pytest.raises(InputError, match="site"):
        page(seen.last, head=1)
    with pytest.raises(InputError, match="batch=5"):
        page(seen.last, batch=5)


def test_without_anywidget_a_notebook_gets_the_page(seen: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    still = seen.show(title="mine")
    assert still._repr_html_() == fragment(seen.last, title="mine")
    assert repr(still).startswith("attention of 24 heads at 6 sites: mine (regard, float32")
    assert "\n" not in repr(still)
    assert show(seen.last)._repr_html_() == fragment(seen.last)


def test_a_recording_says_what_it_holds(seen: Recording) -> None:
    assert repr(seen) == "Recording: 1 call, 6 sites and 24 heads in the last"
    assert repr(Recording()) == "Recording: nothing yet"


def test_answers_are_exact_and_bounded(seen: Recording) -> None:
    cross, own = {"site": "decoder.1.cross", "head": 2}, {"site": "encoder.0.self", "head": 0}
    weights, _ = asked(seen.last, 1, what="weights", **cross)
    assert torch.equal(weights[3], seen.row("decoder.1.cross", 2, 3, batch=1))
    tile, said = asked(seen.last, 1, what="tile", **own, rows=[1, 3], columns=[0, 2], size=[2, 2])
    assert torch.equal(tile, seen.weights("encoder.0.self", 0, (1, 3), (0, 2), batch=1))
    assert said["meta"] == {"cell": [1, 1], "rows": [1, 3], "columns": [0, 2]}
    large, question = noise(1, 1, 2100), {"site": "layers.0.attn", "head": 0}
    with pytest.raises(InputError, match="too large"):
        asked(large, what="weights", **question)
    with pytest.raises(InputError, match="too large"):
        asked(large, what="tile", **question, rows=[0, 2100], columns=[0, 2100], size=[2100, 2100])


@pytest.mark.parametrize("pool", ["mass", "max", "mean"])
def test_tiles_of_a_long_text_are_pooled_as_they_are_asked_for(pool: str) -> None:
    """In cells of a power of two, as many as there may be, from where cells begin."""
    call = noise(1, 2, 150, spread=3.0, causal=True)
    question = {"site": "layers.0.attn", "head": 1, "rows": [0, 150], "columns": [64, 150], "size": [64, 64]}
    tile, said = asked(call, what="tile", pool=pool, **question)
    assert (said["shape"], said["meta"]["cell"]) == ([38, 43], [4, 2])
    expected = call.tile("layers.0.attn", 1, (0, 150), (64, 150), (4, 2), pool)  # type: ignore[arg-type]
    assert torch.equal(tile, expected)


def test_the_margins_of_a_map_are_what_rows_and_columns_come_to() -> None:
    """The entropy of rows, and what keys received, which sums to the number of rows."""
    call = noise(1, 2, 40, spread=2.0)
    found, said = asked(call, what="marginals", site="layers.0.attn", head=1, bins=64)
    weights = call.weights("layers.0.attn", 1).double()
    entropy, received = -(weights * weights.log()).sum(-1), weights.sum(0)
    assert said["meta"] == {"row_cell": 1, "column_cell": 1}
    torch.testing.assert_close(found[0, :40].double(), entropy, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found[1, :40].double() / found[1, :40].sum(), received / 40, rtol=1e-4, atol=1e-6)
    fewer, told = asked(call, what="marginals", site="layers.0.attn", head=1, bins=10)
    assert (told["shape"], told["meta"]) == ([2, 10], {"row_cell": 4, "column_cell": 4})
    torch.testing.assert_close(fewer[0].double(), entropy.reshape(10, 4).mean(-1), rtol=1e-4, atol=1e-5)


def test_the_strongest_cells_are_named() -> None:
    """Of a part of the map, where one is asked for; without the diagonal and the first key, unless all are."""
    call = noise(1, 1, 30, spread=4.0)
    where: dict[str, Any] = {"what": "strongest", "site": "layers.0.attn", "head": 0}
    weights = call.weights("layers.0.attn", 0)
    _, every = asked(call, **where, count=5, all=True)
    best = weights.flatten().topk(5)
    assert [30 * row + column for row, column, _ in every["cells"]] == best.indices.tolist()
    assert [weight for _, _, weight in every["cells"]] == pytest.approx(best.values.tolist(), rel=1e-5)
    _, some = asked(call, **where, count=5, rows=[10, 12], columns=[0, 30])
    assert all(row in (10, 11) and column not in (0, row) for row, column, _ in some["cells"])
    _, most = asked(call, **where, count=10_000, all=True)
    assert len(most["cells"]) == 200


def test_a_cell_is_explained_product_by_product(seen: Recording) -> None:
    _, said = asked(seen.last, what="cell", site="decoder.1.cross", head=2, row=3, column=1)
    facts = said["facts"]
    assert facts["weight"] == pytest.approx(seen.weights("decoder.1.cross", 2)[3, 1].item(), abs=1e-6)
    assert sum(facts["products"]) == pytest.approx(facts["score"], abs=1e-4)
    assert sum(weight for _, weight in facts["row_top"]) <= 1 + 1e-5


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"what": "everything"}, "known: cell, marginals"),
        ({"what": "tile", "rows": [5, 5], "columns": [0, 2], "size": [2, 2]}, "nothing between"),
        ({"what": "tile", "rows": [-3, 5], "columns": [0, 2], "size": [2, 2]}, "nothing between"),
        ({"what": "cell", "row": 99, "column": 0}, "count from 0 to"),
        ({"what": "weights", "site": "elsewhere"}, "elsewhere"),
    ],
)
def test_what_cannot_be_answered_is_said(seen: Recording, question: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        answers(seen.last)({"site": "encoder.0.self", "head": 0} | question)

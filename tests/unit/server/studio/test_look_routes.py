"""Looks: every number of an answer beside what `regard.watch` and `regard.attend` say of the same text."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

import regard
from regard.lens.analysis.subject import open_subject
from regard.lens.recording_api import Recording
from regard.server.studio.stored_look import LookShelf, StoredLook
from tests.studio_cases import CAT, TIRED, WORDS, close, get, look, numbers, sentence

SITE, HEAD = "decoder.1.cross", 3


@pytest.fixture(scope="module")
def seen() -> Recording:
    return open_subject("grammar", "cpu").see(TIRED)


def test_a_look_is_what_watch_sees(client: TestClient, seen: Recording) -> None:
    found = look(client)
    assert found["output"] == regard.load("grammar", "cpu").translate([TIRED])[0]
    assert (found["source"], found["target"]) == (seen.tokens, seen.target_tokens)
    assert found["written"] == [*found["target"][1:], "</s>"]
    assert [one["site"] for one in found["sites"]] == seen.sites
    assert (found["badge"], found["true"]) == (str(seen.badge), True)
    cross = next(one for one in found["sites"] if one["site"] == SITE)
    assert (cross["kind"], cross["rows"], cross["columns"]) == ("cross", "target", "source")
    assert (cross["queries"], cross["keys"], cross["causal"], cross["writes"]) == (16, 14, False, True)
    assert look(client)["id"] == found["id"]
    assert (found["alignment"]["site"], found["alignment"]["heads"]) == ("decoder.2.cross", [])
    assert look(client, CAT)["id"] != found["id"]


@pytest.mark.parametrize("by", ["weight", "value"])
def test_weights_are_those_of_the_recording(client: TestClient, seen: Recording, by: Any) -> None:
    found = look(client)["id"]
    for site in seen.sites:
        whole, meta = numbers(client, f"looks/{found}/weights", site=site, by=by)
        close(whole, seen.weights(site, by=by))
        assert meta == {"site": site, "head": "all", "by": by}
    one, _ = numbers(client, f"looks/{found}/weights", site=SITE, head=HEAD, by=by)
    close(one, seen.weights(SITE, HEAD, by=by))


@pytest.mark.parametrize("by", ["mass", "max", "mean"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_tiles_are_pooled_weights(client: TestClient, seen: Recording, by: Any, dtype: str) -> None:
    asked = {"site": SITE, "head": HEAD, "rows": "2:15", "columns": "3:", "height": 4, "width": 8, "by": by}
    tile, meta = numbers(client, f"looks/{look(client)['id']}/tile", **asked, dtype=dtype)
    assert meta["cell"] == [4, 2]
    assert (meta["rows"], meta["columns"], meta["exact"]) == ([2, 15], [3, 14], False)
    expected = seen.tile(SITE, HEAD, (2, 15), (3, 14), cell=(4, 2), pool=by)
    if dtype == "float16":
        torch.testing.assert_close(tile, expected, rtol=2**-10, atol=2**-20)
    else:
        close(tile, expected)


def test_the_same_question_is_answered_once(client: TestClient) -> None:
    path, asked = f"/api/looks/{look(client)['id']}/tile", {"site": SITE, "head": HEAD}
    first = client.get(path, params=asked)
    again = client.get(path, params=asked, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    other = client.get(path, params={**asked, "by": "max"}, headers={"If-None-Match": first.headers["ETag"]})
    assert other.status_code == 200
    assert other.headers["ETag"] != first.headers["ETag"]
    gone = client.get("/api/looks/0123456789abcdef/tile", params=asked, headers={"If-None-Match": "*"})
    assert "read the text again" in sentence(gone, 404)


@pytest.mark.parametrize(
    ("site", "row", "column"), [(SITE, 10, 11), ("decoder.2.self", 3, 5), ("encoder.0.self", 1, 4)]
)
def test_a_cell_is_spelt_out_as_attend_computes_it(
    client: TestClient, seen: Recording, site: str, row: int, column: int
) -> None:
    cell = get(client, f"looks/{look(client)['id']}/cell", site=site, head=2, row=row, column=column)
    one = seen.last.pick(site, 2, 0)
    causal = one.terms.bound[1] == 0
    _, steps = regard.attend(one.query, one.key, one.key, causal=causal, scale=one.terms.scale, see="steps")
    close(cell["products"], one.query[0, 0, row].double() * one.key[0, 0, column].double())
    close(
        [cell["score"], cell["weight"]],
        torch.stack([steps.scores[0, 0, row, column], steps.weights[0, 0, row, column]]),
    )
    assert cell["masked"] == (causal and column > row)
    assert cell["rank"] == 1 + int((steps.weights[0, 0, row] > steps.weights[0, 0, row, column]).sum())
    best = steps.weights[0, 0, row].topk(len(cell["row_top"]))
    close([top["weight"] for top in cell["row_top"]], best.values)
    if cell["masked"]:
        assert cell["scaled"] is None
    else:
        assert cell["weight"] == pytest.approx(float(torch.tensor(cell["scaled"] - cell["lse"]).exp()), rel=1e-4)
    tokens = look(client)
    sides = next(one for one in tokens["sites"] if one["site"] == site)
    assert cell["row_token"] == tokens[sides["rows"]][row]
    assert cell["column_token"] == tokens[sides["columns"]][column]


def test_the_table_of_heads(client: TestClient, seen: Recording) -> None:
    table = get(client, f"looks/{look(client)['id']}/heads")
    lines = seen.heads().lines
    assert [(row["site"], row["head"]) for row in table["rows"]] == [(line.site, line.head) for line in lines]
    for row, line in zip(table["rows"], lines, strict=True):
        for measure in table["columns"]:
            value = getattr(line, measure)
            assert row[measure] == (pytest.approx(value, rel=1e-4, abs=1e-6) if value == value else None)


def test_marginals_are_means_of_bins(client: TestClient, seen: Recording) -> None:
    found = look(client)["id"]
    whole, meta = numbers(client, f"looks/{found}/marginals", site=SITE, head=HEAD)
    assert meta == {"row_cell": 1, "column_cell": 1, "rows": [0, 16], "columns": [0, 14]}
    close(whole[0], seen.statistics(SITE).entropy[0, HEAD])
    close(whole[1, :14], seen.received(SITE)[0, HEAD])
    assert whole[1, 14:].isnan().all()
    binned, _ = numbers(client, f"looks/{found}/marginals", site=SITE, head=HEAD, bins=4)
    close(binned[0], whole[0].view(4, 4).mean(-1))


def test_the_strongest_cells_leave_out_what_is_strong_everywhere(client: TestClient, seen: Recording) -> None:
    found, site = look(client)["id"], "encoder.1.self"
    weights = seen.weights(site, 1)
    everything = get(client, f"looks/{found}/strongest", site=site, head=1, count=5, all=True)
    assert [(one["row"], one["column"]) for one in everything] == places(weights, 5)
    hidden = weights.clone()
    hidden.fill_diagonal_(0)
    hidden[:, 0] = 0
    some = get(client, f"looks/{found}/strongest", site=site, head=1, count=5)
    assert [(one["row"], one["column"]) for one in some] == places(hidden, 5)
    close([one["weight"] for one in some], hidden.flatten().topk(5).values)
    inside = get(client, f"looks/{found}/strongest", site=site, head=1, rows="4:8", columns="2:9")
    assert all(4 <= one["row"] < 8 and 2 <= one["column"] < 9 for one in inside)
    across = get(client, f"looks/{found}/strongest", site=SITE, head=HEAD, count=3)
    assert [(one["row"], one["column"]) for one in across] == places(seen.weights(SITE, HEAD), 3)


def places(weights: torch.Tensor, count: int) -> list[tuple[int, int]]:
    best = weights.flatten().topk(count).indices.tolist()
    return [divmod(place, weights.shape[1]) for place in best]


def test_texts_and_where_they_say_something(client: TestClient) -> None:
    found = look(client)
    path = f"looks/{found['id']}"
    part = get(client, f"{path}/text", **{"side": "target", "from": 2, "to": 5})
    assert part == {"start": 2, "tokens": found["target"][2:5]}
    assert get(client, f"{path}/text", **{"from": 99})["tokens"] == []
    assert get(client, f"{path}/search", q="THE street")["positions"] == [5]
    assert get(client, f"{path}/search", q="idn't")["positions"] == [2]  # across tokens: " didn'" and "t"
    assert get(client, f"{path}/search", q="zebra") == {"positions": [], "more": False}


def test_models_of_one_text_have_it_as_their_source(client: TestClient) -> None:
    for model, task in (("decoder", "generate"), ("llama", "generate"), ("encoder-class", "classify")):
        found = look(client, WORDS, model)
        assert (found["task"], found["target"], found["written"]) == (task, [], [])
        assert {(one["kind"], one["rows"], one["columns"]) for one in found["sites"]} == {("self", "source", "source")}
        assert abs(sum(one["probability"] for one in found["next"])) <= 1 + 1e-5
    labels = look(client, WORDS, "encoder-class")
    assert labels["output"] == regard.load(*folder_of(client, "encoder-class")).classify([WORDS])[0].label
    assert look(client, WORDS, "encoder-mask")["next"] is None


def folder_of(client: TestClient, model: str) -> tuple[str, str]:
    return str(client.app.state.studio.catalogue.models[model].folder), "cpu"  # type: ignore[attr-defined]


def test_a_recording_is_looked_at_like_a_model(client: TestClient) -> None:
    found = look(client, "", "recording:cat")
    assert found["source"][:2] == ["The", " cat"]
    path = client.app.state.studio.catalogue.recordings["cat"]  # type: ignore[attr-defined]
    weights, _ = numbers(client, f"looks/{found['id']}/weights", site=SITE, head=0)
    close(weights, Recording.load(path).weights(SITE, 0))
    refused = client.get(f"/api/looks/{found['id']}/effects")
    assert "holds no model" in sentence(refused, 400)
    assert "no call 7" in sentence(client.post("/api/looks", json={"model": "recording:cat", "call": 7}), 404)


def test_a_translator_says_what_it_is_made_to_say(client: TestClient, seen: Recording) -> None:
    forced = look(client, CAT, target="Le chien dort.")
    assert forced["output"] == "Le chien dort."
    ids = client.app.state.studio.looks.get(forced["id"]).target_ids  # type: ignore[attr-defined]
    for given in (ids[1:], ids[1:-1]):  # with the end, and without
        same = look(client, CAT, target_ids=given)
        assert (same["target"], same["written"]) == (forced["target"], forced["written"])


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"model": "nowhere", "text": CAT}, 404, "no model 'nowhere'"),
        ({"model": "../../etc/passwd", "text": CAT}, 404, "no model"),
        ({"model": "recording:/etc/passwd"}, 404, "no recording"),
        ({"model": "grammar", "text": "  "}, 400, "no text"),
        ({"model": "grammar", "text": "x" * 20_001}, 413, "20,000"),
        ({"model": "grammar", "text": "cat " * 3000}, 413, "tokens"),
        ({"model": "grammar", "text": CAT, "call": 1}, 400, "Only a recording"),
        ({"model": "decoder", "text": WORDS, "target": "w1"}, 400, "no target"),
        ({"model": "grammar", "text": CAT, "target": "a", "target_ids": [4]}, 400, "not as both"),
        ({"model": "grammar", "text": CAT, "target_ids": [99999]}, 400, "ids of this model"),
        ({"model": "grammar", "text": CAT, "extra": 1}, 400, "extra"),
        ({"model": "grammar", "text": 7}, 400, "text"),
    ],
)
def test_what_cannot_be_looked_at_is_said(client: TestClient, asked: dict[str, Any], status: int, words: str) -> None:
    assert words in sentence(client.post("/api/looks", json=asked), status)


@pytest.mark.parametrize(
    ("path", "fields", "status", "words"),
    [
        ("weights", {"site": "encoder.9.self"}, 404, "no site"),
        ("weights", {"site": SITE, "head": 4}, 404, "no head 4"),
        ("weights", {"site": SITE, "head": "two"}, 400, "head"),
        ("tile", {"site": SITE, "head": 0, "rows": "5:5"}, 400, "hold nothing"),
        ("tile", {"site": SITE, "head": 0, "rows": "-1:4"}, 400, "rows"),
        ("tile", {"site": SITE, "head": 0, "height": 5000}, 400, "height"),
        ("tile", {"site": SITE, "head": 0, "by": "sum"}, 400, "by"),
        ("cell", {"site": SITE, "head": 0, "row": 99, "column": 0}, 404, "no row 99"),
        ("cell", {"site": SITE, "head": 0, "row": 0, "column": 99}, 404, "no column 99"),
        ("text", {"side": "both"}, 400, "side"),
        ("search", {"q": ""}, 400, "q"),
    ],
)
def test_what_a_look_does_not_have_is_said(
    client: TestClient, path: str, fields: dict[str, Any], status: int, words: str
) -> None:
    assert words in sentence(client.get(f"/api/looks/{look(client)['id']}/{path}", params=fields), status)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "\u202eabc\u202c",
        "a\u200bb\u200dc",
        "🙂" * 50,
        "\x00\x01\x7f",
        "'\"; --",
        "é" * 400,
    ],
)
def test_hostile_texts_are_texts(client: TestClient, text: str) -> None:
    """They come back as strings of JSON, and are not read as anything else."""
    answer = client.post("/api/looks", json={"model": "grammar", "text": text})
    if answer.status_code == 200:
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.json()["text"] == text
    else:
        sentence(answer, 400)


def test_looks_that_were_not_asked_for_longest_go_first(client: TestClient) -> None:
    found = client.app.state.studio.looks.get(look(client)["id"])  # type: ignore[attr-defined]
    shelf = LookShelf(2, 1 << 30)
    first, second, third = (StoredLook(name, "m", None, "", "other", found.call) for name in "abc")
    for one in (first, second):
        shelf.put(one)
    shelf.get("a")
    shelf.put(third)
    assert list(shelf.looks) == ["a", "c"]
    assert list(LookShelf(9, 1).put(first).call.sites) == found.call.sites

"""A recording gives back every weight, whatever made the score, and says how true it is."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

from regard.attention import attend
from regard.attention.steps import Steps
from regard.errors import FileError, InputError, UnknownNameError
from regard.lens.recording import score_terms as terms_module
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from regard.models import Seam
from tests.bounds import FUNCTIONS, sums_apart, weights_apart

B, H, J, N, D, V = 2, 4, 2, 11, 5, 3
PADDED_RIGHT = (torch.arange(N) < torch.tensor([N, 7])[:, None])[:, None, None]
PADDED_LEFT = PADDED_RIGHT.flip(-1)
CAUSAL = torch.ones(N, N, dtype=torch.bool).tril()


class Made(nn.Module):
    """A layer with a seam, and nothing else; ids come first, as in a model."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.seam, self.options = Seam("made.0.self"), options

    def forward(self, ids: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.seam(query, key, value, **self.options)


def draw(*shape: int, seed: int = 0, large: float = 2.0) -> Tensor:
    return large * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def inputs(heads: int = J, queries: int = N, seed: int = 0) -> tuple[Tensor, ...]:
    ids = torch.randint(0, 4, (B, N), generator=torch.Generator().manual_seed(seed))
    parts = draw(B, H, queries, D, seed=seed + 1), draw(B, heads, N, D, seed=seed + 2), draw(B, heads, N, V, seed=seed)
    return ids, *parts


def by_distance(heads: int = H) -> Tensor:
    table = draw(heads, 2 * N - 1, seed=9)
    i, j = torch.arange(N)[:, None], torch.arange(N)
    return table[:, j - i + N - 1][None]


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True},
    "padding right": {"mask": PADDED_RIGHT},
    "padding left, causal": {"mask": PADDED_LEFT, "causal": True},
    "window": {"window": (2, 1)},
    "causal window": {"window": (3, None), "causal": True, "mask": PADDED_RIGHT},
    "softcap and scale": {"softcap": 3.0, "scale": 0.7},
    "sinks": {"sinks": draw(H), "causal": True},
    "bias by distance": {"bias": by_distance(), "causal": True, "mask": PADDED_LEFT},
    "one bias by distance for all heads": {"bias": by_distance(1)},
    "any bias": {"bias": draw(B, 1, N, N, seed=4)},
    "a causal mask": {"mask": CAUSAL},
    "a causal mask with padding": {"mask": CAUSAL & PADDED_RIGHT},
    "a window as a mask": {"mask": CAUSAL & CAUSAL.T.roll(3, 0).tril(3).bool() | torch.eye(N, dtype=torch.bool)},
    "any mask": {"mask": draw(B, H, N, N, seed=5) > 0.3},
    "a causal mask to add": {"mask": torch.zeros(N, N).masked_fill(~CAUSAL, float("-inf"))},
    "numbers to add": {"mask": draw(B, 1, 1, N, seed=6)},
    "finfo.min to add": {"mask": torch.zeros(B, 1, 1, N).masked_fill(~PADDED_RIGHT, torch.finfo(torch.float32).min)},
    "everything": {
        "mask": PADDED_LEFT, "causal": True, "window": (6, 0), "softcap": 5.0, "scale": 0.4, "bias": by_distance(),
        "sinks": draw(H, seed=3), "offset": 0,
    },
}  # fmt: skip


def truth(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Steps:
    """The plain steps in float64."""
    exact = {
        name: option.double() if isinstance(option, Tensor) and option.is_floating_point() else option
        for name, option in options.items()
        if name != "dropout"
    }
    return attend(query.double(), key.double(), value.double(), **exact, see="steps")[1]


def apart(given: tuple[Tensor, ...], options: dict[str, Any]) -> float:
    """How far a weight read from a recording may lie from the exact one: see `tests.bounds`.

    Kept is float32, also of halves. A bias or a sink, no larger than the scores, is rounded once with them.
    """
    query, key = (part.to(torch.promote_types(part.dtype, torch.float32)) for part in given[1:3])
    bound = weights_apart(query, key, options.get("scale"))
    return bound + sums_apart(FUNCTIONS, draw(H, 2 * N - 1, seed=9).abs().max().item())


def record(made: Made, given: tuple[Tensor, ...], **how: Any) -> Recording:
    with watch(made, **how) as seen:
        made(*given)
    return seen


def each_map(recording: Recording, site: str = "made.0.self") -> Tensor:
    """All weights (B, H, Q, K), asked for one by one."""
    heads = recording.last.map(site).heads
    return torch.stack([torch.stack([recording.weights(site, head, batch=b) for head in heads]) for b in range(B)])


# Every option


@pytest.mark.parametrize("heads", [1, J, H])
@pytest.mark.parametrize("name", OPTIONS)
def test_weights_are_those_of_the_steps(name: str, heads: int) -> None:
    given, options = inputs(heads), OPTIONS[name]
    seen = record(Made(**options), given)
    expected = truth(*given[1:], **options).weights
    torch.testing.assert_close(each_map(seen).double(), expected, atol=apart(given, options), rtol=0)
    assert seen.badge.true, str(seen.badge)
    assert seen.badge.sums_to_one is ("sinks" not in options)


@pytest.mark.parametrize("name", OPTIONS)
def test_everything_read_from_it_is_exact_too(name: str) -> None:
    given, options = inputs(), OPTIONS[name]
    seen, site = record(Made(**options), given), "made.0.self"
    weights = truth(*given[1:], **options).weights
    found, expected = seen.statistics(site), attend(*(x.double() for x in given[1:]), see="stats", **{
        key: x.double() if isinstance(x, Tensor) and x.is_floating_point() else x for key, x in options.items()
    })[1]  # fmt: skip
    bound = apart(given, options)
    for field in (
        "entropy",
        "top_weight",
        "distance",
        "self_weight",
        "first_weight",
    ):  # sums over N keys, of up to N each
        torch.testing.assert_close(getattr(found, field).double(), getattr(expected, field), atol=N * bound, rtol=0)
    torch.testing.assert_close(seen.received(site).double(), weights.sum(-2), atol=N * bound, rtol=0)
    part = seen.weights(site, 3, (2, 7), (1, 9), batch=1)
    torch.testing.assert_close(part.double(), weights[1, 3, 2:7, 1:9], atol=bound, rtol=0)
    torch.testing.assert_close(seen.row(site, 2, -1).double(), weights[0, 2, -1], atol=bound, rtol=0)
    pooled = seen.tile(site, 1, (0, 8), (0, 6), cell=(4, 2), batch=1)
    expected_mass = weights[1, 1, :8, :6].reshape(2, 4, 3, 2).sum((1, 3))
    torch.testing.assert_close(pooled.double(), expected_mass, atol=8 * bound, rtol=0)  # a cell is 4 x 2
    assert seen.tile(site, rows=(0, 8), cell=3, pool="max").shape == (H, 3, 4)
    token = torch.zeros(N, dtype=torch.double)
    token[5] = 1
    torch.testing.assert_close(
        seen.rollout(5, batch=1).double(), 0.5 * token + 0.5 * weights[1].mean(0)[5], atol=bound, rtol=0
    )


@pytest.mark.parametrize("name", ["a causal mask", "a causal mask with padding", "a causal mask to add"])
def test_a_mask_that_follows_a_rule_is_kept_as_the_rule(name: str) -> None:
    kept = record(Made(**OPTIONS[name]), inputs()).last.map("made.0.self").terms
    assert kept.causal
    assert kept.mask is None or kept.mask.shape[2] == 1


def test_a_bias_by_distance_is_kept_by_its_diagonals() -> None:
    kept = record(Made(bias=by_distance()), inputs()).last.map("made.0.self").terms
    assert kept.bias is None
    assert kept.diagonals is not None
    assert kept.diagonals.shape == (H, 2 * N - 1)


def test_what_follows_no_rule_and_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms_module, "LARGEST", 100)
    for name in ("any bias", "any mask"):
        with pytest.raises(InputError, match=r"follows no rule.*\n.*at most 100"):
            record(Made(**OPTIONS[name]), inputs())
    record(Made(**OPTIONS["bias by distance"]), inputs())


def test_a_cache_with_room_to_spare_is_cut_to_what_is_seen() -> None:
    given = inputs(queries=4)
    seen = record(Made(causal=True, offset=3), given)
    expected = truth(*given[1:], causal=True, offset=3).weights
    assert seen.weights("made.0.self", 0).shape == (4, 7)
    torch.testing.assert_close(each_map(seen).double(), expected[..., :7], atol=apart(given, {}), rtol=0)


# What is kept


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_model_of_any_dtype(dtype: torch.dtype) -> None:
    ids, *parts = inputs()
    given = (ids, *(part.to(dtype) for part in parts))
    seen = record(Made(causal=True), given)
    expected = truth(*given[1:], causal=True).weights
    torch.testing.assert_close(each_map(seen).double(), expected, atol=apart(given, {}), rtol=0)
    assert seen.badge.dtype == str(dtype).removeprefix("torch.")
    assert seen.badge.true


def test_kept_in_less_the_badge_says_how_much_less() -> None:
    seen = record(Made(causal=True), inputs(), dtype="bfloat16")
    assert seen.last.map("made.0.self").query.dtype == torch.bfloat16
    assert 1e-4 < seen.badge.difference < 0.1
    assert not seen.badge.true
    assert seen.badge.row_sum <= N * apart(inputs(), {})


def test_some_heads_only() -> None:
    given, options = inputs(), OPTIONS["everything"]
    seen = record(Made(**options), given, heads=[3, 1])
    weights = truth(*given[1:], **options).weights
    for head in (1, 3):
        torch.testing.assert_close(
            seen.weights("made.0.self", head).double(), weights[0, head], atol=apart(given, options), rtol=0
        )
    with pytest.raises(InputError, match="heads 3, 1"):
        seen.weights("made.0.self", 0)
    assert seen.badge.true
    with pytest.raises(InputError, match="no such head"):
        record(Made(), given, heads=[7])


def test_values_weigh(tmp_path: Path) -> None:
    given = inputs()
    seen = record(Made(), given)
    norms = given[3][1, 0].norm(dim=-1)
    expected = seen.weights("made.0.self", 1, batch=1) * norms
    torch.testing.assert_close(seen.weights("made.0.self", 1, batch=1, by="value"), expected)
    with pytest.raises(InputError, match="values=True"):
        record(Made(), given, values=False).weights("made.0.self", 0, by="value")


def test_spilled_to_disk_it_reads_the_same(tmp_path: Path) -> None:
    given = inputs()
    seen = record(Made(causal=True), given, spill=tmp_path / "room")
    torch.testing.assert_close(each_map(seen), each_map(record(Made(causal=True), given)), atol=0, rtol=0)


def test_what_the_model_changes_afterwards_is_not_changed_here() -> None:
    given = inputs()
    seen = record(Made(), given)
    before = each_map(seen)
    for part in given[1:]:
        part.fill_(0.0)
    torch.testing.assert_close(each_map(seen), before, atol=0, rtol=0)


# The badge


def tampered(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Recording:
    """A model that computes something else than it says."""
    made = Made(mask=PADDED_RIGHT, causal=True)

    def lie(site: str, call: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        return call(query, key, value, **change(options))

    with watch(made) as seen, made.seam.hooked(lie, innermost=True):
        made(*inputs())
    return seen


def test_the_badge_finds_a_wrong_mask_scale_or_bias() -> None:
    assert tampered(lambda options: options).badge.true
    for change in ({"mask": None}, {"causal": False}, {"scale": 0.3}, {"window": (1, 0)}, {"softcap": 2.0}):
        badge = tampered(lambda options, change=change: {**options, **change}).badge
        assert badge.difference > 1e-3
        assert not badge.true


def test_the_badge_tells_its_kinds() -> None:
    badge = record(Made(**OPTIONS["everything"]), inputs()).badge
    assert (badge.implementation, badge.dtype, badge.mask) == ("regard", "float32", "causal + window + padding")
    assert badge.sinks
    assert not badge.sums_to_one
    assert "a sink takes part of each row" in str(badge)
    dropped = record(Made(dropout=0.5), inputs()).badge
    assert "dropout was on" in str(dropped)
    assert dropped.true


def test_rows_that_look_nowhere_are_zeros_and_compared_with_nothing() -> None:
    mask = torch.ones(B, 1, N, N, dtype=torch.bool)
    mask[0, :, 2] = False
    seen = record(Made(mask=mask), inputs())
    assert bool((seen.row("made.0.self", 0, 2) == 0).all())
    assert seen.badge.true


# Files


@pytest.mark.parametrize("name", OPTIONS)
def test_saved_and_loaded_it_is_the_same(name: str, tmp_path: Path) -> None:
    seen = record(Made(**OPTIONS[name]), inputs(), tokenizer=lambda number: f"w{number}")
    seen.save(tmp_path / "one.regard")
    again = Recording.load(tmp_path / "one.regard")
    assert again.sites == seen.sites
    assert again.tokens == seen.tokens
    assert again.badge == seen.badge
    torch.testing.assert_close(each_map(again), each_map(seen), atol=0, rtol=0)
    torch.testing.assert_close(again.received("made.0.self"), seen.received("made.0.self"), atol=0, rtol=0)
    valued = again.weights("made.0.self", 0, by="value")
    torch.testing.assert_close(valued, seen.weights("made.0.self", 0, by="value"), atol=0, rtol=0)
    assert again.heads() == seen.heads()


def test_a_file_keeps_several_calls_and_never_a_square(tmp_path: Path) -> None:
    made = Made(causal=True, bias=by_distance(), mask=PADDED_LEFT)
    with watch(made) as seen:
        made(*inputs(seed=1))
        made(*inputs(seed=2))
    seen.save(tmp_path / "two.regard")
    again = Recording.load(tmp_path / "two.regard")
    for call, other in zip(seen.calls, again.calls, strict=True):
        torch.testing.assert_close(call.weights("made.0.self", 1), other.weights("made.0.self", 1), atol=0, rtol=0)
    with safe_open(tmp_path / "two.regard", framework="pt") as file:
        shapes = [tuple(file.get_slice(name).get_shape()) for name in file.keys()]  # noqa: SIM118
    assert not any(shape[-2:] == (N, N) for shape in shapes)
    assert not list(tmp_path.glob(".*part"))


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no file"):
        Recording.load(tmp_path / "none.regard")
    (tmp_path / "cut.regard").write_bytes(b"\x00\x01")
    with pytest.raises(FileError, match="damaged"):
        Recording.load(tmp_path / "cut.regard")
    with pytest.raises(FileError, match="cannot write"):
        record(Made(), inputs()).save(tmp_path / "cut.regard" / "under" / "it.regard")


def test_a_table_of_one_head(tmp_path: Path) -> None:
    seen = record(Made(causal=True), inputs(), tokenizer=lambda number: f"w{number}")
    seen.to_csv(tmp_path / "head.csv", "made.0.self", 2, rows=(3, 6))
    lines = list(csv.reader((tmp_path / "head.csv").read_text(encoding="utf-8").splitlines()))
    assert lines[0][1:] == seen.tokens
    assert lines[0][0].startswith("made.0.self, head 2; each row: where the model looks to write this token; ")
    assert lines[0][0].endswith(str(seen.last.map("made.0.self").badge))
    assert [line[0] for line in lines[1:]] == seen.tokens[4:7]
    found = torch.tensor([[float(cell) for cell in line[1:]] for line in lines[1:]])
    torch.testing.assert_close(found, seen.weights("made.0.self", 2, (3, 6)))
    seen.to_csv(tmp_path / "head.csv", "made.0.self", 2, rows=(3, 6), row="input")
    lines = list(csv.reader((tmp_path / "head.csv").read_text(encoding="utf-8").splitlines()))
    assert [line[0] for line in lines[1:]] == seen.tokens[3:6]
    assert "once it has read this token" in lines[0][0]


# Heads


def slow_induction(weights_HNN: Tensor, ids: list[int], rows: list[int]) -> Tensor:
    scores = []
    for i in rows:
        after = [e + 1 for e in range(i) if ids[e] == ids[i]]
        if after:
            scores.append(weights_HNN[:, i, after].sum(-1))
    return torch.stack(scores).mean(0)


@pytest.mark.parametrize("name", ["causal", "everything", "any bias", "any mask", "window", "padding right"])
def test_heads_are_means_over_the_words_of_all_calls(name: str) -> None:
    options = OPTIONS[name]
    made = Made(**options)
    with watch(made) as seen:
        given = [inputs(seed=1), inputs(seed=2)]
        for one in given:
            made(*one)
    table = {line.head: line for line in seen.heads().lines}
    mask = options.get("mask")
    words = torch.ones(B, N, dtype=torch.bool) if mask is None or mask.shape[-2] != 1 else mask[:, 0, 0]
    maps = [truth(*one[1:], **options).weights for one in given]
    texts = [(weights[b], one[0][b].tolist(), words[b].nonzero()[:, 0].tolist())
             for weights, one in zip(maps, given, strict=True) for b in range(B)]  # fmt: skip
    rows = [(weights[:, i], i) for weights, _, lit in texts for i in lit if bool(weights[:, i].any())]
    own = torch.stack([row[:, i] for row, i in rows]).mean(0)
    before = torch.stack([row[:, i - 1] for row, i in rows if i]).mean(0)
    away = torch.stack([(row * (torch.arange(N) - i).abs()).sum(-1) for row, i in rows]).mean(0)
    pairs = [slow_induction(w, ids, [i]) for w, ids, lit in texts for i in lit if ids[i] in ids[:i]]
    repeated = torch.stack(pairs).mean(0)
    bound = max(apart(one, options) for one in given) + sums_apart(len(rows))  # means over the rows, of numbers up to 1
    for head in range(H):
        line = table[head]
        assert line.own == pytest.approx(own[head].item(), abs=bound)
        assert line.previous == pytest.approx(before[head].item(), abs=bound)
        assert line.distance == pytest.approx(away[head].item(), abs=N * bound)
        assert line.induction == pytest.approx(repeated[head].item(), abs=N * bound)


def test_the_table_of_heads_is_written(tmp_path: Path) -> None:
    heads = record(Made(), inputs()).heads()
    heads.to_csv(tmp_path / "heads.csv")
    lines = list(csv.DictReader((tmp_path / "heads.csv").read_text(encoding="utf-8").splitlines()))
    assert [int(line["head"]) for line in lines] == list(range(H))
    assert [float(line["entropy"]) for line in lines] == [line.entropy for line in heads.lines]


# Asking for what is not there


def test_what_is_not_there_is_named() -> None:
    seen = record(Made(), inputs())
    with pytest.raises(UnknownNameError, match=r"did you mean 'made.0.self'"):
        seen.weights("made.0.sefl", 0)
    for ask in (
        lambda: seen.weights("made.0.self", H),
        lambda: seen.weights("made.0.self", 0, batch=B),
        lambda: seen.weights("made.0.self", 0, (0, N + 1)),
        lambda: seen.row("made.0.self", 0, N),
        lambda: seen.tile("made.0.self", 0, cell=0),
    ):
        with pytest.raises(InputError):
            ask()


def test_every_pair_of_rows_and_columns() -> None:
    seen = record(Made(causal=True), inputs())
    whole = seen.weights("made.0.self", 0)
    for start, stop in itertools.combinations(range(0, N + 1, 3), 2):
        torch.testing.assert_close(seen.weights("made.0.self", 0, (start, stop)), whole[start:stop])
        torch.testing.assert_close(seen.weights("made.0.self", 0, None, (start, stop)), whole[:, start:stop])

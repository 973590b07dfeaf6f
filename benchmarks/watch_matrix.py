"""What a held model of Hugging Face shows, against its eager attention: `python -m benchmarks.watch_matrix`.

Small random models x (plain, left padding, right padding) x (forward, generate, static cache, beams). A cell is the
largest difference found: outputs against eager; weights, worked out in float64 from the recorded queries, keys and
options, against the weights eager gives; entropy and received attention against the same dense float64. With `--more`
a second table follows, of many more families: see `benchmarks.watch_more`. Ends with status 1 when any number is above
1e-5, or when a model that computes attention itself is not refused by name.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
import transformers
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks import peers
from benchmarks.dense import Kept, dense, far
from benchmarks.zoo import ALSO_REFUSED, MODELS, REFUSED
from regard.attention import attend, received
from regard.errors import RegardError
from regard.lens.assembly.recorder import Seen
from regard.lens.hooks import hold

BOUND = 1e-5
NEW, BEAMS = 4, 3  # tokens generated, beams
PADDINGS = ("plain", "left", "right")
WAYS = ("forward", "generate", "static cache", "beams")


def inputs(model: Any, padding: str) -> dict[str, Tensor]:
    """Two texts of 7 and 4 tokens with padding, of 7 without; pictures and sounds beside them where a model wants."""
    draw = torch.Generator().manual_seed(1)
    kind, main = type(model).__name__, model.main_input_name
    pixels, sounds = torch.randn(2, 3, 16, 16, generator=draw), (2, 8, 24) if kind.startswith("Whisper") else (2, 24, 8)
    if main == "pixel_values":
        return {main: pixels}
    if main in ("input_values", "input_features"):
        return {main: torch.randn((2, 64) if main == "input_values" else sounds, generator=draw)}
    ids = torch.randint(len(peers.SPECIAL), peers.VOCABULARY, (2, 7), generator=draw)
    real = torch.ones_like(ids)
    if padding != "plain":
        real[1, slice(0, 3) if padding == "left" else slice(4, 7)] = 0
    ids = ids * real
    if not kind.startswith("CLIP"):
        return {"input_ids": ids, "attention_mask": real}
    for row, marks in zip(ids, real, strict=True):
        row[int(marks.nonzero().max())] = peers.END  # where it reads the whole text from
    return {"input_ids": ids, "attention_mask": real, "pixel_values": pixels}


def sensible(model: Any, padding: str, way: str) -> bool:
    """Does this cell mean something?"""
    wordless = "input_ids" not in inputs(model, "plain")
    if (wordless and padding != "plain") or (way != "forward" and not model.can_generate()):
        return False
    return way == "forward" or padding != "right" or model.config.is_encoder_decoder  # a decoder goes on from the right


def ran(model: Any, given: dict[str, Tensor], way: str, **more: Any) -> Any:
    if way == "forward":
        target = {"decoder_input_ids": torch.tensor([[0, 20, 21, 22], [0, 6, 6, 7]])}
        return model(**given, **(target if model.config.is_encoder_decoder else {}), **more)
    special = {"static cache": {"cache_implementation": "static"}, "beams": {"num_beams": BEAMS}}.get(way, {})
    generate = model.generate
    if "output_attentions" in more:  # Whisper's own would give the weights of the best beams only
        generate = partial(transformers.GenerationMixin.generate, model)
    return generate(
        **given,
        max_new_tokens=NEW,
        do_sample=False,
        return_dict_in_generate=True,
        output_logits=True,
        **special,
        **more,
    )


def compared(model: Any, padding: str, way: str) -> float:
    """The largest difference of one cell."""
    given, usual = inputs(model, padding), model.config._attn_implementation
    with torch.no_grad():
        model.set_attn_implementation("eager")
        eager = ran(model, given, way, output_attentions=True)
        model.set_attn_implementation(usual)
        kept = Kept()
        with hold(model, kept):
            watched = ran(model, given, way)
    expected = eager_weights(eager, way)
    assert len(kept.seen) == sum(map(len, expected.values())), "another number of attentions than eager's"
    worst = outputs_apart(watched, eager, given, way)
    for seen in kept.seen:
        weights = expected[kind_of(seen.site)].pop(0).double()
        worst = max(worst, apart(seen, weights, rows_of(seen, given.get("attention_mask"))))
    return worst


def kind_of(site: str) -> str:
    """Which of eager's lists a site belongs to."""
    if "encoder_attn" in site or "EncDecAttention" in site:
        return "cross"
    return "vision" if "vision" in site else "encoder" if re.match(r"(model\.)?encoder\.", site) else "own"


def eager_weights(out: Any, way: str) -> dict[str, list[Tensor]]:
    """What eager attention gave, in the order of its calls."""

    def steps(name: str) -> list[Tensor]:
        found = getattr(out, name, None) or ()
        return list(found) if way == "forward" else [weights for step in found for weights in step]

    if hasattr(out, "vision_model_output"):
        return {"own": list(out.text_model_output.attentions), "vision": list(out.vision_model_output.attentions)}
    if getattr(out, "encoder_attentions", None) is None:
        return {"own": steps("attentions")}
    pair = {"own": steps("decoder_attentions"), "cross": steps("cross_attentions")}
    return {"encoder": list(out.encoder_attentions), **pair}


def outputs_apart(one: Any, other: Any, given: dict[str, Tensor], way: str) -> float:
    """Logits, or where there are none what stands for them, at what is not padding."""
    if way != "forward":
        if not torch.equal(one.sequences, other.sequences):
            return float("inf")
        pairs = zip(one.logits, other.logits, strict=True)
        return max((far(a, b) for a, b in pairs if a.shape == b.shape), default=0.0)  # Whisper gives those of one beam
    if "logits_per_image" in one:
        return far(one.logits_per_image, other.logits_per_image)
    real = given.get("attention_mask", torch.ones(1))
    a, b = one.logits, other.logits
    return far(a[real.bool()], b[real.bool()]) if a.shape[:-1] == real.shape else far(a, b)


def rows_of(seen: Seen, real: Tensor | None) -> Tensor:
    """Which rows are a token's, (B, Q): what padding looks at is nobody's."""
    texts, _, queries, _ = seen.query.shape
    own = kind_of(seen.site) != "cross" and "vision" not in seen.site
    if real is None or not own or queries != real.shape[1]:
        return torch.ones(texts, queries, dtype=torch.bool)
    return real.repeat_interleave(texts // len(real), 0).bool()


def apart(seen: Seen, eager: Tensor, rows: Tensor) -> float:
    """Weights against eager's, and entropy and received attention against the dense float64 ones."""
    weights, entropy = dense(seen)
    keys, mine = weights.shape[-1], rows[:, None]
    _, statistics = attend(seen.query, seen.key, seen.value, **seen.options, see="stats")
    columns = received(seen.query, seen.key, statistics.lse, weigh=mine.float(), **seen.options)
    shown = mine[..., None]
    return max(
        far(weights * shown, eager[..., :keys] * shown),
        float((eager[..., keys:] * shown).abs().sum()),
        far(statistics.entropy * mine, entropy * mine),
        far(columns, (weights * shown).sum(-2)),
    )


def refusal(name: str) -> str:
    """How a model that computes attention itself is refused; empty when it is not."""
    try:
        with torch.no_grad(), hold(model := {**REFUSED, **ALSO_REFUSED}[name](), Kept()):
            model(torch.tensor([[7, 8, 9]]))
    except RegardError as error:
        return str(error)
    return ""


def cells(name: str) -> Iterator[tuple[str, str, float]]:
    for padding in PADDINGS:
        for way in WAYS:
            model = MODELS[name]()
            if sensible(model, padding, way):
                yield padding, way, compared(model, padding, way)


def tabulated(table: Table, name: str, found: dict[tuple[str, str], float]) -> bool:
    """The rows of one model; is every number small enough?"""
    for padding in dict.fromkeys(padding for padding, _ in found):
        shown = [f"{found[padding, way]:.1e}" if (padding, way) in found else "" for way in WAYS]
        table.add_row(name, padding, *shown)
    return all(worst <= BOUND for worst in found.values())


def main() -> int:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    console, good = Console(width=110), True
    table = Table("model", "texts", *WAYS, title=f"held against eager, largest difference (at most {BOUND})")
    for name in MODELS:
        good &= tabulated(table, name, {(padding, way): worst for padding, way, worst in cells(name)})
    console.print(table)
    if "--more" in sys.argv[1:]:
        from benchmarks.watch_more import second_table

        table, fine = second_table()
        good &= fine
        console.print(table)
    for name in [*REFUSED, *(ALSO_REFUSED if "--more" in sys.argv[1:] else ())]:
        said = refusal(name)
        good &= bool(said)
        console.print(f"{name}: {said or 'NOT REFUSED'}", markup=False, highlight=False)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())

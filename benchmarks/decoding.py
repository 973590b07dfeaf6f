"""How fast are texts searched for, beside transformers' `generate` on the same weights? `python -m benchmarks.decoding`

Each model (`grammar`; or `--model en-fr grammar`, or a folder, with `--data SOURCE REFERENCE`) is written as a folder
of Hugging Face's and read by both. What both say is compared first; then they run in turn, and the quickest of the runs
counts, since other work on a machine only ever adds. Theirs goes by 32 and by 128 sorted texts at a time, and the
better counts. On a CPU rows of the engine ctranslate2 stand beside, in float32 and int8, with as many threads; it ranks
several beams by our own penalty. A random model of the paper's base size says as many tokens as it is asked for, and
rules to stop are compared, unless `--trained` leaves both out. `--write` puts the tables into RESULTS.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

import regard
from benchmarks.report import markdown, provenance, write_section
from regard.decoding import Beams, Limits, search, stepper_for
from regard.decoding.beams import STOPS
from regard.interop.ctranslate2_export import write_ctranslate2
from regard.interop.huggingface import save_huggingface
from regard.interop.transformers_export import write_folder
from regard.models import Transformer, TransformerConfig
from regard.tasks.ctranslate2_translator import CTranslate2Translator
from regard.text.bpe import train_tokenizer
from regard.text.scores import bleu
from regard.training.evaluate.sets import read_data

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

TITLE = "How fast is decoding?"
COLUMNS = ("what", "beams", "equal texts", "regard", "transformers", "tokens/s", "theirs / ours")
ALPHA = 0.6
BATCHES = (32, 128)  # of transformers


class Comparison(NamedTuple):
    """One row of the table."""

    what: str
    beams: int
    equal: float  # share of texts
    ours: float  # seconds
    theirs: float
    tokens: int

    def cells(self) -> tuple[str, ...]:
        return (
            self.what, str(self.beams), f"{100 * self.equal:.1f} %", f"{self.ours:.2f} s", f"{self.theirs:.2f} s",
            f"{self.tokens / self.ours:,.0f}", f"**{self.theirs / self.ours:.2f}**",
        )  # fmt: skip


def quickest(calls: list[Callable[[], Any]], runs: int, device: str) -> list[float]:
    """The least seconds of each, run in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(runs):
        for number, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            if device == "cuda":
                torch.cuda.synchronize()
            best[number] = min(best[number], time.perf_counter() - begin)
    return best


class Peer:
    """transformers' model and tokenizer, read from the same folder."""

    def __init__(self, folder: Path, device: str) -> None:
        self.model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval().to(device)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.device = device

    @torch.no_grad()
    def translate(self, lines: list[str], beams: int, batch: int) -> list[str]:
        """As one would by hand: texts of like length together, so many at a time."""
        texts: dict[int, str] = {}
        order = sorted(range(len(lines)), key=lambda number: len(lines[number]))
        for first in range(0, len(order), batch):
            numbers = order[first : first + batch]
            inputs = self.tokenizer([lines[n] for n in numbers], return_tensors="pt", padding=True)
            output = self.model.generate(
                input_ids=inputs.input_ids.to(self.device), attention_mask=inputs.attention_mask.to(self.device),
                num_beams=beams, length_penalty=ALPHA, max_length=257,
            )  # fmt: skip
            texts |= dict(zip(numbers, self.tokenizer.batch_decode(output, skip_special_tokens=True), strict=True))
        return [texts[number] for number in range(len(lines))]


def fast_engines(model: str, device: str) -> dict[str, Any]:
    """The same weights in CTranslate2, by how its rows are called."""
    if device != "cpu":
        return {}
    return {
        f"CTranslate2 {kind}": regard.load(model, device, engine="ctranslate2", quantization=kind)
        for kind in ("float32", "int8")
    }


def compare_texts(
    name: str, task: Any, fast: dict[str, Any], lines: list[str], device: str, runs: int
) -> list[Comparison]:
    """A trained model on real lines, the search theirs: the folder's penalty and stop."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_folder(task.model, task.tokenizer, Path(folder))
        same, peer = regard.load(folder, device), Peer(Path(folder), device)
        for beams in (1, 4):
            ours = same.translate(lines, beams=beams, alpha=ALPHA)
            peers_texts = peer.translate(lines, beams, BATCHES[0])
            calls: list[Callable[[], Any]] = [lambda beams=beams: same.translate(lines, beams=beams, alpha=ALPHA)]
            calls += [lambda beams=beams, size=size: peer.translate(lines, beams, size) for size in BATCHES]
            calls += [
                lambda beams=beams, engine=engine: engine.translate(lines, beams=beams) for engine in fast.values()
            ]
            seconds, *theirs = quickest(calls, runs, device)
            theirs, others = theirs[: len(BATCHES)], theirs[len(BATCHES) :]
            texts = {what: engine.translate(lines, beams=beams) for what, engine in fast.items()}
            for what, said, took in zip(("", *texts), (ours, *texts.values()), (seconds, *others), strict=True):
                tokens = sum(map(len, task.tokenizer.encode(said)))
                equal = sum(a == b for a, b in zip(said, peers_texts, strict=True)) / len(lines)
                label = f"{name}, {len(lines)} lines" + (f", {what}" if what else "")
                rows.append(Comparison(label, beams, equal, took, min(theirs), tokens))
    return rows


def fast_base(model: Transformer, folder: Path) -> dict[str, CTranslate2Translator]:
    """A model in CTranslate2 whose ids mean nothing: a tokenizer of bytes, and names for the rest."""
    write_ctranslate2(model, train_tokenizer(["a"], 259), folder / "ct", longest=256)
    return {f"CTranslate2 {kind}": CTranslate2Translator(folder / "ct", "cpu", kind) for kind in ("float32", "int8")}


def compare_base(device: str, runs: int) -> list[Comparison]:
    """The base of the paper with random weights, so many sentences of so many tokens: nothing ends, nothing leaves."""
    sentences, length = (128, 32) if device == "cuda" else (16, 16)
    torch.manual_seed(0)
    model = Transformer(TransformerConfig.preset("base", 32000)).eval().to(device)
    source = torch.randint(3, 32000, (sentences, length), device=device)
    limits, rows = Limits(length, (2,), shortest=length), []
    with tempfile.TemporaryDirectory() as folder:
        save_huggingface(model, Path(folder))
        fast = fast_base(model, Path(folder)) if device == "cpu" else {}
        peer = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval().to(device)
    for beams in (1, 4):
        how = Beams(beams, ALPHA, "power")

        def ours(how: Beams = how) -> list[tuple[int, ...]]:
            stepper, prompt = stepper_for(model, source)
            return [texts[0].ids for texts in search(stepper, prompt, limits, how)]

        @torch.no_grad()
        def theirs(beams: int = beams) -> list[tuple[int, ...]]:
            output = peer.generate(
                input_ids=source, attention_mask=torch.ones_like(source), num_beams=beams, length_penalty=ALPHA,
                min_new_tokens=length, max_new_tokens=length,
            )  # fmt: skip
            return [tuple(row[1:]) for row in output.tolist()]

        equal = sum(a[: length - 1] == b[: length - 1] for a, b in zip(ours(), theirs(), strict=True)) / sentences

        def by_engine(engine: CTranslate2Translator, how: Beams = how) -> list[tuple[int, ...]]:
            return [texts[0].ids for texts in engine.hypotheses(source.tolist(), how, limits)]

        calls = [ours, theirs, *(partial(by_engine, engine) for engine in fast.values())]
        seconds, their_seconds, *others = quickest(calls, runs, device)
        name = f"base, random, {sentences} x {length} tokens"
        rows.append(Comparison(name, beams, equal, seconds, their_seconds, sentences * length))
        for (what, engine), took in zip(fast.items(), others, strict=True):
            pairs = zip(by_engine(engine), theirs(), strict=True)
            equal = sum(a[: length - 1] == b[: length - 1] for a, b in pairs) / sentences
            rows.append(Comparison(f"{name}, {what}", beams, equal, took, their_seconds, sentences * length))
    return rows


def stop_rules(task: Any, lines: list[str], references: list[str]) -> list[list[str]]:
    """BLEU and seconds with each rule, at 4 beams and our own penalty."""
    rows = []
    for stop in STOPS:
        texts = task.translate(lines, stop=stop)
        (seconds,) = quickest([lambda stop=stop: task.translate(lines, stop=stop)], 2, "cpu")
        rows.append([f"`{stop}`", f"{bleu(texts, references).value:.2f}", f"{seconds:.2f} s"])
    return rows


def stop_section(name: str, task: Any, data: list[str], limit: int | None) -> list[str]:
    """The rules to stop as a table, and what it is of."""
    pairs = read_data(data, limit=limit).pairs()
    about = f"BLEU of `{name}` on {', '.join(map(str, data))} ({len(pairs.sources):,} pairs), 4 beams:"
    rows = stop_rules(task, list(pairs.sources), list(pairs.references))
    return ["", about, "", *markdown(("stop", "BLEU", "time"), rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--model", nargs="+", default=["grammar"])
    parser.add_argument("--data", nargs="+", default=["grammar:test"])
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="fewer lines, one run, and no base model")
    parser.add_argument("--trained", action="store_true", help="no base model, and no rules to stop")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    runs, lines = (1, 40) if given.quick else (given.runs, given.lines)
    pairs, rows, stops = read_data(given.data, limit=lines).pairs(), [], []
    for model in given.model:
        task, name = regard.load(model, given.device), Path(model).name
        rows += compare_texts(name, task, fast_engines(model, given.device), list(pairs.sources), given.device, runs)
        stops += [] if given.trained else stop_section(name, task, given.data, lines if given.quick else None)
    rows += [] if given.quick or given.trained else compare_base(given.device, min(runs, 3))
    text = [provenance(given.device), "", *markdown(COLUMNS, [row.cells() for row in rows]), *stops]
    print("\n".join(text))
    if given.write:
        write_section(TITLE, text)


if __name__ == "__main__":
    main()

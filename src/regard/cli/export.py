"""`regard export`: a model for other programs, or a recording for HeadVis."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.recordings import is_recording
from regard.cli.verb import size, write
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.lens.headvis import HeadVisReport
    from regard.tasks.verified_export import ExportReport
    from regard.tasks.weight_storage import StorageReport

VERBS = {"AutoModelForSeq2SeqLM": "translate", "AutoModelForCausalLM": "generate", "AutoModel": "look"}


def export(
    model: str = typer.Argument(
        ..., metavar="MODEL|RECORDING", help="A model of ours: a folder, or a name. With --headvis a .regard file."
    ),
    out: Path | None = typer.Option(None, metavar="FOLDER", help="Where it goes: a new folder, or an empty one."),
    to: str | None = typer.Option(
        None, metavar="FORMAT", help="huggingface, ctranslate2, onnx or regard. (huggingface)"
    ),
    quantization: str | None = typer.Option(
        None, metavar="float32|float16|bfloat16|int8", help="How CTranslate2 keeps the weights (float32)."
    ),
    bits: int | None = typer.Option(None, metavar="8|16|32", help="Of a weight on disk, with --to regard (8)."),
    headvis: Path | None = typer.Option(
        None, metavar="FOLDER", help="Of a recording: the folder that HeadVis reads, a new one or an empty one."
    ),
    json: bool = typer.Option(False, "--json", help="What was written and how it was checked, as JSON."),
) -> None:
    """Write a model and its tokenizer for transformers, CTranslate2 or ONNX, with a card; or smaller, for regard.

    For transformers, AutoTokenizer and the Auto class that is named load the folder: the same ids, the same logits, the
    same text. A translator can also be written for CTranslate2 (extra fast), fastest on a CPU, its weights in 8 bits if
    wanted, and as two ONNX graphs (extra onnx): the encoder, and a step of the decoder with its cache.

    Each folder is read again by the program that it is for, and compared, before it is put in its place; one for
    transformers by regard, and by transformers where that is installed.

    With --to regard weights are kept in --bits 8 (a row of a matrix as whole numbers and a scale) and computed with in
    float32: a quarter of the size. What that costs is seen by regard evaluate FOLDER DATA --against MODEL.

    With --headvis a recording (regard record) becomes the data folder of HeadVis, a viewer of attention heads in the
    browser: the strongest weights of every head on every text, a table of heads, and what they look at most.
    """
    import json as notation
    from dataclasses import asdict

    report: StorageReport | ExportReport | HeadVisReport
    if headvis is not None or is_recording(model):
        report = to_headvis(model, headvis, {"--out": out, "--to": to, "--quantization": quantization, "--bits": bits})
        lines = headvis_words(report)
    elif out is None:
        raise InputError(
            "there is no folder to write to", found="no --out", do="--out FOLDER, a new one or an empty one"
        )
    elif bits is not None and to != "regard":
        raise InputError("bits are for regard's own folders", found=f"--to {to}", do="--to regard, or no --bits")
    elif to == "regard":
        from regard.tasks.weight_storage import store

        report = store(model, out, 8 if bits is None else bits)
        lines = storage_words(report, model)
    else:
        from regard.tasks.verified_export import export as export_model

        report = export_model(model, out, to or "huggingface", quantization=quantization)
        lines = words(report)
    if json:
        write(notation.dumps({**asdict(report), "folder": str(report.folder)}, ensure_ascii=False, indent=2), "-")
    else:
        write("\n".join(lines), "-")


def to_headvis(name: str, folder: Path | None, others: dict[str, object]) -> HeadVisReport:
    """The folder of a recording; what is for models has no meaning here."""
    if folder is None:
        raise InputError(f"{name} is a recording, and no model", do="--headvis FOLDER writes it for HeadVis")
    if not is_recording(name):
        raise InputError(
            "HeadVis reads recordings", found=name, do=f"regard record {name} TEXT --out seen.regard, first"
        )
    if given := [option for option, value in others.items() if value is not None]:
        raise InputError("this is for models", found=", ".join(given), do="leave it out: --headvis names the folder")
    from regard.lens.headvis import write_headvis
    from regard.lens.recording_api import Recording

    return write_headvis(Recording.load(name).calls, folder, Path(name).stem)


def headvis_words(report: HeadVisReport) -> Iterator[str]:
    """What was written, what its layers are, and how to look at it."""
    texts = f"{report.texts} text{'s' if report.texts > 1 else ''}"
    yield f"{report.folder} is ready: {report.heads} heads on {texts}, {size(report.bytes)}"
    yield f"  layers: {', '.join(f'{number} is {site}' for number, site in enumerate(report.layers))}"
    yield "look at it: name the folder data, beside the built page of HeadVis (npm run build, in its dist folder)"


def storage_words(report: StorageReport, model: str) -> Iterator[str]:
    """What was written, how small it is, and how to see what that costs."""
    folder = shlex.quote(str(report.folder))
    yield f"{report.folder} is ready: {', '.join(report.files)}"
    yield f"  weights in {report.bits} bits: {size(report.bytes_after)}, before {size(report.bytes_before)}"
    yield f"  read again: no weight is off by more than {report.row_error:.1e} of the largest in its row"
    yield f"what it costs: regard evaluate {folder} DATA --against {shlex.quote(model)}"


def words(report: ExportReport) -> Iterator[str]:
    """What was written, that it is the same, and how to load it."""
    folder = str(report.folder)
    yield f"{folder} is ready: {', '.join(report.files)}"
    for one in report.compared:
        if one.exact:
            yield f"  read by {one.reader}: the same ids and texts, logits within {one.difference:.0e} of the largest"
        else:
            yield f"  read by {one.reader}: log probabilities off by up to {one.difference:.0e} of the largest"
    if report.format == "huggingface" and len(report.compared) == 1:
        yield "  not read by transformers, which is not installed: pip install regard[hf]"
    if report.loads == "AutoModelForSeq2SeqLM":
        yield "  with num_beams=1 it says the same; beams are ranked there by another penalty for length, so may differ"
    yield "load it in Python:"
    yield from (f"  {line}" for line in report.usage.split("\n"))
    if report.format == "ctranslate2":
        yield f"or: regard translate {shlex.quote(folder)} --engine ctranslate2"
    elif report.format == "huggingface":
        yield f"or: regard {VERBS.get(report.loads, 'classify')} {shlex.quote(folder)}"

"""`regard translate`: lines in, lines out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.lines import answer_lines, plain, read_batches
from regard.cli.translation_lines import as_json, as_line, cut_words
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.cli.translation_lines import Links
    from regard.tasks.pipeline import Best
    from regard.tasks.translator import BaseTranslator, SearchOptions, Translator

    BestAndLinks = tuple[Best, Links]

LINES = 64  # of a batch, where nothing is said
AHEAD = 8  # batches translated together if as many lines are there: enough to put texts of like length together


def translate(
    model: str | None = typer.Argument(
        None,
        metavar="MODEL",
        help="An encoder-decoder: a folder, a model that ships (regard models), or a name on the hub (en-fr).",
    ),
    files: list[Path] | None = typer.Argument(
        None, metavar="FILE", help="Files to translate to --out: documents, or lines, also compressed (gz, xz, zst)."
    ),
    source: str | None = typer.Option(None, "--from", metavar="CODE", help="Translate from this language (en)."),
    target: str | None = typer.Option(None, "--to", metavar="CODE", help="Into this language (fr)."),
    out: Path | None = typer.Option(None, metavar="FILE|FOLDER", help="Where translations of files go."),
    workers: int | None = typer.Option(None, min=1, help="Processes that translate files, each with its model (1)."),
    cluster: str | None = typer.Option(None, metavar="ADDRESS", help="A Ray cluster that runs, or auto, for workers."),
    chunk: int | None = typer.Option(None, min=1, help="Lines of a file kept together (by how many there are)."),
    anew: bool = typer.Option(False, "--anew", help="Begin files anew, whatever an earlier run has left."),
    beams: int | None = typer.Option(
        None, help="How many texts to follow at once; 1 is greedy (4, or as the folder says)."
    ),
    alpha: float | None = typer.Option(None, help="How much length is favoured (0.6, or as the folder says)."),
    nbest: int = typer.Option(1, help="How many translations of each line, best first, with tabs between."),
    max_length: int | None = typer.Option(None, help="Tokens of a translation at most."),
    batch: int | None = typer.Option(None, min=1, help="Lines translated side by side at most."),
    stop: str | None = typer.Option(
        None, metavar="likely|proven|full", help="When to end a search (likely, or as the folder says)."
    ),
    long: str = typer.Option("split", metavar="split|refuse", help="What to do with lines too long for the model."),
    alignments: bool = typer.Option(False, "--alignments", help="A tab behind each translation, and its links."),
    json: bool = typer.Option(False, "--json", help="A JSON object for each line, with doubt, or scores."),
    glossary: Path | None = typer.Option(
        None, metavar="TSV", help="Terms to use: source, a tab, target; --json says which could not be."
    ),
    review: Path | None = typer.Option(
        None, metavar="HTML", help="A page beside --out: source, translation, doubt and alignment, side by side."
    ),
    bare: bool = typer.Option(
        False, "--plain", help="The bare model, line by line, whatever stands there; as with --nbest and --alignments."
    ),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    dtype: str = typer.Option(
        "float32", metavar="float32|bfloat16|float16", help="In which numbers to compute: half of them suit a GPU."
    ),
    engine: str = typer.Option(
        "torch", metavar="torch|ctranslate2", help="What computes: ctranslate2 is faster on a CPU (extra fast)."
    ),
    quantization: str | None = typer.Option(
        None, metavar="float32|int8|...", help="In which numbers ctranslate2 computes (float32, or what was exported)."
    ),
) -> None:
    """Translate standard input to standard output, one line for each line, in order, as soon as it is there.

    Without MODEL the one that ships for --from and --to is taken, English to French if neither is said; a first word
    that is an existing file is a file.

    Lines may be as people type them: several sentences, capitals, no punctuation; addresses, placeholders, tags, emoji
    and code come out as they went in. --json shows the doubt of each, 0 to 1, by the probabilities of the model.

    Empty lines stay empty. A line that is too long to be read at once is translated in pieces, sentence by sentence. A
    Hugging Face folder is decoded as its generation config says: the text is the one that transformers gives.

    With --engine ctranslate2 a model of ours, or one that was exported for it, is computed by CTranslate2: the same
    text in float32, faster on a CPU, and faster still with --quantization int8, which may say other things. The model
    is converted once and kept in huggingface-hub's cache.

    With --alignments every translation is followed by a tab and links between words at white space, 0-2 for the first
    of the line and the third of the translation. Where in the model they are read is as alignment.json beside it says
    (regard align --save), else chosen on the first lines, which are then waited for.

    With FILE and --out, files are translated in chunks, each of which is kept once it is done: the same command goes on
    where the last one stopped, however it ended. --workers shares the chunks among processes of this machine, --cluster
    among those of a Ray cluster, which all see --out under the same name (both need the extra ray); one that dies is
    replaced. One line for each line, in order, whoever translated it.

    Documents (.po .xliff .tmx .srt .vtt .html .md .docx) keep their structure, tags and placeholders: only what is not
    translated is filled in, and marked as machine-made where the format can say so; a second run changes nothing.
    --review writes a page to read the translation over, the most doubtful first if you like.
    """
    from regard.cli.shipped_choice import model_for, split_model

    numbers = check_engine(engine, quantization, dtype, alignments)
    model, files = split_model(model, files or [], out)
    model = model_for(model, source, target)
    options: SearchOptions = {
        "beams": beams, "alpha": alpha, "nbest": nbest, "max_length": max_length, "long": long, "stop": stop,
    }  # fmt: skip
    if glossary is not None and (bare or alignments or nbest > 1):
        raise InputError(
            "a glossary is for whole texts", found="--plain, --nbest or --alignments", do="leave out one of them"
        )
    if files or out is not None:
        from regard.cli.bulk import BulkOptions, translate_to
        from regard.cli.documents import DocumentOptions, are_documents, translate_documents

        if are_documents(files or [], review):
            lines_only = json or alignments or bare or (workers, cluster, chunk) != (None, None, None)
            for_documents = DocumentOptions(device, numbers, engine, batch, glossary, review, anew, lines_only)
            translate_documents(model, files or [], out, options, for_documents)
            return
        output = "json" if json else "alignments" if alignments else "text"
        how = BulkOptions(output, device, numbers, engine, batch, workers or 1, cluster, chunk, anew, bare, glossary)
        translate_to(model, files, out, options, how)
        return
    if anew or review or (workers, cluster, chunk) != (None, None, None):
        raise InputError(
            "workers and chunks are for files", found="standard input", do="regard translate MODEL FILE --out FILE"
        )
    from regard.cli.loading import load_for

    task = load_for(model, device, engine, numbers)
    task.batch = batch
    if alignments:
        search: LineSearch = AligningSearch(task, options, model)  # type: ignore[arg-type]  # check_engine saw to that
    else:
        search = LineSearch(task, options, bare, glossary)
    cut_lines = 0
    batches = read_batches(AHEAD * (batch or LINES), full=search.chooses)
    for source, (best, links) in answer_lines(batches, search):
        typer.echo((as_json(source, best, links) if json else as_line(best, links)).encode())
        cut_lines += any(one.cut for one in best)
    if cut_lines:
        typer.echo(cut_words(cut_lines), err=True)


def check_engine(engine: str, quantization: str | None, dtype: str, alignments: bool) -> str:
    """In which numbers the engine is to compute; what only the other has is refused."""
    if engine == "torch" and quantization is not None:
        raise InputError(
            "a quantization is CTranslate2's", found=f"--quantization {quantization}", do="--engine ctranslate2"
        )
    if engine != "torch" and (alignments or dtype != "float32"):
        raise InputError(
            f"the engine {engine} shows no attention, and computes in what --quantization says",
            found="--alignments" if alignments else f"--dtype {dtype}",
            do="--engine torch" if alignments else "--quantization int8",
        )
    return dtype if engine == "torch" else quantization or "default"


class LineSearch:
    """Translations alone: of the bare model, or by its pipeline, with the terms of a file."""

    def __init__(self, task: BaseTranslator, how: SearchOptions, bare: bool = True, terms: Path | None = None) -> None:
        from regard.tasks.glossary import Glossary

        self.task, self.how, self.bare = task, how, bare
        self.glossary = None if terms is None else Glossary.read(terms)

    def chooses(self) -> bool:
        """Whether the next texts decide how all are answered: then they may not be those that happen to be there."""
        return False

    def __call__(self, texts: list[str]) -> Sequence[BestAndLinks]:
        from regard.tasks.pipeline import search_lines

        results = search_lines(self.task, texts, self.how, pipeline=not self.bare, glossary=self.glossary)
        return [(best, None) for best in results]


class AligningSearch(LineSearch):
    """Translations with the links of their words; where they are read is chosen once, and told."""

    def __init__(self, task: Translator, how: SearchOptions, model: str) -> None:
        from regard.interop.folders import locate
        from regard.lens.alignment.stored_choice import read_choice

        super().__init__(task, how)
        self.translator = task
        self.choice = read_choice(locate(model), task.model)

    def chooses(self) -> bool:
        return self.choice is None

    def __call__(self, texts: list[str]) -> Sequence[BestAndLinks]:
        from regard.lens.alignment.translation import search_aligned

        known = self.choice is not None
        self.choice, aligned = search_aligned(self.translator, texts, self.choice, words, **self.how)
        if self.choice is not None and not known:
            advice = "regard align MODEL PAIRS --save would choose on more"
            typer.echo(f"regard: alignments are read at {self.choice.reading} ({self.choice.how})", err=True)
            typer.echo(f"  do: {advice}", err=True)
        return aligned


def words(text: str) -> list[str]:
    """As they stand on the line that is written."""
    return plain(text).split()

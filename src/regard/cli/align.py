"""`regard align`: which word became which, read from a translator's attention."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.attention_tables import alignment_view
from regard.cli.lines import read_lines
from regard.cli.texts import COLUMNS, ENCODING, source_of
from regard.cli.waiting import ProgressBar
from regard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from regard.lens.alignment.bitext import Bitext
    from regard.lens.alignment.choice import ReadingChoice
    from regard.lens.alignment.decision import Fixed, ScoredReading
    from regard.tasks import Translator
    from regard.text.scores.alignment_error import Link

STANDARD = "-"
VALIDATION = "grammar:valid:300"  # chosen on for a set of the grammar


def align(
    model: str = typer.Argument(
        ..., metavar="MODEL", help="An encoder-decoder: a folder, a model that ships (grammar), or a name on the hub."
    ),
    data: list[str] = typer.Argument(
        None, metavar="DATA", help="A file of pairs, two aligned ones, or grammar:NAME:COUNT:SEED; else standard input."
    ),
    gold: str | None = typer.Option(None, metavar="FILE", help="Links made by hand, to score against: 0-0 1-2 3?4."),
    dev: list[str] = typer.Option([], metavar="DATA", help="Pairs to choose on; twice for two files."),
    dev_gold: str | None = typer.Option(None, metavar="FILE", help="Their links."),
    reverse: str | None = typer.Option(None, metavar="MODEL", help="A translator of the other direction."),
    symmetrise: str | None = typer.Option(
        None, metavar="WAY", help="intersection, grow-diag or union; needs --reverse."
    ),
    site: str | None = typer.Option(None, help="The attention layer to read, such as decoder.1.cross."),
    head: str | None = typer.Option(None, metavar="HEADS", help="Its head: a number, 1+2 for a mean, or mean for all."),
    row: str | None = typer.Option(None, metavar="input|output", help="Where a word is read, or where it is written."),
    columns: str | None = typer.Option(None, metavar="A,B", help=COLUMNS),
    encoding: str | None = typer.Option(None, metavar="NAME", help=ENCODING),
    words: str | None = typer.Option(None, metavar="space|grammar", help="How texts are split (space)."),
    save: bool = typer.Option(False, "--save", help="Keep the choice beside the model, in alignment.json."),
    limit: int | None = typer.Option(None, min=1, help="Only the first so many pairs."),
    batch: int = typer.Option(32, min=1, help="Pairs side by side."),
    json: bool = typer.Option(False, "--json", help="A JSON object for each pair; one more with scores, if any."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Align the words of texts with those of their translations, one line for each pair.

    A line holds links in Pharaoh's format: 0-2 joins the first word of the source and the third of the target. Where
    to look (layer, heads, and which row of a word) is chosen by the links of --dev, or so that --reverse agrees most,
    or as alignment.json says, or so that the map agrees with itself. Standard error tells which.
    """
    from regard.lens.alignment.stream import Aligner, stream
    from regard.text.grammar import is_grammar

    check_options(symmetrise, reverse, dev, dev_gold)
    if save:
        check_own(model)
    texts = read(data, gold, words, limit, columns=columns, encoding=encoding)
    alike: dict[str, Any] = (
        {"columns": columns, "encoding": encoding} if len(dev) == 1 and not is_grammar(dev[0]) else {}
    )
    tuning = read(dev, dev_gold, words, **alike) if dev else validation(texts)
    task, other = loaded(model, device, batch), None if reverse is None else loaded(reverse, device, batch)
    asked = fixed(site, head, row)
    with ProgressBar("choosing") as on_progress:
        stored = None if dev or other or any(part is not None for part in asked) else kept_choice(model, task)
        ours, theirs = (
            (stored, None) if stored else decided(task, other, tuning or texts.without_gold(), asked, on_progress)
        )
    say(ours, theirs)
    back = Aligner(other, theirs.reading) if other and theirs and symmetrise else None
    links = written(stream(texts, Aligner(task, ours.reading), back, symmetrise or "union"), texts, json)
    if save:
        keep(model, task, ours)
    if texts.gold:
        with ProgressBar("comparing") as on_progress:
            lines = compared(task, texts, tuning, ours, links if back else [], on_progress)
        tell(lines, ours, texts, json)


def loaded(model: str, device: str, batch: int) -> Translator:
    from regard.cli.loading import load_as
    from regard.tasks import Translator

    task = load_as(Translator, model, device)
    task.batch = batch
    return task


def check_options(symmetrise: str | None, reverse: str | None, dev: list[str], dev_gold: str | None) -> None:
    """Before anything is loaded."""
    from regard.errors import UnknownNameError
    from regard.lens.alignment.symmetrise import WAYS

    if symmetrise is not None and symmetrise not in WAYS:
        raise UnknownNameError("way to join two alignments", symmetrise, WAYS)
    if symmetrise is not None and reverse is None:
        raise InputError("two directions are joined, and there is one", do="--reverse MODEL, of the other direction")
    if dev_gold is not None and not dev:
        raise InputError("the links of --dev-gold have no texts", do="--dev FILE, once or twice")


def check_own(model: str) -> None:
    """What ships with the package, or lies in the hub's cache, is not written to."""
    from regard.interop.folders import where

    place = where(model)
    if place.kind != "folder":
        raise InputError(
            f"--save writes beside a model of your own, and {model} is none",
            found=place.note,
            do=f"cp -r {place.folder} mine, then regard align mine ... --save",
        )


def read(
    files: Sequence[str],
    gold: str | None,
    words: str | None,
    limit: int | None = None,
    *,
    columns: str | None = None,
    encoding: str | None = None,
) -> Bitext:
    """Pairs from files, or from standard input."""
    from itertools import islice

    from regard.lens.alignment.bitext import as_bitext, read_bitext, tabbed, with_gold

    if list(files or [STANDARD]) != [STANDARD]:
        return read_bitext(source_of(files, columns, encoding), gold, words, limit, say_note)
    if columns is not None or encoding is not None:
        raise InputError("columns and encodings are those of a file, and there is none", do="name the file")
    bitext = as_bitext("standard input", islice(tabbed(read_lines()), limit), words)
    return bitext if gold is None else with_gold(bitext, gold)


def say_note(text: str) -> None:
    typer.echo(f"note: {text}", err=True)


def fixed(site: str | None, head: str | None, row: str | None) -> Fixed:
    """What is told of where to read."""
    from regard.lens.alignment.decision import Fixed
    from regard.lens.alignment.links import AttentionReading

    return Fixed(site, None if head is None else AttentionReading.parse(f"site:{head}:input").heads, row)


def validation(texts: Bitext) -> Bitext | None:
    """What a set of the grammar is chosen on: other sentences whose links are known."""
    from regard.lens.alignment.bitext import read_bitext
    from regard.text.grammar import is_grammar

    return read_bitext([VALIDATION]) if is_grammar(texts.name) and texts.gold else None


def kept_choice(model: str, task: Translator) -> ReadingChoice | None:
    from regard.interop.folders import locate
    from regard.lens.alignment.stored_choice import read_choice

    return read_choice(locate(model), task.model)


def decided(
    task: Translator, other: Translator | None, texts: Bitext, asked: Fixed, on_progress: ProgressBar
) -> tuple[ReadingChoice, ReadingChoice | None]:
    """Where each model is read."""
    from regard.lens.alignment.decision import decide, decide_both

    return (
        (decide(task, texts, asked, on_progress), None)
        if other is None
        else decide_both(task, other, texts, asked, on_progress)
    )


def say(ours: ReadingChoice, theirs: ReadingChoice | None) -> None:
    """Where alignments are read, and why there."""
    typer.echo(f"regard: reads {ours.reading} ({ours.how})", err=True)
    if theirs is not None:
        typer.echo(f"regard: reads the reverse at {theirs.reading} ({theirs.how})", err=True)


def written(link_lists: Iterator[list[Link]], texts: Bitext, json: bool) -> list[list[Link]]:
    """Print each line as it comes; kept where they are to be scored."""
    from regard.text.scores.alignment_error import pharaoh

    scored: list[list[Link]] = []
    alone = not sys.stdout.isatty()  # else a bar would stand among the lines
    with ProgressBar("aligning") as on_progress:
        for number, links in enumerate(link_lists):
            typer.echo((as_json(texts, number, links) if json else pharaoh(links)).encode())
            scored += [links] if texts.gold else []
            if alone:
                on_progress(number + 1, len(texts.sources))
    return scored


def as_json(texts: Bitext, number: int, links: list[Link]) -> str:
    import json

    from regard.cli.translation_lines import escape_line_ends

    source, target = texts.sources[number], texts.targets[number]
    whole = {"source": list(texts.words(source)), "target": list(texts.words(target)), "alignment": links}
    return escape_line_ends(json.dumps(whole, ensure_ascii=False))


def keep(model: str, task: Translator, choice: ReadingChoice) -> None:
    """Beside the model."""
    from regard.interop.folders import locate
    from regard.lens.alignment.stored_choice import write_choice

    typer.echo(f"wrote {write_choice(locate(model), task.model, choice)}", err=True)


def compared(
    task: Translator,
    texts: Bitext,
    tuning: Bitext | None,
    choice: ReadingChoice,
    joined: list[list[Link]],
    on_progress: ProgressBar,
) -> list[ScoredReading]:
    """How far the links are from those made by hand, and what other readings would give."""
    from regard.lens.alignment.choice import error_rates
    from regard.lens.alignment.decision import ENOUGH, ScoredReading, align, compare
    from regard.text.scores.alignment_error import alignment_score

    known = tuning.first(ENOUGH) if tuning is not None and tuning.gold else None
    tuned = None if known is None else error_rates(align(task, known, on_progress=on_progress), known.gold)
    lines = compare(task, texts, choice, tuned, on_progress)
    both = [ScoredReading("both directions", choice.reading, alignment_score(joined, texts.gold))] if joined else []
    return [*both, *lines]


def tell(lines: list[ScoredReading], choice: ReadingChoice, texts: Bitext, json: bool) -> None:
    """The table on standard error; as JSON on standard output."""
    import json as notation

    from regard.drawing.plain import as_text

    if not json:
        typer.echo(as_text(alignment_view(lines, len(texts.gold))), err=True)
        return
    scores = [{"name": one.name, "reading": str(one.reading), **one.rate._asdict()} for one in lines]
    typer.echo(notation.dumps({"reading": str(choice.reading), "chosen_by": choice.how, "scores": scores}))

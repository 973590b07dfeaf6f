"""`regard ablate`: what a model loses without some of its heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from regard.cli.score_tables import LABELS, shown, table
from regard.cli.verb import show, write
from regard.cli.waiting import ProgressBar
from regard.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from regard.lens.effect import Effect
    from regard.tasks.model_folder import Task
    from regard.training.evaluate import EvaluationData
    from regard.training.evaluate.pronoun_heads import Ablation, AblationRow

PRONOUNS = "pronouns"
FOUND_ON, SHOWN_ON = "grammar:valid:1200", "grammar:test:1500"


def ablate(
    model: str = typer.Argument(
        ..., metavar="MODEL", help="A folder, a model that ships (grammar), or a name on the hub."
    ),
    data: list[str] = typer.Argument(
        None, metavar="DATA", help=f"A file, two aligned ones, or grammar:NAME:COUNT:SEED ({FOUND_ON})."
    ),
    score: str | None = typer.Option(
        None, help="pronouns, or one that evaluate gives, such as bleu, nats_per_token or accuracy."
    ),
    silence: list[str] = typer.Option(
        [], metavar="SITE:HEAD", help="Silence these heads together, instead of each alone; may be repeated."
    ),
    test: str = typer.Option(SHOWN_ON, metavar="DATA", help="For pronouns: other sentences, to show it on."),
    most: int = typer.Option(4, min=1, help="For pronouns: heads together, at most."),
    allow: float = typer.Option(1.5, min=0.0, help="For pronouns: BLEU that other sentences may lose meanwhile."),
    random: int = typer.Option(5, min=1, help="For pronouns: sets of as many random heads to compare with."),
    seed: int = typer.Option(0, help="Which random heads."),
    limit: int | None = typer.Option(None, min=1, help="Only the first so many rows."),
    svg: str | None = typer.Option(None, metavar="FILE", help="The heat map of all heads, as a picture."),
    csv: str | None = typer.Option(None, metavar="FILE", help="The same as a table."),
    json: bool = typer.Option(False, "--json", help="All that was found, as JSON."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Silence heads, and see what the model can no longer do.

    On the built-in grammar: find the heads that let a translator say il or elle, show on other sentences that without
    them it cannot, that it still translates the rest, and that random heads do no such thing. On any other data:
    silence one head after the other, and score the model each time.
    """
    from regard.cli.loading import load_any
    from regard.training.evaluate import read_data

    if silence and (svg or csv):
        raise InputError("there is no map of all heads to write", do="leave out --silence")
    given = read_data(data or [FOUND_ON], limit=limit)
    task = load_any(model, device)
    with ProgressBar("silencing heads") as on_progress:
        if silence:
            result = together(task, given, score, silence)
        elif score == PRONOUNS or (score is None and given.grammar is not None):
            result = pronouns(task, given, read_data(test), (most, allow, random, seed), on_progress)
        else:
            result = one_by_one(task, given, score, on_progress)
    save(result.effect, svg, csv)
    if json:
        import json as notation

        write(notation.dumps(result.facts, ensure_ascii=False, indent=2), "-")
    else:
        show(result.view)


class AblationResult(NamedTuple):
    """What to show, the same for JSON, and what each head did by itself, where each was tried."""

    view: RenderableType
    facts: dict[str, Any]
    effect: Effect | None = None


def pronouns(
    task: Task, near: EvaluationData, far: EvaluationData, asked: tuple[int, float, int, int], on_progress: ProgressBar
) -> AblationResult:
    """The search for the heads that let a translator say il or elle, where it is known what it should say."""
    from regard.tasks import Translator
    from regard.training.evaluate.pronoun_heads import AblationOptions, ablate_pronouns

    if not isinstance(task, Translator) or near.grammar is None or far.grammar is None:
        raise InputError(
            "pronouns can be scored only where it is known what each stands for",
            found=f"{type(task).__name__} on {near.name} and {far.name}",
            do="give a translator of the grammar, grammar:valid and --test grammar:test, or choose another --score",
        )
    ablation = ablate_pronouns(task, near.sentences(), far.sentences(), AblationOptions(*asked), on_progress)
    return AblationResult(pronouns_view(ablation, near.name, far.name), ablation.to_dict(), ablation.alone)


def one_by_one(task: Task, given: EvaluationData, score: str | None, on_progress: ProgressBar) -> AblationResult:
    """What each head's silence does to a score of `evaluate`."""
    from dataclasses import asdict

    from regard.lens.draw.effect_map import effect_view
    from regard.lens.effect import effect

    name = score or default_score(task)
    effects = effect(task, lambda model: scored(model, given, name), on_progress=on_progress)
    title = f"what the silence of each head changes: {LABELS.get(name, name)}, {given.name}"
    view = effect_view(effects.baseline, effects.lines, title)
    heads = [asdict(one) for one in effects.lines]
    return AblationResult(view, {"score": name, "baseline": effects.baseline, "heads": heads}, effects)


def default_score(task: Task) -> str:
    from regard.tasks import Generator, Translator

    if isinstance(task, Translator):
        return "bleu"
    return "nats_per_token" if isinstance(task, Generator) or task.head == "mask" else "accuracy"


def scored(task: Task, given: EvaluationData, name: str) -> float:
    from regard.tasks import Translator
    from regard.training.evaluate import evaluate

    how = {"beams": 1} if isinstance(task, Translator) else {}
    evaluation = evaluate(task, given, **how)  # type: ignore[arg-type]
    known = [one.name for one in evaluation.scores]
    if name not in known:
        raise UnknownNameError("score", name, known)
    return evaluation[name]


def together(task: Task, given: EvaluationData, score: str | None, silence: Sequence[str]) -> AblationResult:
    """One set of heads, as asked."""
    from regard.lens.effect import without

    heads, name = [site_head(one) for one in silence], score or default_score(task)
    name = "pronoun_agreement" if name == PRONOUNS else name
    before = scored(task, given, name)
    with without(task, heads):
        after = scored(task, given, name)
    view = table(LABELS.get(name, name), given.name)
    view.add_row("with all heads", shown(name, before))
    view.add_row(f"without {', '.join(silence)}", shown(name, after))
    return AblationResult(view, {"score": name, "heads": list(silence), "with": before, "without": after})


def site_head(text: str) -> tuple[str, int]:
    """A head as it is written."""
    site, colon, head = text.rpartition(":")
    if not colon or not head.isdecimal():
        raise InputError("a head is named by its site and number", found=text, do="--silence decoder.1.cross:2")
    return site, int(head)


def pronouns_view(ablation: Ablation, near: str, far: str) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from regard.lens.draw.effect_map import effect_view
    from regard.training.evaluate.pronoun_heads import head_names

    title = "the probability of the right pronoun, where il or elle is to be written"
    return Group(
        effect_view(ablation.alone.baseline, ablation.alone.lines, title),
        Text(
            f"\nfound on {near}: {ablation.searched.asked:,} sentences with an it, {ablation.searched.others:,} without"
        ),
        lines_view(ablation.search_rows),
        Text(f"\nshown on {far}: {ablation.tested.asked:,} sentences with an it, {ablation.tested.others:,} without"),
        lines_view(ablation.test_rows),
        Text(
            f"\nthe heads that let it say il or elle: {', '.join(head_names(ablation.heads))}   (chance: 50 %)",
            style="bold",
        ),
    )


def lines_view(lines: Sequence[AblationRow]) -> Table:
    from regard.training.evaluate.pronoun_heads import head_names

    grid = table("silent", "pronouns that agree", "BLEU of the others")
    for line in lines:
        names = ", ".join(head_names(line.heads)) or "no head"
        grid.add_row(names, f"{line.scores.agreement:.1f} %", f"{line.scores.bleu:.2f}")
    return grid


def save(effect: Effect | None, svg: str | None, csv: str | None) -> None:
    """Files of the heat map."""
    if effect is None:
        return
    for path, written in ((svg, effect.to_svg), (csv, effect.to_csv)):
        if path is not None:
            written(path)
            typer.echo(f"wrote {path}", err=True)

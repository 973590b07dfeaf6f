"""`regard claim`: a sentence of the lectures, tried."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.verb import STANDARD, show, write
from regard.errors import FileError, InputError, RegardError

if TYPE_CHECKING:
    from regard.claims import Result


def claim(
    name: str | None = typer.Argument(None, metavar="NAME", help="Which claim; without one they are listed."),
    every: bool = typer.Option(False, "--all", help="Try all of them, one after the other."),
    full: bool = typer.Option(False, help="The long form: more seeds, larger models, real text; wants a GPU."),
    data: Path | None = typer.Option(None, metavar="DIR", help="Where real text lies, for --full."),
    seeds: str | None = typer.Option(None, metavar="0,1,2", help="Which seeds, instead of the claim's own."),
    html: str | None = typer.Option(None, metavar="[FILE.html]", help="A page; with --all one of all of them."),
    svg: str | None = typer.Option(None, metavar="[FILE.svg]", help="The plot."),
    json: bool = typer.Option(False, "--json", help="Verdict, numbers with intervals, rule and seeds, as JSON."),
    device: str = typer.Option("cpu", help="cpu, cuda, mps or auto."),
) -> None:
    """Try a claim about attention: its numbers, a picture, and the verdict that a rule gives.

    Each claim is an experiment with a control. The rule that turns its numbers into "holds", "holds in part" or "does
    not hold" is written before the result. The quick form takes at most three minutes on two cores.
    """
    values = {"--full": full, "--data": data, "--seeds": seeds, "--html": html, "--svg": svg}
    check_request(name, every, [option for option, value in values.items() if value])
    check_outputs(html, svg, json)
    if name is None and not every:
        listed(json)
        return
    options = {
        "full": full, "data": data, "seeds": seeds_of(seeds), "device": device_name(device), "processes": cores(),
    }  # fmt: skip
    if full and options["device"] == "cpu":
        warn_of_hours(name)
    if every:
        check_all_folders(full, data)
        try_all(options, html, json)
        return
    assert name is not None
    result = tried(name, options)
    wrote = save(result, html, svg)
    if json:
        write(as_json(result.to_dict()), STANDARD)
    elif not wrote:
        from regard.claims.draw.result_view import result_view

        show(result_view(result.to_dict(), result.measurement))


def check_request(name: str | None, every: bool, given: list[str]) -> None:
    """Refuse options that do not go together."""
    if name is not None and every:
        raise InputError("a name and --all ask for two things", found=f"{name} --all", do="give one of the two")
    if name is None and not every and given:
        raise InputError("which claim?", found=f"{' '.join(given)} without a name", do="give a name, or --all")
    if every and "--svg" in given:
        raise InputError("--svg draws one claim", found="--all --svg", do="give a name, or --html for all plots")
    if "--data" in given and "--full" not in given:
        raise InputError("only the full form reads real text", found="--data without --full", do="add --full")


def check_outputs(html: str | None, svg: str | None, json: bool) -> None:
    """That results have where to go: asked before minutes or hours are spent on them."""
    printed = [option for option, file in (("--html", html), ("--svg", svg)) if file == STANDARD]
    printed += ["--json"] if json else []
    if len(printed) > 1:
        raise InputError(
            "only one form at a time can go to standard output", found=", ".join(printed),
            do="name a file for the others: --html page.html",
        )  # fmt: skip
    for file in (html, svg):
        if file not in (None, STANDARD):
            check_place(Path(str(file)))


def check_place(path: Path) -> None:
    """That a file can be written there, as far as one can know beforehand; its folders are made with it."""
    import os

    above = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    right = above.is_file() if above == path else above.is_dir()
    if not right or not os.access(above, os.W_OK):
        raise FileError(f"cannot write {path}", found=f"{above} cannot be written to", do="choose another place")


def check_all_folders(full: bool, data: Path | None) -> None:
    """Of all full forms, that the text which any of them reads is there."""
    from regard.claims.claim_names import NAMES, claim_named
    from regard.claims.setting import check_folders

    if full:
        check_folders(data, sorted({folder for name in NAMES for folder in claim_named(name).data}))


def warn_of_hours(name: str | None) -> None:
    """Before a full form begins on a CPU that would be busy with it for long."""
    from regard.claims.claim_names import ANY_MACHINE, NAMES

    if name is None or name in set(NAMES) - set(ANY_MACHINE):
        typer.echo("regard: a full form wants a GPU (--device cuda): on a CPU it may take hours", err=True)


def listed(json: bool) -> None:
    from regard.claims.claim_names import NAMES, claim_named
    from regard.claims.draw.result_view import list_view

    rows = [(name, claim_named(name).statement) for name in NAMES]
    if json:
        write(as_json([{"name": name, "statement": statement} for name, statement in rows]), STANDARD)
    else:
        show(list_view(rows))


def tried(name: str, options: dict[str, Any]) -> Result:
    """The result, with a bar if it takes long."""
    from regard.claims import claim as claim_of
    from regard.cli.waiting import ProgressBar

    run = claim_of(name)
    with ProgressBar(name) as on_progress:
        return run.run(**options, on_progress=on_progress)


def try_all(options: dict[str, Any], html: str | None, json: bool) -> None:
    """Every claim in turn. One that breaks is told, the others go on, and the command fails at the end."""
    from regard.claims.claim_names import NAMES
    from regard.claims.draw.result_page import results_page
    from regard.claims.draw.result_view import verdicts_view

    results: list[Result] = []
    failed: dict[str, str] = {}
    rows: list[tuple[str, str, float]] = []
    for name in NAMES:
        try:
            result = tried(name, options)
        except Exception as error:
            failed[name] = str(error) if isinstance(error, RegardError) else f"{type(error).__name__}: {error}"
            typer.echo(f"regard: {name}: {failed[name]}", err=True)
            rows.append((name, "could not be tried", 0.0))
            continue
        results.append(result)
        rows.append((name, result.verdict, result.provenance.seconds))
        typer.echo(f"{name}: {result.verdict} ({result.provenance.seconds:.0f} s)", err=True)
    if html is not None:
        write(results_page([(one.to_dict(), one.measurement) for one in results], failed), html)
    if json:
        write(as_json([one.to_dict() for one in results]), STANDARD)
    elif html is None:
        show(verdicts_view(rows))
    if failed:
        raise typer.Exit(1)


def save(result: Result, html: str | None, svg: str | None) -> bool:
    """Files, or standard output for "-"; whether there was any."""
    for target, document in ((html, result.to_html), (svg, result.to_svg)):
        if target is not None:
            write(document(), target)
    return html is not None or svg is not None


def seeds_of(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    from regard.claims.setting import seeds_that_differ

    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError("seeds are whole numbers", found=text, do="--seeds 0,1,2") from error
    return seeds_that_differ(seeds)


def device_name(device: str) -> str:
    from regard.tasks.model_folder import device_of

    return str(device_of(device))


def cores() -> int:
    """How many trainings may run side by side."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def as_json(facts: Any) -> str:
    import json

    return json.dumps(facts, ensure_ascii=False, indent=2)

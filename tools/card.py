"""`python -m tools.card FOLDER --evaluations scores.json`: writes the card (README.md) of a translator that ships.

Every number comes from a file: sizes from config.json and the weights, text and settings from recipe.toml, time and
device from run.json and log.jsonl, scores with their intervals from `python -m benchmarks.translators FOLDER --json`.
`--before` are the scores of the same model before its weights were put into 8 bits; `--run` names other runs whose
training this model rests on, such as a teacher's. Energy is an estimate: what the devices draw, times the time.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.translators import table
from regard.errors import FileError
from regard.interop.folders import languages_of, read_json
from regard.tasks.model_list import parameters_in
from regard.training.report.run_log import duration

NAMES = {"en": "English", "fr": "French"}
KEPT = {1: "float32 or half precision", 2: "8 bits: a row of a matrix is whole numbers and one scale"}  # by version


class TextSource(NamedTuple):
    """A text that models are trained on: what it is, and on which terms."""

    what: str
    licence: str
    attribution: str


TEXTS = {
    "europarl-en-fr": TextSource(
        "debates of the European Parliament, 1999 to 2012",
        "reproduction authorised provided the source is acknowledged; the data set's own repository states no licence",
        "© European Union, source: European Parliament; paired from Multilingual-Parallel-Direct-Europarl "
        "(Amponsah-Kaakyire, Pylypenko, España-Bonet and van Genabith, MoTra 2021)",
    ),
    "tatoeba-en-fr": TextSource(
        "everyday sentences", "CC BY 2.0", "tatoeba.org, by way of www.manythings.org/anki (release of 2019-04-07)"
    ),
    "software-en-fr": TextSource(
        "messages and manuals of free software",
        "free licences, by source (GPL, LGPL, MPL, BSD, Apache, PSF, Vim, GFDL, CC0, CC BY, CC BY-SA)",
        "the projects and their volunteer translators: Debian, PHP, Python, Django, LibreOffice, GNU, GNOME, KDE, Git, "
        "Mozilla, MediaWiki, Godot and others",
    ),
    "canada-laws-en-fr": TextSource(
        "Acts and regulations of Canada",
        "Open Government Licence - Canada",
        "contains information licensed under the Open Government Licence - Canada (Department of Justice Canada)",
    ),
}


class TrainingRun(NamedTuple):
    """A run that went into a model, as its folder tells it."""

    name: str
    device: str
    seconds: float
    steps: int


def read_recipe_file(folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads((folder / "recipe.toml").read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise FileError(
            f"{folder} has no recipe that can be read", found=str(error), do="give a run's folder"
        ) from error


def training_run(folder: Path) -> TrainingRun:
    """Time and device of a run; its log says which."""
    run, device = read_json(folder / "run.json"), "an unknown device"
    if "seconds" not in run:
        raise FileError(f"{folder} does not say how long it was trained", found="no seconds in run.json")
    log = folder / "log.jsonl"
    for line in log.read_text(encoding="utf-8").splitlines() if log.is_file() else []:
        row = json.loads(line)
        device = str(row["device"]) if row.get("event") == "started" else device
    return TrainingRun(
        str(read_recipe_file(folder).get("name", folder.name)), device, run["seconds"], run.get("step", 0)
    )


def sources_of(recipe: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """The folder of each text, and how often it is read."""
    for source in recipe["data"]["train"]:
        file = source if isinstance(source, str) else source.get("file") or source["source"]
        yield str(file).split("/")[0], 1.0 if isinstance(source, str) else source.get("weight", 1.0)


def text_lines(recipe: dict[str, Any]) -> Iterator[str]:
    """A row a text; one that nobody has described is refused, since its terms would go unsaid."""
    yield from ("| text | read | licence | attribution |", "| --- | ---: | --- | --- |")
    for name, weight in sources_of(recipe):
        if name not in TEXTS:
            raise FileError(
                f"the terms of {name} are not known", found="no entry in tools/card.py", do="add it to TEXTS"
            )
        text = TEXTS[name]
        yield f"| {name}: {text.what} | x {weight:g} | {text.licence} | {text.attribution} |"


def energy_lines(runs: list[TrainingRun], watts: float | None) -> Iterator[str]:
    for run in runs:
        yield f"- {run.name}: {run.steps:,} updates in {duration(run.seconds)} on {run.device}"
    if watts is None:
        yield "\nWhat the machine drew was not measured, and no figure was given to estimate it by."
        return
    kwh = watts * sum(run.seconds for run in runs) / 3.6e6
    yield (
        f"\nAbout {kwh:.2g} kWh: an estimate, {watts:g} W (what the device may draw, not measured) times the time of "
        "these runs; the rest of the machine, trials and failed runs are not in it."
    )


def cost_lines(scores: dict[str, Any], before: dict[str, Any] | None) -> Iterator[str]:
    """What fewer bits cost, set by set."""
    if before is None:
        return
    known = {one["name"]: one for one in before["sets"]}
    yield from ("", "What 8 bits cost (BLEU of the same model in more bits, and the difference):", "")
    yield from ("| set | before | difference |", "| --- | ---: | ---: |")
    for one in scores["sets"]:
        if one["name"] in known:
            old = known[one["name"]]["bleu"]["value"]
            yield f"| {one['name']} | {old:.2f} | {one['bleu']['value'] - old:+.2f} |"


def card(
    folder: Path, scores: dict[str, Any], before: dict[str, Any] | None, runs: list[TrainingRun], watts: float | None
) -> str:
    """The card's text."""
    recipe, config, languages = read_recipe_file(folder), read_json(folder / "config.json"), languages_of(folder)
    if languages is None or list(languages) != scores["languages"]:
        raise FileError(f"the scores are not those of {folder}", found=f"{scores['languages']}, {languages}")
    weights = folder / "model.safetensors"
    source, target = (NAMES.get(code, code) for code in languages)
    return TEMPLATE.format(
        name="-".join(languages), source=source, target=target, parameters=parameters_in(weights),
        encoder=config["encoder_layers"], decoder=config["decoder_layers"], dim=config["dim"], heads=config["heads"],
        vocabulary=config["source_vocabulary"], kept=KEPT[config["version"]], size=weights.stat().st_size / 1e6,
        texts="\n".join(text_lines(recipe)), aside=recipe["data"].get("aside", 0.0),
        scores="\n".join([*table(scores), *cost_lines(scores, before)]), provenance=scores["provenance"],
        energy="\n".join(energy_lines(runs, watts)), longest=recipe["data"].get("longest", 128),
    )  # fmt: skip


TEMPLATE = """# {name}: {source} to {target}, for everyday use

A Transformer of {encoder} encoder and {decoder} decoder layers ({dim} dims, {heads} heads, {vocabulary:,} pieces of
words, {parameters:,} parameters). Its weights take {size:.1f} MB, kept in {kept}; they are computed with in float32.
It runs on one's own machine, without a network: nothing that is translated leaves it.

## What it was trained on

{texts}

A share of {aside:g} of each text, chosen by the sentences themselves, was kept aside and never trained on.

## Scores

{scores}

None of these sets was used to choose anything. {provenance}

## What it cannot do

It translates {source} into {target} and nothing else: other languages, dialects and code come out as they may. Texts
are read sentence by sentence, up to {longest} pieces at a time, so what a word refers to in an earlier sentence is
not known: pronouns, their gender, and who is tu or vous are guessed. Names, rare words and slang may be rendered
piece by piece. It knows debates, everyday sentences, software and laws best, as their writers wrote them, with their
turns of phrase and their prejudices. It can leave out or add words without a sign of it: what matters must be read by
somebody who knows both languages. It is no means to translate contracts, prescriptions or laws unread.

## How it was trained

`regard train recipe.toml --data DIR --out FOLDER`, with the recipe.toml beside this card.

{energy}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--evaluations", type=Path, required=True, help="JSON of benchmarks.translators")
    parser.add_argument("--before", type=Path, help="the same of the weights in more bits")
    parser.add_argument(
        "--run", type=Path, action="append", default=[], help="another run it rests on; may be repeated"
    )
    parser.add_argument("--watts", type=float, help="what the device of these runs draws")
    parser.add_argument("--device", help="what that device was, in words; by default what the log says")
    given = parser.parse_args()
    before = None if given.before is None else read_json(given.before)
    runs = [training_run(folder) for folder in (given.folder, *given.run)]
    runs = [run._replace(device=given.device or run.device) for run in runs]
    text = card(given.folder, read_json(given.evaluations), before, runs, given.watts)
    (given.folder / "README.md").write_text(text, encoding="utf-8")
    print(f"wrote {given.folder / 'README.md'}")


if __name__ == "__main__":
    main()

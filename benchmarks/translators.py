"""How good a translator is: `python -m benchmarks.translators MODEL --data DIR [--aside FOLDER/aside] --json FILE`.

Scores a model on FLORES-200 devtest, newstest2013 and what its training kept aside (everyday sentences, debates,
software, laws) with sacreBLEU and chrF, each with the interval that holds 95 % of bootstrap resamples. Beside them
stand a dictionary, learned here from some of the training text and used word for word, and OPUS-MT as published, which
was not run. Lines as people type them are counted, and which of il and elle "it" becomes. Nothing may be tuned on any
of these. The JSON is what a model's card is written from (`tools.card`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import regard
from benchmarks.report import markdown, provenance, write_section
from benchmarks.translator_checks import PRONOUNS, check, check_lines
from benchmarks.word_dictionary import learn_dictionary, translate
from regard.errors import FileError
from regard.interop.folders import languages_of, locate
from regard.tasks.translator import BaseTranslator
from regard.text.scores import Score, bleu, bleu_interval, chrf, chrf_interval
from regard.training.evaluate import read_data

DRAWS = 1000  # of the bootstrap
PAIRS = 10_000  # of each text that the dictionary is learned from
TESTS = {  # by name: files below --data, {0} the source language and {1} the target language
    "FLORES-200 devtest": ("flores200/devtest.{0}.xz", "flores200/devtest.{1}.xz"),
    "newstest2013": ("wmt-news/newstest2013.en-fr.{0}.xz", "wmt-news/newstest2013.en-fr.{1}.xz"),
}
TRAINING = ("tatoeba-en-fr/pairs.tsv.xz", "europarl-en-fr/pairs.tsv.xz")  # English first
PUBLISHED = {  # sacreBLEU, read in the places named; on Tatoeba other sentences of the same source
    ("en", "fr"): {
        "FLORES-200 devtest": [("opus-mt-tc-big-en-fr, benchmark_results.txt", 52.2, 72.5)],
        "newstest2013": [
            ("OPUS-MT opus-2020-02-26 en-fr, README", 33.2, None),
            ("opus-mt-tc-big-en-fr, benchmark_results.txt", 34.6, None),
        ],
        "tatoeba-en-fr": [("OPUS-MT opus-2020-02-26 en-fr, README, its own Tatoeba test", 50.5, 67.2)],
    }
}


@dataclass(frozen=True)
class TestSet:
    """Sentences and their translations, from files."""

    name: str
    sources: list[str]
    references: list[str]


@dataclass(frozen=True)
class MeasuredScore:
    """A score with half of the interval that holds 95 % of resamples, and how it was computed."""

    value: float
    interval: float
    signature: str


@dataclass(frozen=True)
class PublishedScore:
    """What others print of their model: not measured here."""

    model: str
    bleu: float
    chrf: float | None


@dataclass(frozen=True)
class SetScores:
    """One set: the model, the dictionary, and what is published."""

    name: str
    pairs: int
    bleu: MeasuredScore
    chrf: MeasuredScore
    dictionary: dict[str, float]
    published: list[PublishedScore] = field(default_factory=list)


def read_set(name: str, files: list[str], base: Path, limit: int | None) -> TestSet:
    pairs = read_data(files, base, limit).pairs()
    return TestSet(name, pairs.sources, pairs.references)


def read_sets(languages: tuple[str, str], data: Path, aside: Path | None, limit: int | None) -> list[TestSet]:
    """Those that are there: the public ones, then what training kept aside, by the name of its text."""
    sets = []
    for name, files in TESTS.items():
        paths = [file.format(*languages) for file in files]
        if all((data / path).is_file() for path in paths):
            sets.append(read_set(name, paths, data, limit))
    for path in sorted(aside.glob("*.tsv")) if aside is not None else []:
        sets.append(read_set(path.stem.partition("-")[2] or path.stem, [path.name], path.parent, limit))
    if not sets:
        raise FileError(
            f"no test sets lie in {data}", found="none of " + ", ".join(TESTS), do="give --data and --aside"
        )
    return sets


def training_pairs(languages: tuple[str, str], data: Path, sets: list[TestSet]) -> Iterator[tuple[str, str]]:
    """Some of the text that models learn from, without any sentence that is scored on."""
    scored = {text for one in sets for text in (*one.sources, *one.references)}
    for file in TRAINING:
        if not (data / file).is_file():
            continue
        pairs = read_data({"file": file, "columns": [0, 1]}, data, PAIRS).pairs()
        for english, french in zip(pairs.sources, pairs.references, strict=True):
            if english not in scored and french not in scored:
                yield (english, french) if languages[0] == "en" else (french, english)


def measured(score: Score, interval: float) -> MeasuredScore:
    return MeasuredScore(round(score.value, 2), round(interval, 2), f"{score.signature}|bs:{DRAWS}")


def score_set(one: TestSet, outputs: list[str], words: dict[str, str], languages: tuple[str, str]) -> SetScores:
    plain = [translate(source, words) for source in one.sources]
    published = PUBLISHED.get(languages, {}).get(one.name, [])
    return SetScores(
        one.name,
        len(one.sources),
        measured(bleu(outputs, one.references), bleu_interval(outputs, one.references, DRAWS)),
        measured(chrf(outputs, one.references), chrf_interval(outputs, one.references, DRAWS)),
        {"bleu": round(bleu(plain, one.references).value, 2), "chrf": round(chrf(plain, one.references).value, 2)},
        [PublishedScore(*row) for row in published],
    )


def score_model(
    name: str, data: Path, aside: Path | None, limit: int | None, beams: int, device: str, engine: str = "torch"
) -> dict[str, Any]:
    """All scores of a model, as the JSON holds them."""
    languages = languages_of(locate(name))
    if languages is None:
        raise FileError(f"{name} does not say its languages", found="no data.languages in recipe.toml", do="add them")
    task = regard.load(name, device, engine=engine)
    assert isinstance(task, BaseTranslator)
    sets = read_sets(languages, data, aside, limit)
    words = learn_dictionary(training_pairs(languages, data, sets))
    rows = []
    for one in sets:
        outputs = task.translate(one.sources, beams=beams)
        rows.append(score_set(one, outputs, words, languages))
        print(row_words(rows[-1]), flush=True)
    counted = check(task, languages, beams, PRONOUNS if limit is None else f"grammar:test:{limit}")
    return {"model": name, "languages": list(languages), **counted,
            "beams": beams, "limit": limit, "dictionary_words": len(words),
            "sets": [asdict(row) for row in rows], "provenance": provenance(device)}  # fmt: skip


def row_words(row: SetScores) -> str:
    return f"{row.name}: BLEU {row.bleu.value:.2f} ± {row.bleu.interval:.2f}, dictionary {row.dictionary['bleu']:.2f}"


def table(scores: dict[str, Any]) -> list[str]:
    """The scores as a table of Markdown, and below it what is published and how all was computed."""
    rows = [
        [one["name"], f"{one['pairs']:,}",
         *(f"{one[key]['value']:.2f} ± {one[key]['interval']:.2f}" for key in ("bleu", "chrf")),
         *(f"{one['dictionary'][key]:.2f}" for key in ("bleu", "chrf")),
         "; ".join(f"{other['bleu']:.1f}" for other in one["published"]) or "-"]
        for one in scores["sets"]
    ]  # fmt: skip
    columns = ("set", "pairs", "BLEU", "chrF", "a dictionary, BLEU", "chrF", "OPUS-MT, published BLEU")
    published = {f"{one['name']}: {other['model']}" for one in scores["sets"] for other in one["published"]}
    signatures = {one[key]["signature"] for one in scores["sets"] for key in ("bleu", "chrf")}
    return [
        *markdown(columns, rows), "",
        f"Four numbers of ours are measured ({scores['beams']} beams; ± holds 95 % of {DRAWS:,} resamples); the last "
        "column is as published, not measured here" + (f": {'; '.join(sorted(published))}." if published else "."),
        f"sacreBLEU: {', '.join(f'`{one}`' for one in sorted(signatures))}.",
        *(part for line in check_lines(scores) for part in ("", line)),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder, or a model that ships")
    parser.add_argument("--data", type=Path, required=True, help="where flores200, wmt-news and the training text lie")
    parser.add_argument("--aside", type=Path, help="what the run kept aside: FOLDER/aside")
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--limit", type=int, help="only the first so many pairs of each set")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--engine", default="torch", help="ctranslate2 says the same in float32, sooner on a CPU")
    parser.add_argument("--json", type=Path, help="where the scores go")
    parser.add_argument("--write", action="store_true", help="write the table into RESULTS.md")
    given = parser.parse_args()
    scores = score_model(given.model, given.data, given.aside, given.limit, given.beams, given.device, given.engine)
    lines = table(scores)
    print("\n".join(lines))
    if given.json is not None:
        given.json.write_text(json.dumps(scores, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    if given.write:
        title = f"Translation, {' to '.join(scores['languages'])}"
        write_section(title, [*lines, "", scores["provenance"]])


if __name__ == "__main__":
    main()

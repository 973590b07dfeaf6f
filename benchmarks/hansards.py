"""Word alignment on the Canadian Hansards: `python -m benchmarks.hansards --data DIR --out FOLDER`.

Trains a translator of each direction on 310,661 pairs (minutes on a GPU), reads their attention on sentences that were
aligned by hand, and prints the alignment error rate for the mean of all heads, the best head, and Shift-Att. Where to
read is chosen on 37 other sentences, and besides, without any links, by agreement of both directions. A folder that
holds trained models is only read.

With `--guided` one head of either model learns links between words that are learned from the same pairs (the option
training.guided_alignment), and is read; no link made by hand is used on the way. Beside it stand the links that those
learners find by themselves, and eflomal's where it is installed (a peer under the GPL, no dependency): both align the
sentences to score together with the training pairs, which the models never see.
"""

from __future__ import annotations

import argparse
import importlib
import lzma
import re
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

import regard
from regard.lens.alignment.bitext import Bitext
from regard.lens.alignment.choice import choose_by_gold, error_rates
from regard.lens.alignment.decision import ScoredReading, align, comparison, decide_both
from regard.lens.alignment.stored_choice import read_choice
from regard.lens.alignment.stream import Aligner, stream
from regard.lens.alignment.symmetrise import symmetrised
from regard.tasks import Translator
from regard.text.scores.alignment_error import AlignmentScore, alignment_score, parse_pharaoh
from regard.text.word_hmm import agreed_links

DIRECTIONS = ("fr-en", "en-fr")
GUIDED = "-guided"  # behind the name of a model that was trained so
PUBLISHED = (  # on 447 sentences, of which 112 are here; most train on 1.1 million pairs
    ("fast_align, both directions joined", "10.5"),
    ("eflomal", "8.2"),
    ("MGIZA, both directions joined", "5.9"),
    ("a Transformer, mean of all heads", "16-17"),
    ("Shift-Att, best layer, both directions joined", "6.6"),
    ("awesome-align, fine-tuned", "4.1"),
)
ELIDED = {"l": "le", "d": "de", "qu": "que", "j": "je", "n": "ne", "s": "se", "c": "ce", "m": "me", "t": "te"}
JOINED = {"du": "de le", "des": "de les", "au": "a le", "aux": "a les"}
TOKEN = re.compile(r"(?:mr|mrs|ms|dr|m|st|hon)\.|(?:l|d|qu|j|n|s|c|m|t)'(?=\w)|aujourd'hui|'s\b|n't\b|\w+|[^\w\s]")
SETTINGS = (
    "data.longest=96", "data.held=1000", "tokenizer.vocabulary=10000", "model.preset=small",
    "model.encoder_layers=4", "model.decoder_layers=4", "model.heads=8", "training.batch_tokens=16384",
    "training.rate=1e-3", "training.warmup=800", "training.average=moving", "decoding.beams=4",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder hansards-en-fr")
    parser.add_argument("--out", type=Path, required=True, help="where the models go, or are")
    parser.add_argument("--steps", type=int, default=6000, help="updates of each model")
    parser.add_argument("--set", action="append", default=[], help="change a setting, such as model.dropout=0.2")
    parser.add_argument("--guided", action="store_true", help="let one head learn links, and read it")
    parser.add_argument("--only", choices=DIRECTIONS, help="with --guided: one direction, which takes half as long")
    parser.add_argument("--weight", type=float, default=0.3, help="training.guided_alignment of that")
    parser.add_argument("--pairs", type=int, help="train on the first so many only: a rehearsal")
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    settings = [
        *SETTINGS,
        f"training.steps={given.steps}",
        f"training.validate_every={max(given.steps // 4, 1)}",
        *given.set,
    ]
    write_pairs(given.data, given.out, given.pairs)
    if given.guided:
        directions = [given.only] if given.only else list(DIRECTIONS)
        settings.append(f"training.guided_alignment={given.weight}")
        train_all(given.out, directions, GUIDED, settings, given.device)
        report_guided(given.data, given.out, directions, given.device)
    else:
        train_all(given.out, DIRECTIONS, "", settings, given.device)
        report(given.data, given.out, given.device)


def train_all(out: Path, directions: Sequence[str], suffix: str, settings: list[str], device: str) -> None:
    with get_context("spawn").Pool(len(directions)) as side_by_side:  # each waits for its GPU most of the time
        side_by_side.starmap(train, [(out, direction, suffix, settings, device) for direction in directions])


def train(out: Path, direction: str, suffix: str, settings: list[str], device: str) -> None:
    """One direction; a finished model is left as it is."""
    source, target = direction.split("-")
    files = [str(out / f"train.{source}"), str(out / f"train.{target}")]
    found = regard.train(files, out / f"{direction}{suffix}", settings=settings, device=device)
    print(f"{direction}{suffix}: {found.status} after {found.step:,} updates, {found.seconds:.0f} s")


def report_guided(data: Path, out: Path, directions: Sequence[str], device: str) -> None:
    """The guided head of each direction, read where the folder says, and both joined; then its peers."""
    test = gold_texts(data, "align_sample")
    aligners = {direction: guided_aligner(out / f"{direction}{GUIDED}", device) for direction in directions}
    rows = []
    for direction, aligner in aligners.items():
        texts = test if direction == DIRECTIONS[0] else test.swapped()
        rows.append(ScoredReading(direction, aligner.reading, alignment_score(aligner.links(texts), texts.gold)))
    if len(aligners) == len(DIRECTIONS):
        there, back = aligners.values()
        rows += [
            ScoredReading(
                f"both, {way}", there.reading, alignment_score(list(stream(test, there, back, way)), test.gold)
            )
            for way in ("intersection", "grow-diag")
        ]
    console = Console(width=120)
    console.print(table(f"A guided head, scored on {len(test.gold)} sentences", rows))
    print("links learned from the same pairs and sentences by two hidden Markov models that agree:", flush=True)
    print(", ".join(shares(learned_score(out, test))))
    for way, rate in eflomal_scores(out, test):
        print(f"eflomal on the same pairs and sentences, {way}: {', '.join(shares(rate))}")


def guided_aligner(folder: Path, device: str) -> Aligner:
    model = translator(folder, device)
    choice = read_choice(folder, model.model)
    assert choice is not None
    return Aligner(model, choice.reading)


def with_training_text(out: Path, test: Bitext) -> tuple[list[str], list[str]]:
    """Both sides of the training text, and the sentences to score behind it."""
    french, english = ([*opened(out / f"train.{side}")] for side in ("fr", "en"))
    return french + list(test.sources), english + list(test.targets)


def learned_score(out: Path, test: Bitext) -> AlignmentScore:
    """What the heads learn from."""
    french, english = with_training_text(out, test)
    links = agreed_links([(one.split(), other.split()) for one, other in zip(french, english, strict=True)])
    return alignment_score(links[-len(test.gold) :], test.gold)


def eflomal_scores(out: Path, test: Bitext) -> Iterator[tuple[str, AlignmentScore]]:
    """Both directions joined, where it is installed."""
    try:
        eflomal = importlib.import_module("eflomal")
    except ImportError:
        print("eflomal is not installed: not compared")
        return
    whole = with_training_text(out, test)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        eflomal.Aligner().align(*whole, links_filename_fwd=str(place / "fwd"), links_filename_rev=str(place / "rev"))
        ways = [[sorted(one.sure) for one in parse_pharaoh(opened(place / name))] for name in ("fwd", "rev")]
    there, back = (way[-len(test.gold) :] for way in ways)
    for name in ("intersection", "grow-diag"):
        links = [symmetrised(one, other, name) for one, other in zip(there, back, strict=True)]
        yield name, alignment_score(links, test.gold)


def report(data: Path, out: Path, device: str) -> None:
    """Both models and both together, the reading chosen on the 37 sentences."""
    dev, test = (gold_texts(data, name) for name in ("align_dev", "align_sample"))
    there, back = (translator(out / direction, device) for direction in DIRECTIONS)
    console = Console(width=120)
    chosen = []
    for direction, model, tuned, scored in (
        ("French to English", there, dev, test), ("English to French", back, dev.swapped(), test.swapped()),
    ):  # fmt: skip
        near, far = align(model, tuned), align(model, scored)
        choice = choose_by_gold(near, tuned.gold)
        chosen.append(Aligner(model, choice.reading))
        lines = comparison(choice.reading, error_rates(far, scored.gold), error_rates(near, tuned.gold))
        console.print(table(f"{direction}: chosen on {len(dev.gold)} sentences, scored on {len(test.gold)}", lines))
    rows = [
        ScoredReading(f"both, {way}", chosen[0].reading, alignment_score(list(stream(test, *chosen, way)), test.gold))
        for way in ("intersection", "grow-diag")
    ]
    choices = decide_both(there, back, some_pairs(out))
    agreed = [Aligner(model, one.reading) for model, one in zip((there, back), choices, strict=True)]
    found = alignment_score(list(stream(test, *agreed, "grow-diag")), test.gold)
    rows.append(ScoredReading("both, grow-diag, chosen without links", agreed[0].reading, found))
    console.print(table("Both directions joined", rows))
    console.print("published, on all 447 sentences: " + "; ".join(f"{name} {rate}" for name, rate in PUBLISHED))


def table(title: str, lines: list[ScoredReading]) -> Table:
    made = Table(title=title, title_justify="left", box=None, header_style="dim")
    for number, name in enumerate(("way", "read at", "error rate, %", "sure only", "precision", "recall")):
        made.add_column(name, justify="right" if number > 1 else "left")
    for line in lines:
        made.add_row(line.name, str(line.reading), *shares(line.rate))
    return made


def shares(rate: AlignmentScore) -> list[str]:
    return [f"{100 * share:.1f}" for share in (rate.aer, rate.sure_only, rate.precision, rate.recall)]


def translator(folder: Path, device: str) -> Translator:
    task = regard.load(folder, device)
    assert isinstance(task, Translator)
    return task


def some_pairs(out: Path, count: int = 500) -> Bitext:
    """Some pairs of the training text, whose links nobody made."""
    sides = [list(islice(opened(out / f"train.{side}"), 0, 20 * count, 20)) for side in ("fr", "en")]
    return Bitext("training text", *sides)


def opened(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def gold_texts(data: Path, name: str) -> Bitext:
    """Sentences aligned by hand, French before English; words as they are, without accents and capitals."""
    french, english, links = (read(data / f"{name}.{side}.xz") for side in ("fr", "en", "a"))
    return Bitext(name, [*map(bare, french)], [*map(bare, english)], str.split, parse_pharaoh(links, name))


def write_pairs(data: Path, out: Path, most: int | None = None) -> None:
    """The training text with words apart as in the gold: French elisions and contractions written out."""
    out.mkdir(parents=True, exist_ok=True)
    for side, words in (("en", english_words), ("fr", french_words)):
        path = out / f"train.{side}"
        if not path.exists():
            lines = read(data / f"train.{side}.xz")[:most]
            path.write_text("".join(f"{' '.join(words(line))}\n" for line in lines), encoding="utf-8")


def read(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def bare(text: str) -> str:
    """Lower case, no accents: as many words as before."""
    apart = unicodedata.normalize("NFD", text.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def english_words(line: str) -> list[str]:
    return TOKEN.findall(bare(line))


def french_words(line: str) -> list[str]:
    words = [ELIDED.get(word[:-1], word) if word.endswith("'") else word for word in TOKEN.findall(bare(line))]
    return " ".join(JOINED.get(word, word) for word in words).split()


if __name__ == "__main__":
    main()

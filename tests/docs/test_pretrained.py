"""What README and card say of the model that ships is what was measured of these very weights."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from regard.cli import app
from regard.interop.folders import shipped

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CARD = (shipped()["grammar"] / "README.md").read_text(encoding="utf-8")


def measured(name: str) -> dict[str, Any]:
    """What was measured of the model that ships under a name."""
    kept: dict[str, Any] = json.loads((shipped()[name] / "run.json").read_text(encoding="utf-8"))
    return kept


def rows(text: str) -> dict[str, list[float]]:
    """The numbers of each row of the tables, by its first cell."""
    found = {}
    for line in re.findall(r"^\| (.+) \|$", text, flags=re.MULTILINE):
        name, *cells = [cell.strip() for cell in line.split(" | ")]
        found[name] = [float(number) for cell in cells for number in re.findall(r"-?\d+\.\d+", cell)]
    return found


def test_the_readme_shows_what_the_head_looks_at() -> None:
    command, shown = re.findall(
        r"^    (regard look grammar [^\n]*)$\n\n```text\n(.*?)```", README, re.MULTILINE | re.DOTALL
    )[0]
    found = CliRunner().invoke(app, shlex.split(command)[1:])
    assert found.exit_code == 0, found.output
    printed = [line.rstrip() for line in found.stdout.splitlines()]
    assert [line for line in shown.splitlines() if line not in printed] == []


@pytest.mark.parametrize("name", shipped())
def test_what_ships_names_no_place_on_a_machine(name: str) -> None:
    for path in shipped()[name].iterdir():
        if path.suffix != ".safetensors":
            assert not re.search(r'"/(tmp|home|root|work|mnt|var)/', path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize("name", ["grammar", "grammar-rnn"])
def test_the_card_has_the_scores_that_were_measured(name: str) -> None:
    names = {"BLEU": "bleu", "chrF": "chrf", "il or elle right, % (chance 50)": "pronoun_agreement",
             "alignment error rate, %": "alignment_error_rate"}  # fmt: skip
    card, scores = rows((shipped()[name] / "README.md").read_text(encoding="utf-8")), measured(name)["scores"]
    for label, score in names.items():
        assert card[label] == [scores[one][score] for one in ("test", "unseen", "long")]


def test_readme_and_card_have_the_silenced_heads_that_were_measured() -> None:
    none, these, *random = measured("grammar")["heads"]["shown"]
    ours, card = rows(README), rows(CARD)
    ((site, head),) = [name.rsplit(":", 1) for name in these["heads"]]
    assert ours["no head"] == pytest.approx([none["agreement"], none["bleu"]], abs=0.051)  # as printed
    assert ours[f"{site}, head {head}"] == pytest.approx([these["agreement"], these["bleu"]], abs=0.051)
    spread = [edge(one[key] for one in random) for key in ("agreement", "bleu") for edge in (min, max)]
    assert ours["one head at random, five draws"] == pytest.approx(spread, abs=0.051)
    for name, line in zip(["no head", "these heads"], (none, these), strict=True):
        assert card[name] == pytest.approx([line["agreement"], line["bleu"]], abs=0.051)


@pytest.mark.parametrize(("name", "given", "said"), [
    ("en-fr", "The cat sleeps.", "Le chat dort."), ("fr-en", "Le chat dort.", "The cat is sleeping."),
])  # fmt: skip
def test_a_general_translator_answers_by_its_languages(name: str, given: str, said: str) -> None:
    source, target = name.split("-")
    found = CliRunner().invoke(app, ["translate", "--from", source, "--to", target, "--device", "cpu"], input=given)
    assert found.exit_code == 0, found.output
    assert found.stdout.strip() == said


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_a_general_translator_fits_its_share_of_the_wheel(name: str) -> None:
    assert sum(path.stat().st_size for path in shipped()[name].iterdir()) <= 16_000_000


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_the_cards_of_the_translators_say_what_the_readme_says(name: str) -> None:
    text = (shipped()[name] / "README.md").read_text(encoding="utf-8")
    card = rows(text.partition("What 8 bits cost")[0])
    line = rows(README)[name]
    assert line == [card[test][0] for test in ("FLORES-200 devtest", "newstest2013", "tatoeba-en-fr")]

"""What the heads of a translator do, where the truth is known: the model of `make demo`, trained once."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import regard
from regard.cli import app
from regard.text.grammar import sentences
from regard.training.evaluate import evaluate, read_data
from regard.training.evaluate.ablate import Ablation, ablate_pronouns

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
RUNNER = CliRunner()


def test_it_has_learned_the_language(grammar_model: Path) -> None:
    found = evaluate(regard.load(grammar_model, "cpu"), read_data(["grammar:unseen:300"]), beams=1)
    assert found["bleu"] > 95
    assert found["pronoun_agreement"] > 90 > 70 > found.baselines["pronoun_agreement"]


@pytest.fixture(scope="module")
def ablation(grammar_model: Path) -> Ablation:
    task = regard.load(grammar_model, "cpu")
    assert isinstance(task, regard.Translator)
    return ablate_pronouns(task, sentences("valid", 800), sentences("test", 1000))


def test_some_heads_let_it_say_il_or_elle_and_no_others(ablation: Ablation) -> None:
    before, without, *others = (line.measured for line in ablation.shown)
    assert before.agreement > 90
    assert without.agreement < 65
    assert before.bleu - without.bleu < 2
    assert len(others) == 5
    for one in others:
        assert not (one.agreement < 65 and before.bleu - one.bleu < 2)


def test_the_heads_were_found_on_other_sentences(ablation: Ablation) -> None:
    assert ablation.heads == ablation.shown[1].heads
    assert ablation.heads in [line.heads for line in ablation.found]
    seen = {one.source for one in sentences("valid", 800)}
    assert not seen & {one.source for one in sentences("test", 1000)}
    assert all(len(line.heads) == len(ablation.heads) for line in ablation.shown[1:])


def test_its_attention_aligns_words(grammar_model: Path) -> None:
    found = RUNNER.invoke(app, ["align", str(grammar_model), "grammar:test:300", "--json", "--device", "cpu"])
    assert found.exit_code == 0, found.output
    *lines, scores = map(json.loads, found.stdout.splitlines())
    chosen = next(one for one in scores["scores"] if one["name"] == "chosen")
    assert len(lines) == chosen["sentences"] == 300
    assert chosen["aer"] < 0.10
    assert chosen["aer"] < chosen["sure_only"] < 0.20


def shown_commands() -> list[str]:
    """The README's commands on the model of the demo."""
    return re.findall(r"^    ((?:echo .* \| )?regard .*demo/grammar.*)$", README, flags=re.MULTILINE)


@pytest.mark.parametrize("line", [line for line in shown_commands() if "regard ablate" not in line])
def test_the_readme_s_commands_run(
    line: str, grammar_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lines.txt").write_text("The cat sleeps.\nThe dog sees the house.\n")
    said, _, command = line.rpartition(" | ")
    words = [word.replace("demo/grammar", str(grammar_model)) for word in shlex.split(command)[1:]]
    words = [word.replace("grammar:test", "grammar:test:20") for word in words]
    found = RUNNER.invoke(app, words, input="".join(f"{word}\n" for word in shlex.split(said)[1:]) or None)
    assert found.exit_code == 0, found.output
    assert found.stdout or found.stderr
    for name in re.findall(r"\bcat\.\w+", command):
        assert Path(name).stat().st_size > 0
    monkeypatch.chdir("/")


def test_the_readme_shows_commands_on_the_demo() -> None:
    assert {shlex.split(line.rpartition(" | ")[2])[1] for line in shown_commands()} == {
        "look", "record", "heads", "align", "translate", "ablate",
    }  # fmt: skip

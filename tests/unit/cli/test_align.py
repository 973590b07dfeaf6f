"""`regard align`, and `regard translate --alignments`, as a person meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from regard.cli import app
from regard.models import TransformerConfig, build, save_model
from regard.text import grammar
from regard.text.bpe import train_tokenizer

SENTENCES = grammar.sentences("train", 10)
PAIRS = [(one.source, one.target) for one in SENTENCES]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two small translators that know nothing."""
    root = tmp_path_factory.mktemp("models")
    tokenizer = train_tokenizer([text for pair in PAIRS for text in pair], 320)
    for seed, name in enumerate(("there", "back")):
        torch.manual_seed(seed)
        config = TransformerConfig(
            source_vocabulary=tokenizer.size, target_vocabulary=tokenizer.size, dim=16, heads=2, feedforward=16,
            encoder_layers=1, decoder_layers=1, pad=0, start=1, end=2,
        )  # fmt: skip
        save_model(build(config), root / name)
        tokenizer.save(root / name / "tokenizer.json")
    (root / "pairs.tsv").write_text("".join(f"{one}\t{two}\n" for one, two in PAIRS), encoding="utf-8")
    for place, name in enumerate(("pairs.en", "pairs.fr")):
        (root / name).write_text("".join(f"{pair[place]}\n" for pair in PAIRS), encoding="utf-8")
    (root / "gold.a").write_text("0-0 1?1\n" * len(PAIRS), encoding="utf-8")
    return {path.name: str(path) for path in root.iterdir()}


def run(folders: dict[str, str], *arguments: str, given: str | None = None) -> Result:
    line = [folders.get(argument, argument) for argument in arguments]
    return CliRunner().invoke(app, [*line, "--device", "cpu"], input=given)


def test_lines_of_links_in_order(folders: dict[str, str]) -> None:
    result = run(folders, "align", "there", "pairs.tsv")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == len(PAIRS)
    for line, (source, target) in zip(lines, PAIRS, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert sorted(j for _, j in links) == list(range(len(target.split())))
        assert all(i < len(source.split()) for i, _ in links)
    assert "(agreement of the map with itself on 10 pairs" in result.stderr
    assert run(folders, "align", "there", "pairs.en", "pairs.fr").stdout == result.stdout
    given = "".join(f"{one}\t{two}\n" for one, two in PAIRS)
    assert run(folders, "align", "there", given=given).stdout == result.stdout
    assert run(folders, "align", "there", "pairs.tsv", "--limit", "2", "--batch", "1").stdout.splitlines() == [
        *run(folders, "align", "there", given="".join(given.splitlines(keepends=True)[:2])).stdout.splitlines()
    ]


def test_where_to_read_can_be_said(folders: dict[str, str]) -> None:
    how = ("align", "there", "--site", "decoder.0.cross", "--head", "0+1", "--row", "input")
    result = run(folders, *how, given=f"{PAIRS[0][0]}\t{PAIRS[0][1]}\n\n")
    assert "reads decoder.0.cross:0+1:input (as asked)" in result.stderr
    assert result.stdout.splitlines()[1] == ""
    assert run(folders, *how[:4], "--head", "mean", "--row", "input", given="a\tb\n").exit_code == 0
    assert "there is no site" in run(folders, "align", "there", "pairs.tsv", "--site", "x").stderr
    assert "no place to read" in run(folders, "align", "there", "pairs.tsv", "--head", "two").stderr


def test_scores_beside_others(folders: dict[str, str]) -> None:
    result = run(folders, "align", "there", "pairs.tsv", "--gold", "gold.a")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == len(PAIRS)
    for name in ("error rate", "sure only", "chosen", "best head, picked here", "best Shift-Att", "mean of all heads"):
        assert name in result.stderr
    tuned = run(
        folders, "align", "there", "pairs.tsv", "--gold", "gold.a", "--dev", "pairs.en", "--dev", "pairs.fr",
        "--dev-gold", "gold.a",
    )  # fmt: skip
    assert "lowest error rate on 10 sentences whose links are known" in tuned.stderr
    assert "picked here" not in tuned.stderr


def test_scores_as_json(folders: dict[str, str]) -> None:
    result = run(folders, "align", "there", "grammar:test:4", "--json")
    *pairs, scores = [json.loads(line) for line in result.stdout.splitlines()]
    assert [pair["source"] for pair in pairs] == [list(one.source_words) for one in grammar.sentences("test", 4)]
    assert [len(pair["alignment"]) for pair in pairs] == [len(pair["target"]) for pair in pairs]
    assert [one["name"] for one in scores["scores"]] == ["chosen", "best head", "best Shift-Att", "mean of all heads"]
    assert scores["scores"][0]["reading"] == scores["reading"]
    assert "300 sentences" in scores["chosen_by"]


def test_both_directions(folders: dict[str, str]) -> None:
    how = ("align", "there", "pairs.tsv", "--reverse", "back")
    alone, joined = run(folders, *how), run(folders, *how, "--symmetrise", "intersection", "--gold", "gold.a")
    assert "agreement of both directions on 10 pairs" in alone.stderr
    assert "reads the reverse at decoder.0.cross" in alone.stderr
    assert "both directions" in joined.stderr
    for one, two in zip(alone.stdout.splitlines(), joined.stdout.splitlines(), strict=True):
        assert set(two.split()) <= set(one.split())


def test_a_choice_is_kept_and_used(folders: dict[str, str]) -> None:
    kept = Path(folders["back"]) / "alignment.json"
    result = run(
        folders, "align", "back", "pairs.tsv", "--dev", "pairs.tsv", "--dev-gold", "gold.a", "--save",
    )  # fmt: skip
    assert f"wrote {kept}" in result.stderr
    reading = result.stderr.split("reads ")[1].split(" ")[0]
    again = run(folders, "align", "back", "pairs.tsv")
    assert f"reads {reading} (kept in alignment.json: lowest error rate on 10 sentences" in again.stderr
    assert again.stdout == result.stdout
    said = run(folders, "translate", "back", "--alignments", "--max-length", "5", given="A cat\n")
    assert said.stderr.count("alignments are read") == 0
    kept.unlink()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pairs.tsv", "--symmetrise", "both"), "there is no way to join two alignments 'both'"),
        (("pairs.tsv", "--symmetrise", "union"), "--reverse MODEL"),
        (("pairs.tsv", "--dev-gold", "gold.a"), "--dev FILE"),
        (("pairs.tsv", "--words", "all"), "there is no way to split words 'all'"),
        (("pairs.en",), "wrong number of columns"),
        (("nothing.tsv",), "nothing.tsv"),
    ],
)
def test_mistakes_are_told(arguments: tuple[str, ...], message: str, folders: dict[str, str]) -> None:
    result = run(folders, "align", "there", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_translations_with_links(folders: dict[str, str]) -> None:
    how = ("translate", "there", "--max-length", "6", "--nbest", "2", "--beams", "2")
    given = f"{PAIRS[0][0]}\n\n{PAIRS[1][0]}\n"
    plain, linked = run(folders, *how, given=given), run(folders, *how, "--alignments", given=given)
    assert linked.exit_code == 0, linked.stderr
    assert linked.stderr.count("alignments are read at decoder.0.cross") == 1
    objects = [
        json.loads(line) for line in run(folders, *how, "--alignments", "--json", given=given).stdout.splitlines()
    ]
    for before, line, found in zip(plain.stdout.split("\n"), linked.stdout.split("\n"), objects, strict=False):
        cells = line.split("\t")
        assert "\t".join(cells[::2]) == before
        assert found["alignment"] == found["nbest"][0]["alignment"]
        if before:
            written = [" ".join(f"{i}-{j}" for i, j in one["alignment"]) for one in found["nbest"]]
            assert cells[1::2] == written
    assert linked.stdout.split("\n")[1] == ""
    assert "alignment" not in json.loads(run(folders, *how, "--json", given="A cat\n").stdout)

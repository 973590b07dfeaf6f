"""Pairs of texts read line by line, with their gold links."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.errors import InputError, UnknownNameError
from regard.lens.alignment.bitext import Bitext, read_bitext, tabbed
from regard.text import grammar
from regard.text.scores import Gold


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_every_line_counts(tmp_path: Path) -> None:
    """A pair without words stays where it is: what is made of the pairs has as many lines as they."""
    file = write(tmp_path / "pairs.tsv", "a cat\tun chat", "", "it\tle")
    assert read_bitext([file]).sources == ["a cat", "", "it"]
    sides = [write(tmp_path / "a.en", "a cat", "", "it"), write(tmp_path / "a.fr", "un chat", "", "le")]
    assert read_bitext(sides, limit=2) == Bitext(" and ".join(sides), ["a cat", ""], ["un chat", ""])
    assert list(tabbed(["a\tb", "", "\t"])) == [("a", "b"), ("", ""), ("", "")]


def test_rows_that_are_no_pairs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pairs\.tsv:2: wrong number of columns"):
        read_bitext([write(tmp_path / "pairs.tsv", "a\tb", "alone")])
    with pytest.raises(InputError, match="line 2 is no pair"):
        list(tabbed(["a\tb", "alone"]))
    with pytest.raises(UnknownNameError, match="way to split words 'spaces'"):
        read_bitext(["x.tsv"], words="spaces")
    with pytest.raises(InputError, match="both sides already"):
        read_bitext(["grammar:test", "x.fr"])


def test_gold_links_must_fit(tmp_path: Path) -> None:
    pairs = write(tmp_path / "pairs.tsv", "a cat\tun chat", "it\tle")
    found = read_bitext([pairs], write(tmp_path / "gold.a", "0-0 1?1", "0-0"))
    assert found.gold[0] == Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    assert found.swapped().sources == found.targets
    assert found.without_gold().gold == []
    with pytest.raises(InputError, match="a line of links for each pair"):
        read_bitext([pairs], write(tmp_path / "short.a", "0-0"))
    with pytest.raises(InputError, match=r"wide\.a, line 2: a link to a word that is not there"):
        read_bitext([pairs], write(tmp_path / "wide.a", "0-0", "1-1"))


def test_grammar_sets_bring_their_links() -> None:
    found = read_bitext(["grammar:test:5"], limit=3)
    sentences = grammar.sentences("test", 3)
    assert found.gold == [Gold(one.sure, one.possible) for one in sentences]
    assert found.words(found.sources[0]) == sentences[0].source_words
    assert read_bitext(["grammar:test:2"]).sources == [one.source for one in sentences[:2]]
    assert read_bitext(["grammar:test:2:7"]).sources == [one.source for one in grammar.sentences("test", 2, seed=7)]
    assert read_bitext(["grammar:test:2"], words="space").gold == []  # they count other words

"""Links between words become links between tokens, each with the row that it was made for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.errors import FileError, InputError
from regard.text import grammar
from regard.text.bpe import source_of, target_of
from regard.training.data.prepare import Preparation
from regard.training.data.prepared_text import PreparedText
from regard.training.recipe.recipe import read_recipe
from tests.prepare_cases import prepare, texts
from tests.training_cases import EventRecorder, numbers, write_rows

GUIDED = {"guided_alignment": 0.5}


def write_links(path: Path, rows: list[tuple[str, str]]) -> None:
    """Word by word, but the last of each pair has none."""
    path.write_text("".join(" ".join(f"{n}-{n}" for n in range(len(a.split()) - 1)) + "\n" for a, _ in rows))


def linked_words(prepared: PreparedText, row: int) -> set[tuple[str, str]]:
    """The pieces that a row links, both as they read."""
    return {link for link in links_of(prepared, row) if link[0]}


def unlinked_pieces(prepared: PreparedText, row: int) -> set[str]:
    """Those of the target that look at the end of the source, which reads as nothing."""
    return {b for a, b in links_of(prepared, row) if not a}


def links_of(prepared: PreparedText, row: int) -> set[tuple[str, str]]:
    assert prepared.links is not None
    source, target = prepared.columns["source"], prepared.columns["target"]
    pairs = prepared.links.rows(np.array([row]))[0].reshape(-1, 2)
    ids = [store.ids[store.starts[row] : store.starts[row + 1]].tolist() for store in (source, target)]
    assert all(s < len(ids[0]) and t < len(ids[1]) - 1 for t, s in pairs)
    sides = source_of(prepared.tokenizer), target_of(prepared.tokenizer)
    return {(sides[0].decode([ids[0][s]]), sides[1].decode([ids[1][t]])) for t, s in pairs}


@pytest.mark.parametrize("joint", [True, False])
def test_every_piece_of_a_word_is_linked_to_every_piece_of_its_other(joint: bool, tmp_path: Path) -> None:
    rows = numbers(60)
    write_rows(tmp_path / "a.tsv", rows)
    write_links(tmp_path / "a.links", rows)
    data = {"train": "a.tsv", "held": 5, "links": ["a.links"]}
    prepared = prepare(tmp_path, data=data, training=GUIDED, tokenizer={"vocabulary": 300, "joint": joint})
    for row, (english, french) in enumerate(zip(texts(prepared, "source"), texts(prepared, "target"), strict=True)):
        words = list(zip(english.split(), french.split(), strict=True))
        found = linked_words(prepared, row)
        for a, b in found:
            assert any(a.strip() in one and b.strip() in other for one, other in words[:-1])
        assert len({a for a, _ in found}) >= len({one for one, _ in words[:-1]})
        assert all(b.strip() in words[-1][1] for b in unlinked_pieces(prepared, row))  # the last word has no link
        assert bool(unlinked_pieces(prepared, row)) == (len(words) > 1)


def test_links_stay_with_their_rows_when_others_are_dropped(tmp_path: Path) -> None:
    """A line of links for each line of the file, whatever becomes of it."""
    rows = [("zero", "zéro"), ("", "rien"), ("one two", "un deux"), ("long " * 60, "long " * 60), ("three", "trois")]
    write_rows(tmp_path / "a.tsv", [*rows, *numbers(30, seed=3)])
    (tmp_path / "a.links").write_text("0-0\n9-9\n0-1\n\n0-0\n" + "\n" * 30)
    write_rows(tmp_path / "v.tsv", numbers(5, seed=9))
    data = {"train": "a.tsv", "valid": "v.tsv", "links": ["a.links"], "longest": 40}
    prepared = prepare(tmp_path, data=data, training=GUIDED)
    assert texts(prepared, "source")[:3] == ["zero", "one two", "three"]
    assert {letter for a, _ in linked_words(prepared, 0) for letter in a} == set("zero")
    assert {letter for a, _ in linked_words(prepared, 2) for letter in a} == set("three")
    assert {a.strip() for a, _ in linked_words(prepared, 1)} <= {"one", "o", "n", "e", "on", "ne"}
    assert all("n" not in b for _, b in linked_words(prepared, 1))  # of deux, not of un
    assert set("".join(unlinked_pieces(prepared, 1)).strip()) == set("un")
    assert links_of(prepared, 5) == set()  # nothing is known of it, not even that there are no links


def test_a_link_that_is_only_possible_says_neither(tmp_path: Path) -> None:
    """Its word is taught nothing: neither that link, nor that it has none."""
    write_rows(tmp_path / "a.tsv", [("ab cd", "xy zw"), *numbers(30, seed=3)])
    (tmp_path / "a.links").write_text("0-0 1?1\n" + "\n" * 30)
    write_rows(tmp_path / "v.tsv", numbers(5, seed=9))
    prepared = prepare(tmp_path, data={"train": "a.tsv", "valid": "v.tsv", "links": ["a.links"]}, training=GUIDED)
    assert {letter for _, b in links_of(prepared, 0) for letter in b.strip()} <= set("xy")


def test_the_built_in_language_knows_its_links(tmp_path: Path) -> None:
    data = {"train": "grammar:train:60:1", "valid": "grammar:valid:10"}
    prepared = prepare(tmp_path, data=data, training=GUIDED, tokenizer={"vocabulary": 2000})
    sentences = grammar.read_name("grammar:train:60:1").sentences()
    assert texts(prepared, "source") == [one.source for one in sentences]
    for row, one in enumerate(sentences[:20]):
        words = [(grammar.words(one.source)[i], grammar.words(one.target)[j]) for i, j in one.sure]
        for a, b in linked_words(prepared, row):
            assert any(
                a.strip().lower() in left.lower() and b.strip().lower() in right.lower() for left, right in words
            )
        assert linked_words(prepared, row)


def test_links_that_nobody_gives_are_learned_from_the_pairs(tmp_path: Path) -> None:
    """Also of words that punctuation stands at, and rows of the grammar keep its own."""
    rows = [(f"{one}.", f"{other}.") for one, other in numbers(300)]
    write_rows(tmp_path / "a.tsv", rows)
    data = {"train": ["a.tsv", "grammar:train:20:1"], "held": 5}
    prepared = prepare(tmp_path, data=data, training=GUIDED, tokenizer={"vocabulary": 2000})
    known = dict(pair for a, b in rows for pair in zip(a[:-1].split(), b[:-1].split(), strict=True))
    found = [link for row, text in enumerate(texts(prepared, "source")) if text in dict(rows)
             for link in linked_words(prepared, row)]  # fmt: skip
    right = [any(a.strip(" .") in one and b.strip(" .") in other for one, other in known.items()) for a, b in found]
    assert len(found) > 300
    assert sum(right) > 0.95 * len(found)
    assert all(linked_words(prepared, row) for row, source in enumerate(prepared.sources) if source == 1)


def links_in(folder: Path, **data: Any) -> Preparation:
    recipe = read_recipe({"data": {"train": "a.tsv", **data}, "training": GUIDED})
    return Preparation(recipe, folder, folder / "model", False, EventRecorder())


def test_what_is_wrong_with_links_is_said_by_name(tmp_path: Path) -> None:
    rows = numbers(30)
    write_rows(tmp_path / "a.tsv", rows)
    with pytest.raises(InputError, match="there are none"):
        links_in(tmp_path, links=[""]).check()
    with pytest.raises(InputError, match="for each source"):
        links_in(tmp_path, links=["a.links", "b.links"]).check()
    with pytest.raises(FileError, match=r"a\.links"):
        links_in(tmp_path, links=["a.links"]).check()
    write_links(tmp_path / "a.links", rows[:20])
    with pytest.raises(InputError, match="a line of links for each pair"):
        prepare(tmp_path, data={"train": "a.tsv", "held": 5, "links": ["a.links"]}, training=GUIDED)
    (tmp_path / "a.links").write_text("7-7\n" * 30)
    with pytest.raises(InputError, match=r"a\.links, line \d+: a link to a word that is not there"):
        prepare(tmp_path, data={"train": "a.tsv", "held": 5, "links": ["a.links"]}, training=GUIDED)


def test_other_links_are_another_text(tmp_path: Path) -> None:
    rows = numbers(30)
    write_rows(tmp_path / "a.tsv", rows)
    prints = []
    for some in (rows, rows[:20], rows):
        write_links(tmp_path / "a.links", some)
        prints.append(links_in(tmp_path, links=["a.links"]).fingerprint())
    assert prints[0] == prints[2] != prints[1]

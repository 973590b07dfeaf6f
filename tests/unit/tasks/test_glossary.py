"""Glossaries: read with every mistake named, and found in texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.errors import FileError
from regard.tasks.glossary import Glossary, unused_terms
from regard.text.protect import find_spans


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def test_read(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff# comment\ninvoice\tfacture\r\n\npurchase order\tbon de commande\n")
    assert Glossary.read(path).terms == {"invoice": "facture", "purchase order": "bon de commande"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\tb\nc\n", "line 2: a term needs a source and a target"),
        ("a\tb\tc\n", "line 1: a term needs"),
        ("a\t \n", "line 1: a term needs"),
        ("Cat\tchat\n#\ncat\tminou\n", "'cat' in line 1 and in line 3"),
    ],
)
def test_mistakes_are_named_with_their_lines(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=words):
        Glossary.read(written(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        Glossary.read(tmp_path / "none.tsv")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The INVOICE is here.", ["facture"]),
        ("Two invoices", ["factures"]),
        ("a purchase  order, an order", ["bon de commande", "commande"]),
        ("reorder, invoiced, pre-order", ["commande"]),
        ("see https://x.org/invoice and {invoice}", []),
        ("le prix", []),
        ("prices", ["prix"]),
        ("a price", ["prix"]),
    ],
)
def test_terms_are_found_as_words_longest_first(text: str, terms: list[str]) -> None:
    glossary = Glossary(
        {"invoice": "facture", "order": "commande", "purchase order": "bon de commande", "price": "prix"}
    )
    assert [term.span.fill for term in glossary.find(text, find_spans(text))] == terms


def test_an_empty_glossary_finds_nothing() -> None:
    assert Glossary({}).find("anything") == []


def test_terms_must_be_there_as_often_as_they_were() -> None:
    terms = Glossary({"cat": "félin", "dog": "chien"}).find("cat, cat and dog")
    assert unused_terms(terms, "Félin, félin et chien") == ()
    assert unused_terms(terms, "félin et chien") == ("cat",)
    assert unused_terms(terms, "") == ("cat", "dog")

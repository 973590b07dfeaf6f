"""How sources are written, and which files they stand for."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest

from regard.errors import FileError, InputError, KindError, UnknownNameError
from regard.text.corpora import Checks, Corpus, Source


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("data.tsv", Source(("data.tsv",))),
        (["train.en", "train.fr"], Source(("train.en", "train.fr"))),
        (["data.tsv"], Source(("data.tsv",))),
        ({"source": "train.en", "target": "train.fr", "weight": 2}, Source(("train.en", "train.fr"), 2.0)),
        ({"file": "d.jsonl", "columns": ["en", "fr"]}, Source(("d.jsonl",), columns=("en", "fr"))),
        ({"file": "d.tsv", "columns": 1, "weight": 0.5}, Source(("d.tsv",), 0.5, (1,))),
    ],
)
def test_every_way_to_write_a_source(value: Any, source: Source) -> None:
    assert Source.parse(value) == source


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ({"file": "a", "wieght": 2}, UnknownNameError, "did you mean 'weight'"),
        ({"source": "a"}, InputError, "either `file`, or `source` and `target`"),
        ({"file": "a", "source": "b", "target": "c"}, InputError, "either"),
        ({"weight": 1}, InputError, "none of them"),
        (["a", "b", "c"], InputError, "one file, or two"),
        ([], InputError, "one file, or two"),
        ("", InputError, "one file, or two"),
        ({"file": "a", "weight": 0}, InputError, "positive number"),
        ({"file": "a", "weight": -1}, InputError, "positive number"),
        ({"file": "a", "weight": float("nan")}, InputError, "positive number"),
        ({"file": "a", "weight": "2"}, InputError, "positive number"),
        ({"file": "a", "weight": True}, InputError, "positive number"),
        ({"file": "a", "columns": [-1, 0]}, InputError, "a number from 0"),
        ({"file": "a", "columns": 1.5}, InputError, "a number from 0"),
        ({"source": "a", "target": "b", "columns": [0, 1]}, InputError, "single file"),
        (7, KindError, "no source"),
    ],
)
def test_a_source_that_cannot_be_meant(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Source.parse(value)


def test_a_corpus_asks_for_as_many_columns_as_fields() -> None:
    with pytest.raises(InputError, match="as many columns"):
        Corpus([Source(("a.tsv",), columns=(0,))])
    with pytest.raises(InputError, match="come from one file"):
        Corpus([Source(("a", "b"))], checks=Checks(fields=1))
    with pytest.raises(InputError, match="needs a source"):
        Corpus([])


def test_a_glob_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("news.b.tsv.gz", "news.a.tsv.gz", "news.c.tsv.gz"):
        (tmp_path / name).write_bytes(gzip.compress(f"{name}\tx\n".encode()))
    (tmp_path / "other.a.tsv.gz").write_bytes(b"")
    for pattern in ("news.*.tsv.gz", "news.*.tsv", str(tmp_path / "news.?.tsv")):
        corpus = Corpus([Source((pattern,))], tmp_path)
        assert [row.texts[0][5] for row in corpus] == ["a", "b", "c"]
        assert [row.line for row in corpus] == [1, 1, 1]
        assert list(corpus.fingerprint()) == ["news.a.tsv.gz", "news.b.tsv.gz", "news.c.tsv.gz"]


def test_two_globs_are_aligned_file_by_file(tmp_path: Path) -> None:
    for part in "12":
        (tmp_path / f"{part}.en").write_text(f"{part} en\n")
        (tmp_path / f"{part}.fr").write_text(f"{part} fr\n")
    corpus = Corpus([Source(("*.en", "*.fr"))], tmp_path)
    assert [row.texts for row in corpus] == [("1 en", "1 fr"), ("2 en", "2 fr")]
    (tmp_path / "3.en").write_text("3 en\n")
    with pytest.raises(FileError, match="same number of files"):
        list(corpus)
    (tmp_path / "0.fr").write_text("0 fr\n")
    with pytest.raises(FileError, match=r"1.en beside 0.fr"):
        list(corpus)


def test_a_name_without_its_compression_suffix(tmp_path: Path) -> None:
    (tmp_path / "train.en.xz").write_bytes(lzma.compress(b"packed\n"))
    lines = Corpus([Source(("train.en",))], tmp_path, Checks(fields=1))
    assert [(row.texts, row.file) for row in lines] == [(("packed",), "train.en.xz")]
    (tmp_path / "train.en.gz").write_bytes(gzip.compress(b"packed otherwise\n"))
    for name in ("train.en", "train.*"):
        with pytest.raises(FileError, match=r"either of two files(.|\n)*train.en.gz and train.en.xz"):
            list(Corpus([Source((name,))], tmp_path, Checks(fields=1)))
    (tmp_path / "train.en").write_text("plain\n")
    assert [row.texts for row in lines] == [("plain",)]


def test_a_missing_file_is_answered_with_the_nearest_names(tmp_path: Path) -> None:
    (tmp_path / "train.en.xz").write_bytes(b"")
    (tmp_path / "zzz").write_bytes(b"")
    with pytest.raises(FileError, match=r"no file .*trian.en\n  found: .*: train.en.xz\n"):
        Corpus([Source(("trian.en",))], tmp_path, Checks(fields=1)).check()
    with pytest.raises(FileError, match="no folder"):
        Corpus([Source(("nowhere/train.en",))], tmp_path, Checks(fields=1)).check()
    with pytest.raises(FileError, match="is a folder"):
        Corpus([Source((".",))], tmp_path, Checks(fields=1)).check()
    with pytest.raises(FileError, match=r"no pattern|no file"):  # `**x` is one since Python 3.13, and nothing fits
        Corpus([Source(("**x",))], tmp_path, Checks(fields=1)).check()


def test_fingerprints_follow_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n")
    corpus = Corpus([Source(("a.tsv",)), Source(("a.tsv",), weight=3)], tmp_path)
    before = corpus.fingerprint()
    assert list(before) == ["a.tsv"]
    assert len(before["a.tsv"]) == 32
    (tmp_path / "a.tsv").write_text("a\tc\n")
    assert corpus.fingerprint() != before

"""Every format, under every compression, gives the rows that were written."""

from __future__ import annotations

import gzip
import json
import lzma
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import polib
import pyarrow
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from regard.errors import FileError, InputError, UnknownNameError
from regard.text.corpora import Checks, Corpus, Source
from regard.text.corpora import opening as opening_module
from regard.text.corpora.columns import is_header

Rows = list[tuple[str, str]]
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
EN_FR: Rows = [("The cat sleeps.", "Le chat dort."), ("It rains.", "Il pleut."), ('Été & "co" <b>', "L'été\u00a0!")]


def tsv(rows: Rows) -> bytes:
    return "".join(f"{first}\t{second}\n" for first, second in rows).encode()


def json_lines(rows: Rows) -> bytes:
    return "".join(json.dumps({"en": first, "fr": second}) + "\n" for first, second in rows).encode()


def tmx(rows: Rows) -> bytes:
    variant = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = (f"<tu>{variant.format('en-GB', escape(a))}{variant.format('fr', escape(b))}</tu>" for a, b in rows)
    head = '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><header/><body>'
    return f"{head}{''.join(units)}</body></tmx>".encode()


def catalogue(rows: Rows) -> Any:
    made = polib.POFile()
    made.metadata = {"Content-Type": "text/plain; charset=utf-8", "Language": "fr"}
    made.extend(polib.POEntry(msgid=first, msgstr=second) for first, second in rows)
    return made


def columns(rows: Rows) -> bytes:
    table = pyarrow.table({"en": [a for a, _ in rows], "fr": [b for _, b in rows]})
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink, row_group_size=2)
    return bytes(sink.getvalue())


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    "rows.tsv": tsv,
    "rows.tab": tsv,
    "rows.txt": tsv,
    "rows.jsonl": json_lines,
    "rows.ndjson": json_lines,
    "rows.json": json_lines,
    "rows.tmx": tmx,
    "rows.po": lambda rows: str(catalogue(rows)).encode(),
    "rows.mo": lambda rows: bytes(catalogue(rows).to_binary()),
    "rows.parquet": columns,
}


def texts(corpus: Corpus) -> list[tuple[str, ...]]:
    return [row.texts for row in corpus]


def printable(alphabet: Any) -> Any:
    return st.text(alphabet, max_size=12).map(str.strip).filter(bool)


word = printable(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Zl", "Zp"), exclude_characters="\ufeff")
)
rows_of_words = st.lists(st.tuples(word, word), min_size=1, max_size=8, unique_by=lambda row: row[0])


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=8)
@given(rows=rows_of_words.filter(lambda rows: not is_header(rows[0])))
def test_a_file_gives_the_rows_that_were_written(name: str, suffix: str, rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}{suffix}").write_bytes(COMPRESSIONS[suffix](FORMATS[name](rows)))
        corpus = Corpus([Source((name,))], Path(folder), Checks(strict=True))
        found = list(corpus)
    assert sorted(row.texts for row in found) == sorted(rows)
    if name != "rows.mo":  # which is sorted by its format
        assert [row.texts for row in found] == rows
    assert [row.line for row in found] == list(range(1, len(rows) + 1))
    assert {row.file for row in found} == {f"{name}{suffix}"}
    assert corpus.report.usable == len(rows)
    assert not corpus.report.dropped


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@settings(max_examples=10)
@given(rows=rows_of_words)
def test_aligned_files_and_lines(suffix: str, rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for side, language in enumerate(("en", "fr")):
            data = "\r\n".join(row[side] for row in rows).encode()
            (Path(folder) / f"train.{language}{suffix}").write_bytes(COMPRESSIONS[suffix](b"\xef\xbb\xbf" + data))
        pairs = Corpus([Source(("train.en", "train.fr"))], Path(folder), Checks(strict=True))
        pairs.check()
        assert texts(pairs) == rows
        lines = Corpus([Source((f"train.fr{suffix}",))], Path(folder), Checks(fields=1, strict=True))
        assert texts(lines) == [(row[1],) for row in rows]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_file_cut_short_or_damaged_is_refused(tmp_path: Path, suffix: str) -> None:
    whole = COMPRESSIONS[suffix](tsv([(f"{number} cats", f"{number * 7} chats") for number in range(5000)]))
    for data in (whole[: len(whole) // 2], whole[:-30] + b"x" * 30, b"no such format at all"):
        (tmp_path / f"rows.tsv{suffix}").write_bytes(data)
        with pytest.raises(FileError, match=r"cannot be read(.|\n)*again"):
            list(Corpus([Source(("rows.tsv",))], tmp_path))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_files_joined_after_compression_are_read_to_the_end(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"rows.tsv{suffix}").write_bytes(b"".join(COMPRESSIONS[suffix](tsv([row])) for row in EN_FR))
    assert texts(Corpus([Source(("rows.tsv",))], tmp_path)) == EN_FR


@pytest.mark.parametrize("name", ["rows.tsv.zst", "rows.po", "rows.parquet"])
def test_a_missing_library_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def absent(module: str) -> None:
        raise ImportError(f"No module named {module!r}")

    monkeypatch.setattr(opening_module.importlib, "import_module", absent)
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(FileError, match=r'pip install "regard\[corpora\]"'):
        list(Corpus([Source((name,))], tmp_path))


def test_json_columns_by_name_by_number_inside_and_as_lists(tmp_path: Path) -> None:
    nested = json.dumps({"id": 7, "translation": {"fr": "Il pleut.", "en": "It rains."}})
    (tmp_path / "a.jsonl").write_text(f"{nested}\n")
    expected = [("It rains.", "Il pleut.")]
    for wanted in (("translation.en", "translation.fr"), (2, 1)):
        assert texts(Corpus([Source(("a.jsonl",), columns=wanted)], tmp_path)) == expected
    corpus = Corpus([Source(("a.jsonl",))], tmp_path, Checks(languages=("en", "fr")))
    assert texts(corpus) == expected
    assert corpus.report.notes == ["a.jsonl: reads translation.en and translation.fr"]
    (tmp_path / "b.jsonl").write_text('["It rains.", "Il pleut."]\n["one"]\n')
    lists = Corpus([Source(("b.jsonl",))], tmp_path)
    assert texts(lists) == expected
    assert lists.report.dropped == {"wrong number of columns": 1}


def test_json_that_is_not_lines_or_not_text(tmp_path: Path) -> None:
    lines = [
        '{"en": "a", "fr": "b"}',
        "{",
        '{"en": "a"}',
        '{"en": ["a"], "fr": "b"}',
        '{"en": "\\ud800", "fr": "b"}',
        "3",
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    corpus = Corpus([Source(("a.jsonl",))], tmp_path)
    assert texts(corpus) == [("a", "b")]
    assert corpus.report.dropped == {
        "invalid JSON": 1,
        "wrong number of columns": 1,
        "not text": 2,
        "invalid UTF-8": 1,
    }
    for whole in ('[{"en": "a", "fr": "b"}]', '[\n{"en": "a", "fr": "b"}\n]'):
        (tmp_path / "a.json").write_text(whole)
        with pytest.raises(FileError, match="one JSON array"):
            list(Corpus([Source(("a.json",))], tmp_path))


def test_columns_that_are_not_there_or_not_plain(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"one": "a", "two": "b", "three": "c"}\n')
    with pytest.raises(InputError, match=r'does not say which two(.|\n)*columns = \["one", "two"\]'):
        list(Corpus([Source(("a.jsonl",))], tmp_path))
    with pytest.raises(UnknownNameError, match="did you mean 'three'"):
        list(Corpus([Source(("a.jsonl",), columns=("one", "thre"))], tmp_path))
    (tmp_path / "a.po").write_bytes(FORMATS["rows.po"](EN_FR))
    assert texts(Corpus([Source(("a.po",), columns=("msgstr", 0))], tmp_path))[0] == EN_FR[0][::-1]
    with pytest.raises(UnknownNameError, match="msgid"):
        list(Corpus([Source(("a.po",), columns=("en", "fr"))], tmp_path))


def test_parquet_of_structs_labels_and_broken_text(tmp_path: Path) -> None:
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(), 2, pyarrow.array([b"good", b"\xff"], pyarrow.binary()).buffers()
    )
    parquet.write_table(pyarrow.table({"text": broken, "label": [1, 0], "id": [8, 9]}), tmp_path / "a.parquet")
    corpus = Corpus([Source(("a.parquet",))], tmp_path, Checks(labelled=True))
    assert texts(corpus) == [("good", "1")]
    assert corpus.report.dropped == {"invalid UTF-8": 1}
    names = pyarrow.array(["a", None, "a"]).dictionary_encode()
    table = pyarrow.table({"t": [{"en": "x", "fr": "y"}] * 3, "name": names})
    parquet.write_table(table, tmp_path / "b.parquet")
    assert texts(Corpus([Source(("b.parquet",), columns=("t.fr", "t.en"))], tmp_path)) == [("y", "x")] * 3
    named = Corpus([Source(("b.parquet",), columns=("name", "t.en"))], tmp_path)
    assert texts(named) == [("a", "x")] * 2
    (tmp_path / "c.parquet").write_bytes(b"PAR1 not really PAR1")
    with pytest.raises(FileError, match="parquet"):
        list(Corpus([Source(("c.parquet",))], tmp_path))


def test_tmx_codes_languages_and_units_without_one(tmp_path: Path) -> None:
    unit = "<tu><tuv xml:lang='EN_us'><seg>A <hi>big</hi> <ph>{b}</ph>cat</seg></tuv>{}</tu>"
    french, german = ('<tuv lang="fr"><seg>Un chat</seg></tuv>', "<tuv xml:lang='de'><seg>Katze</seg></tuv>")
    body = "".join(unit.replace("{}", variants) for variants in (french + german, german, ""))
    (tmp_path / "a.tmx").write_text(f"<tmx><body>{body}<tu/></body></tmx>")
    corpus = Corpus([Source(("a.tmx",), columns=("en", "fr"))], tmp_path)
    assert texts(corpus) == [("A big cat", "Un chat")]
    assert corpus.report.dropped == {"a language is missing": 2, "wrong number of columns": 1}
    with pytest.raises(InputError, match=r"which two languages(.|\n)*en-us, fr, de"):
        list(Corpus([Source(("a.tmx",))], tmp_path))
    assert texts(Corpus([Source(("a.tmx",))], tmp_path, Checks(languages=("fr", "de")))) == [("Un chat", "Katze")]


def test_tmx_fetches_no_entities_and_refuses_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    bomb = (
        '<!ENTITY a "'
        + "x" * 10_000
        + '">'
        + "".join(f'<!ENTITY {name} "{f"&{before};" * 50}">' for before, name in zip("abcd", "bcde", strict=True))
    )
    for entity in (f'<!ENTITY e SYSTEM "{tmp_path / "secret"}">', bomb):
        (tmp_path / "a.tmx").write_text(
            f"<!DOCTYPE tmx [{entity}]><tmx><body><tu><tuv lang='en'><seg>&e;</seg></tuv>"
            "<tuv lang='fr'><seg>b</seg></tuv></tu></body></tmx>"
        )
        with pytest.raises(FileError, match="not well-formed"):
            list(Corpus([Source(("a.tmx",))], tmp_path))


def test_catalogues_report_what_is_not_translated(tmp_path: Path) -> None:
    made = catalogue(EN_FR)
    made.append(polib.POEntry(msgid="perhaps", msgstr="peut-être", flags=["fuzzy"]))
    made.append(polib.POEntry(msgid="not yet", msgstr=""))
    made.append(polib.POEntry(msgid="gone", msgstr="parti", obsolete=True))
    made.append(polib.POEntry(msgid="a cat", msgid_plural="cats", msgstr_plural={0: "un chat", 1: "des chats"}))
    (tmp_path / "a.po").write_text(str(made).replace("It rains.", "It\u2028rains."))
    corpus = Corpus([Source(("a.po",))], tmp_path)
    assert texts(corpus) == [*EN_FR, ("a cat", "un chat"), ("cats", "des chats")]
    assert corpus.report.dropped == {"fuzzy": 1, "untranslated": 1, "obsolete": 1}
    assert corpus.report.repaired == 1
    (tmp_path / "a.mo").write_bytes(made.to_binary())
    assert sorted(texts(Corpus([Source(("a.mo",))], tmp_path))) == sorted(texts(corpus))


def test_catalogues_in_other_encodings_and_broken_ones(tmp_path: Path) -> None:
    text = str(catalogue([("summer", "été"), ("winter", "hiver")]))
    (tmp_path / "a.po").write_bytes(text.replace("utf-8", "iso-8859-1").encode("iso-8859-1"))
    assert texts(Corpus([Source(("a.po",))], tmp_path)) == [("summer", "été"), ("winter", "hiver")]
    (tmp_path / "a.po").write_bytes(text.encode("iso-8859-1"))
    corpus = Corpus([Source(("a.po",))], tmp_path)
    assert texts(corpus) == [("winter", "hiver")]
    assert corpus.report.dropped == {"invalid UTF-8": 1}
    for name, data in (("b.po", b'msgid "a\nb'), ("b.mo", b"\x00\x01")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FileError, match="no gettext catalogue"):
            list(Corpus([Source((name,))], tmp_path))


@pytest.mark.parametrize(
    ("header", "wanted", "first"),
    [
        ("source\ttarget", None, ("a", "b")),
        ("fr\tEN", None, ("a", "b")),
        ("label\tsentence", None, ("b", "a")),
        ("my words\tother words", ("other words", "my words"), ("b", "a")),
        ("source\ttarget", (1, 0), ("b", "a")),
    ],
)
def test_a_header_is_skipped_and_noted(
    tmp_path: Path, header: str, wanted: tuple[str | int, ...] | None, first: tuple[str, str]
) -> None:
    (tmp_path / "a.tsv").write_text(f"{header}\na\tb\n")
    corpus = Corpus([Source(("a.tsv",), columns=wanted)], tmp_path, Checks(strict=True))
    rows = list(corpus)
    assert rows[0].texts == first
    assert (rows[0].line, corpus.report.usable, corpus.report.dropped) == (2, 1, {})
    assert corpus.report.notes[0] == f"a.tsv: the first line is a header ({', '.join(header.split(chr(9)))})"


def test_a_word_alone_is_no_header_of_pairs(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("text\na\tb\n")
    corpus = Corpus([Source(("a.tsv",))], tmp_path)
    assert texts(corpus) == [("a", "b")]
    assert (corpus.report.dropped, corpus.report.notes) == ({"wrong number of columns": 1}, [])


def test_columns_of_a_tsv(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("Go.\tVa !\tCC-BY\nRun!\tCours !\tCC-BY\n")
    assert texts(Corpus([Source(("a.tsv",), columns=(0, 1))], tmp_path)) == [("Go.", "Va !"), ("Run!", "Cours !")]
    assert texts(Corpus([Source(("a.tsv",), columns=(1,))], tmp_path, Checks(fields=1))) == [("Va !",), ("Cours !",)]
    with pytest.raises(InputError, match=r"most rows of a.tsv do not have(.|\n)*Go. \| Va ! \| CC-BY(.|\n)*from 0"):
        Corpus([Source(("a.tsv",), columns=(0, 3))], tmp_path).check()
    with pytest.raises(UnknownNameError, match="no column 'en'"):
        Corpus([Source(("a.tsv",), columns=("en", "fr"))], tmp_path).check()
    (tmp_path / "b.jsonl").write_text("{}")
    with pytest.raises(InputError, match="only files of plain lines"):
        Corpus([Source(("a.tsv", "b.jsonl"))], tmp_path).check()

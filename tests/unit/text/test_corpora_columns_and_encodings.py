"""Files as people have them: with more columns than are wanted, and in another encoding than UTF-8."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pytest

from regard.errors import FileError, InputError
from regard.text.corpora import Checks, Corpus, ReadOptions, Source, as_columns, guess_kind, with_reading
from regard.text.corpora.encoding import likeness, wide_likeness

FRENCH = (
    "Où est la gare ?", "C’est l'été à Noël.", "Ça va très bien.", "Elle a reçu un goûter.", "Il est né à Paris.",
    "Voilà le café.", "Il dort.",
)  # fmt: skip
PAIRS = [(f"Line {number}.", FRENCH[number % len(FRENCH)]) for number in range(40)]


def write(path: Path, rows: list[tuple[str, ...]], encoding: str = "utf-8") -> Source:
    data = "".join("\t".join(row) + "\n" for row in rows).encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return Source((path.name,))


def read(
    path: Path, columns: tuple[str | int, ...] | None = None, fields: int = 2
) -> tuple[list[tuple[str, ...]], str]:
    """The rows of a file, and all that is noted of it."""
    corpus = Corpus([Source((path.name,), columns=columns)], path.parent, Checks(fields=fields))
    noted = corpus.check()
    rows = [row.texts for row in corpus]
    assert corpus.report.dropped == {}
    assert corpus.report.notes == noted
    return rows, "\n".join(noted)


# Columns


def test_of_three_columns_the_first_two_are_read_and_said(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", [(*pair, "CC-BY 2.0") for pair in PAIRS])
    rows, noted = read(tmp_path / "a.tsv")
    assert rows == PAIRS
    assert noted == (
        "a.tsv has 3 columns: reads columns 0 and 1, counted from 0 (Line 0. | Où est la gare ?); "
        "others by --columns, such as --columns 0,2"
    )
    assert read(tmp_path / "a.tsv", (1, 0))[0] == [(french, english) for english, french in PAIRS]
    assert read(tmp_path / "a.tsv", (1, 0))[1].endswith("(Où est la gare ? | Line 0.)")  # nothing to choose any more
    assert read(tmp_path / "a.tsv", fields=1)[0] == [(english,) for english, _ in PAIRS]
    assert guess_kind(("a.tsv",), tmp_path) == "pairs"
    assert guess_kind(("a.tsv",), tmp_path, options=ReadOptions(columns=(0, 2))) == "labelled"
    assert guess_kind(("a.tsv",), tmp_path, options=ReadOptions(columns=(1,))) == "lines"


def test_numbers_of_rows_are_no_text_but_labels_are(tmp_path: Path) -> None:
    write(tmp_path / "ids.tsv", [(str(n), pair[0], str(900 + n), pair[1]) for n, pair in enumerate(PAIRS)])
    assert read(tmp_path / "ids.tsv")[0] == PAIRS
    write(tmp_path / "labels.tsv", [(str(n), pair[0], str(n % 3)) for n, pair in enumerate(PAIRS)])
    assert read(tmp_path / "labels.tsv")[0][:3] == [("Line 0.", "0"), ("Line 1.", "1"), ("Line 2.", "2")]
    write(tmp_path / "numbers.tsv", [(str(n), str(n + 1), str(n + 2)) for n in range(30)])
    assert read(tmp_path / "numbers.tsv")[0][0] == ("0", "1")  # no column but numbers: the first ones after all


def test_one_row_with_a_tab_too_many_does_not_make_three_columns(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", [("a", "b", "c"), *PAIRS])
    corpus = Corpus([Source(("a.tsv",))], tmp_path)
    assert [row.texts for row in corpus] == PAIRS
    assert corpus.report.dropped == {"wrong number of columns": 1}


def test_of_a_header_with_names_that_say_nothing_the_first_two(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", [("english", "french", "attribution"), *((*pair, "x") for pair in PAIRS)])
    rows, noted = read(tmp_path / "a.tsv")
    assert rows == PAIRS
    assert noted.endswith("a.tsv: reads english and french of 3 columns; --columns reads others")
    assert read(tmp_path / "a.tsv", ("french", "english"))[0][0] == PAIRS[0][::-1]


def test_columns_on_a_command_line() -> None:
    assert as_columns("0, 2") == [0, 2]
    assert as_columns("english,french") == ["english", "french"]
    for wrong in ("", "0,", ",1"):
        with pytest.raises(InputError, match="with commas between"):
            as_columns(wrong)
    assert with_reading("a.tsv", [0, 2], None) == {"file": "a.tsv", "columns": [0, 2]}
    assert with_reading(["a", "b"], [0, 2], "cp1252") == {"source": "a", "target": "b", "encoding": "cp1252"}
    own = {"file": "a.tsv", "columns": [3, 4]}
    assert with_reading(own, [0, 2], None) == own  # what a source says itself comes first
    assert with_reading("a.tsv", None, None) == "a.tsv"


@pytest.mark.parametrize(
    ("text", "columns", "remedy"),
    [
        ("one\ntwo\nthree\n", None, "--columns 0,1 (in a recipe: columns = [0, 1])"),
        ("a\tb\nc\td\n", (0, 5), "numbers count from 0"),
    ],
)
def test_the_remedy_for_columns_can_be_typed(
    tmp_path: Path, text: str, columns: tuple[str | int, ...] | None, remedy: str
) -> None:
    (tmp_path / "a.tsv").write_text(text)
    corpus = Corpus([Source(("a.tsv",), columns=columns)], tmp_path)
    for look in (corpus.check, lambda: list(corpus)):
        with pytest.raises(InputError) as error:
            look()
        assert remedy in error.value.do


# Encodings


@pytest.mark.parametrize(
    ("encoding", "name", "words"),
    [
        ("cp1252", "cp1252", "Latin-1 (Windows-1252)"),
        ("mac-roman", "mac-roman", "Mac Roman"),
        ("cp850", "cp850", "DOS (code page 850)"),
    ],
)
def test_another_encoding_is_named_and_its_remedy_works(tmp_path: Path, encoding: str, name: str, words: str) -> None:
    pairs = [(english, french.replace("’", "'")) for english, french in PAIRS]  # which DOS did not have
    write(tmp_path / "a.tsv", pairs, encoding)
    corpus = Corpus([Source(("a.tsv",))], tmp_path)
    for look in (corpus.check, lambda: list(corpus)):
        with pytest.raises(InputError, match=r"35 of 40 rows of a.tsv are not UTF-8") as error:
            look()
        assert error.value.found == f"this looks like {words}: Line 0.\\tOù est la gare ?"
        assert error.value.do == f'--encoding {name} reads it (in a recipe: encoding = "{name}")'
    again = Corpus([Source.parse({"file": "a.tsv", "encoding": name})], tmp_path, Checks(strict=True))
    again.check()
    assert [row.texts for row in again] == pairs


def test_the_file_that_is_meant_is_named_of_two(tmp_path: Path) -> None:
    write(tmp_path / "a.en", [(english,) for english, _ in PAIRS])
    write(tmp_path / "a.fr", [(french,) for _, french in PAIRS], "cp1252")
    with pytest.raises(InputError, match=r"35 of 40 rows of a.fr are not UTF-8"):
        Corpus([Source(("a.en", "a.fr"))], tmp_path).check()
    both = Corpus([Source(("a.en", "a.fr"), encoding="cp1252")], tmp_path, Checks(strict=True))
    both.check()
    assert [row.texts for row in both] == PAIRS


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_wide_encodings(tmp_path: Path, name: str, suffix: str) -> None:
    write(tmp_path / f"a.tsv{suffix}", PAIRS, name)
    with pytest.raises(FileError, match=f"--encoding {name} reads it"):
        Corpus([Source(("a.tsv",))], tmp_path).check()
    source = Source.parse({"file": "a.tsv", "encoding": name})
    assert [row.texts for row in Corpus([source], tmp_path, Checks(strict=True))] == PAIRS
    for side, place in (("a.en", 0), ("a.fr", 1)):
        write(tmp_path / side, [(pair[place],) for pair in PAIRS], name)
    aligned = Corpus([Source(("a.en", "a.fr"), encoding=name)], tmp_path, Checks(strict=True))
    aligned.check()  # counts lines, not bytes
    assert [row.texts for row in aligned] == PAIRS


def test_a_wide_file_cut_short_is_refused_and_half_a_character_costs_its_row(tmp_path: Path) -> None:
    whole = "a\tb\nc\td\n".encode("utf-16-le")
    (tmp_path / "a.tsv").write_bytes(whole[:-1])
    with pytest.raises(FileError, match="cannot be read"):
        list(Corpus([Source(("a.tsv",), encoding="utf-16-le")], tmp_path))
    (tmp_path / "a.tsv").write_bytes("a\tb\n".encode("utf-16-le") + b"\x00\xd8\t\0x\0\n\0")
    corpus = Corpus([Source(("a.tsv",), encoding="utf-16-le")], tmp_path)
    assert [row.texts for row in corpus] == [("a", "b")]
    assert sum(corpus.report.dropped.values()) == 1


def test_a_few_unreadable_rows_are_dropped_and_noted_and_many_stop(tmp_path: Path) -> None:
    good = [pair for pair in PAIRS if pair[1].isascii()] or [("a", "b")]
    lines = ["\t".join(good[0]).encode()] * 100
    for bad, stops in ((2, False), (11, False), (12, True)):  # 11 of 111 is less than a tenth, 12 of 112 is more
        (tmp_path / "a.tsv").write_bytes(b"\n".join([*lines, *(["caf\xe9\tx".encode("latin-1")] * bad)]))
        corpus = Corpus([Source(("a.tsv",))], tmp_path)
        if stops:
            with pytest.raises(InputError, match="12 of 112 rows"):
                list(corpus)
            continue
        assert len(list(corpus)) == 100
        assert corpus.report.notes == [
            f"{bad} of {100 + bad} rows of a.tsv are not UTF-8: this looks like Latin-1 (Windows-1252): "
            'café\\tx; --encoding cp1252 reads it (in a recipe: encoding = "cp1252")'
        ]


def test_what_explains_nothing_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"a\xfe\x81\xfe\tb\n" * 5)
    with pytest.raises(InputError, match=r"no encoding that is known here(.|\n)*--encoding NAME"):
        list(Corpus([Source(("a.tsv",))], tmp_path))
    (tmp_path / "a.tsv").write_bytes(b"a\x81\tb\n" * 5)  # a byte that cp1252 does not have
    with pytest.raises(InputError, match=r"5 of 5 rows of a.tsv are not CP1252"):
        list(Corpus([Source(("a.tsv",), encoding="cp1252")], tmp_path))


def test_letters_tell_alphabets_apart() -> None:
    russian = [line.encode("cp1251") for line in ("Привет, мир.", "Как дела?", "Сегодня хорошая погода.")]
    assert likeness(russian)[1] == "cp1251"  # type: ignore[index]
    assert likeness([line.decode("cp1251").encode("koi8-r") for line in russian])[1] == "koi8-r"  # type: ignore[index]
    polish = ["Zażółć gęślą jaźń", "Dzień dobry, jak się masz?", "Łódź leży w środku Polski"]
    assert likeness([line.encode("cp1250") for line in polish])[1] == "cp1250"  # type: ignore[index]
    assert likeness([line.encode() for line in FRENCH]) is None  # UTF-8
    assert wide_likeness(codecs.BOM_UTF16_BE + "a".encode("utf-16-be"))[1] == "utf-16"  # type: ignore[index]
    assert wide_likeness(b"Ordinary text, with one \x00 in it") is None


@pytest.mark.parametrize("name", ["cp125", "base64", "rot13", "", "no\0such", 7])
def test_unknown_encodings_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"there is no encoding(.|\n)*usual ones: utf-8"):
        Source(("a.tsv",), encoding=name)


def test_the_nearest_encoding_is_offered_and_formats_that_say_theirs_take_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'cp1252'"):
        Source(("a.tsv",), encoding="cp-1252x")
    (tmp_path / "a.tmx").write_text("<tmx><body></body></tmx>")
    with pytest.raises(InputError, match=r"a.tmx says its encoding itself"):
        list(Corpus([Source(("a.tmx",), encoding="cp1252")], tmp_path))

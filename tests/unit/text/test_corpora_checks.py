"""Rows are checked, and what is dropped is counted; what cannot be right is refused."""

from __future__ import annotations

import gzip
import random
import tempfile
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FileError, InputError
from regard.text.corpora import (
    Checks,
    Corpus,
    CorpusReport,
    CorpusRow,
    Source,
    digest,
    guess_kind,
    guess_language,
    looks_swapped,
    suits_two_fields,
)
from regard.text.corpora.checks import CONTROL
from regard.text.corpora.encoding import wide_likeness

EN = ["The cat is on the table.", "He was not with them.", "It is for you and for me.", "They have a house by the sea."]
FR = [
    "Le chat est sur la table.",
    "Il ne va pas avec eux.",
    "C'est pour vous et pour moi.",
    "Une maison dans les bois.",
]


def tsv(folder: Path, rows: list[tuple[str, str]], name: str = "a.tsv") -> Source:
    (folder / name).write_bytes("".join(f"{first}\t{second}\n" for first, second in rows).encode())
    return Source((name,))


line = st.one_of(
    st.binary(max_size=12),
    st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace")),
    st.sampled_from([b"a\tb", b"", b"\t", b"a\t", b"a\tb\tc", b"\xe9\tb", b"x\x0cy\tz\xe2\x80\xa8", b"long long\tb"]),
).filter(lambda data: b"\n" not in data)
garbage = st.lists(line, max_size=12).filter(lambda found: not found or wide_likeness(found[0]) is None)


def account(source: Source, folder: str, checks: Checks) -> tuple[CorpusReport, list[CorpusRow]]:
    corpus = Corpus([source], Path(folder), checks, unwanted={digest("a")})
    rows: list[CorpusRow] = []
    try:
        rows.extend(corpus)
    except InputError as error:
        assert "no row of" in str(error) or "are not UTF-8" in str(error)  # noqa: PT017  the report is wanted too
    return corpus.report, rows


@settings(max_examples=150)
@given(found=garbage, ends=st.sampled_from([b"\n", b"\r\n"]), fields=st.sampled_from([1, 2]), blank=st.booleans())
def test_nothing_is_dropped_silently(found: list[bytes], ends: bytes, fields: int, blank: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.txt").write_bytes(b"".join(data + ends for data in found))
        checks = Checks(fields=fields, longest=6, blank_lines=blank)
        report, rows = account(Source(("a.txt",)), folder, checks)
    header = any("header" in note for note in report.notes)
    assert report.usable + sum(report.dropped.values()) + header == len(found)
    assert report.usable == len(rows)
    assert [row.line for row in rows] == sorted({row.line for row in rows})
    for row in rows:
        assert all(text == text.strip() and not CONTROL.search(text) for text in row.texts)
        assert len(row.texts) == fields
        assert blank or all(row.texts)


@settings(max_examples=60)
@given(left=garbage, right=garbage)
def test_aligned_garbage_is_counted_or_refused(left: list[bytes], right: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, found in (("a.en", left), ("a.fr", right)):
            (Path(folder) / name).write_bytes(b"".join(data + b"\n" for data in found))
        source = Source(("a.en", "a.fr"))
        if len(left) != len(right):
            with pytest.raises(InputError, match="as many lines"):
                list(Corpus([source], Path(folder)))
            return
        report, _ = account(source, folder, Checks())
    assert report.usable + sum(report.dropped.values()) == len(left)


def test_each_reason_is_counted_with_an_example_of_where(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(
        b"ok\tbon\ncaf\xe9\tcoffee\n\tvide\none column\na\tb\tc\n" + b"x" * 2001 + b"\ty\nheld  out\ttenu\n\n"
    )
    corpus = Corpus([Source(("a.tsv",))], tmp_path, unwanted=[digest(" held out ")])
    assert [row.texts for row in corpus] == [("ok", "bon")]
    assert corpus.report.notes == [
        "1 of 8 rows of a.tsv are not UTF-8: this looks like Latin-1 (Windows-1252): café\\tcoffee; "
        '--encoding cp1252 reads it (in a recipe: encoding = "cp1252")'
    ]
    assert corpus.report.dropped == {
        "invalid UTF-8": 1,
        "empty side": 2,
        "wrong number of columns": 2,
        "overlong": 1,
        "also in the validation set": 1,
    }
    assert corpus.report.examples["invalid UTF-8"] == [r"a.tsv:2 caf\xe9\tcoffee"]
    assert corpus.report.examples["wrong number of columns"] == ["a.tsv:4 one column", "a.tsv:5 a | b | c"]
    assert corpus.report.examples["overlong"] == [f"a.tsv:6 {'x' * 60}…"]
    assert corpus.report.lines()[:2] == ["1 row kept", "2 rows dropped: empty side"]
    assert corpus.report.to_dict()["dropped"]["overlong"] == 1


def test_an_iteration_starts_a_new_report(tmp_path: Path) -> None:
    corpus = Corpus([tsv(tmp_path, [("a", "b"), ("", "c")])], tmp_path)
    for _ in range(2):
        assert len(list(corpus)) == 1
        assert (corpus.report.usable, corpus.report.dropped) == (1, {"empty side": 1})
    iter(corpus)
    assert corpus.report == CorpusReport()


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    odd = "one\u2028two\x0bthree\x0cfour\x85five\x1csix"
    (tmp_path / "a.en").write_text(f"{odd}\nsecond\n", encoding="utf-8", newline="\n")
    (tmp_path / "a.fr").write_bytes(b"un\r\ndeux")
    corpus = Corpus([Source(("a.en", "a.fr"))], tmp_path)
    corpus.check()
    assert [row.texts for row in corpus] == [("one two three four five six", "un"), ("second", "deux")]
    assert (corpus.report.usable, corpus.report.repaired, corpus.report.dropped) == (2, 1, {})
    assert corpus.report.examples["control characters"] == [r"a.en:1 one\u2028two\x0bthree\x0cfour\x85five\x1csix | un"]
    assert "1 of them repaired: control characters became spaces" in corpus.report.lines()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\tb\n\xff\tb\n", "a.tsv:2: invalid UTF-8"),
        (b"a\tb\na\t \n", "a.tsv:2: empty side"),
        (b"a\tb\nc\n", "a.tsv:2: wrong number of columns"),
        (b"a\tb\nc\x00d\te\n", r"a.tsv:2: control characters\n  found: c\\x00d \| e"),
        (b"a\tb\nccccccc\td\n", "a.tsv:2: overlong"),
    ],
)
def test_strict_stops_at_the_first_blemish(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.tsv").write_bytes(data)
    rows = iter(Corpus([Source(("a.tsv",))], tmp_path, Checks(strict=True, longest=5)))
    assert next(rows).texts == ("a", "b")
    with pytest.raises(InputError, match=message):
        next(rows)


def test_labels_are_not_measured_and_lines_are_not_limited(tmp_path: Path) -> None:
    tsv(tmp_path, [("ab", "a label of some length"), ("abcdef", "x")])
    labelled = Corpus([Source(("a.tsv",))], tmp_path, Checks(labelled=True, longest=5))
    assert [row.texts[0] for row in labelled] == ["ab"]
    (tmp_path / "b.txt").write_text("abcdefgh\n\n  \nend")
    assert len(list(Corpus([Source(("b.txt",))], tmp_path, Checks(fields=1, longest=5)))) == 2
    blank = Corpus([Source(("b.txt",))], tmp_path, Checks(fields=1, blank_lines=True), unwanted={digest("")})
    assert [row.texts[0] for row in blank] == ["abcdefgh", "", "", "end"]


def test_unequal_counts_are_refused_with_both_and_a_place(tmp_path: Path) -> None:
    lengths = [10 + 37 * number % 91 for number in range(400)]
    left = ["x" * length for length in lengths]
    right = ["y" * (length + 3) for length in lengths]
    del right[200]
    (tmp_path / "a.en").write_text("\n".join(left) + "\n")
    (tmp_path / "a.fr").write_text("\n".join(right))
    corpus = Corpus([Source(("a.en", "a.fr"))], tmp_path)
    for look in (corpus.check, lambda: list(corpus)):
        with pytest.raises(InputError, match=r"a.en has 400 and a.fr has 399; .* about line 20\d on"):
            look()
    (tmp_path / "a.fr").write_text("\n".join(right[:5]))
    with pytest.raises(InputError, match=r"and a.fr has 5\n"):
        corpus.check()


def test_nothing_left_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"\xff\n" * 2 + b"\t\n")
    corpus = Corpus([Source(("a.tsv",))], tmp_path)
    for look in (corpus.check, lambda: list(corpus)):
        with pytest.raises(
            InputError, match=r"no row of a.tsv(.|\n)*2 dropped: invalid UTF-8, 1(.|\n)*--encoding NAME"
        ):
            look()
    (tmp_path / "a.tsv").write_bytes(b"")
    with pytest.raises(InputError, match="found: no rows"):
        corpus.check()
    both = Corpus([Source(("a.tsv",)), tsv(tmp_path, [("a", "b")], "b.tsv")], tmp_path)
    assert [row.source for row in both] == [1]
    assert both.report.notes == ["nothing was kept of a.tsv"]


def test_other_encodings_and_endless_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n", encoding="utf-16")
    with pytest.raises(FileError, match="not UTF-8"):
        list(Corpus([Source(("a.tsv",))], tmp_path))
    monkeypatch.setattr("regard.text.corpora.opening.LONGEST_LINE", 8)
    (tmp_path / "a.tsv").write_bytes(b"abc\tdef\n" + b"x" * 9)
    with pytest.raises(FileError, match="has a line of more than"):
        list(Corpus([Source(("a.tsv",))], tmp_path))


@pytest.mark.parametrize("languages", [("en", "fr"), ("eng", "fr-CA")])
def test_swapped_columns_are_refused(tmp_path: Path, languages: tuple[str, str]) -> None:
    right, wrong = list(zip(EN, FR, strict=True)), list(zip(FR, EN, strict=True))
    checks = Checks(languages=languages)
    Corpus([tsv(tmp_path, right)], tmp_path, checks).check()
    corpus = Corpus([tsv(tmp_path, wrong)], tmp_path, checks)
    for look in (corpus.check, lambda: list(corpus)):
        with pytest.raises(InputError, match=r"look swapped: the first should be en(.|\n)*columns = \[1, 0\]"):
            look()
    turned = Corpus([Source(("a.tsv",), columns=(1, 0))], tmp_path, checks)
    assert [row.texts for row in turned] == right
    for lenient in (Checks(), Checks(languages=languages, swapped=False), Checks(languages=languages, labelled=True)):
        assert len(list(Corpus([Source(("a.tsv",))], tmp_path, lenient))) == len(wrong)


def test_swapped_files_and_named_columns_get_their_own_remedy(tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("\n".join(FR))
    (tmp_path / "a.en").write_text("\n".join(EN))
    checks = Checks(languages=("en", "fr"))
    with pytest.raises(InputError, match=r'swap the files: \["a.en", "a.fr"\]'):
        Corpus([Source(("a.fr", "a.en"))], tmp_path, checks).check()
    tsv(tmp_path, [("x", "y"), *zip(FR, EN, strict=True)])
    with pytest.raises(InputError, match=r'columns = \["y", "x"\]'):
        Corpus([Source(("a.tsv",), columns=("x", "y"))], tmp_path, checks).check()


def test_rows_of_which_some_are_swapped_are_noted(tmp_path: Path) -> None:
    right, wrong = list(zip(EN, FR, strict=True)), list(zip(FR, EN, strict=True))
    corpus = Corpus([tsv(tmp_path, right * 20 + wrong * 4)], tmp_path, Checks(languages=("en", "fr")))
    assert len(list(corpus)) == 96
    assert len(corpus.report.notes) == 1
    assert "of the rows look swapped, the first at line 81" in corpus.report.notes[0]
    unknown = Corpus([Source(("a.tsv",))], tmp_path, Checks(languages=("en", "ja")))
    list(unknown)
    assert unknown.report.notes == ["a.tsv: whether columns are swapped was not checked for ja"]


def test_letters_alone_show_swapped_columns() -> None:
    right = list(zip(EN, FR, strict=True)) * 5
    assert looks_swapped(right, [(second, first) for first, second in right])
    assert not looks_swapped(right, iter(right))
    assert not looks_swapped(right, [(second, first) for first, second in right[:4]])  # too few to say
    assert not looks_swapped([(first, first) for first, _ in right], [(first, first) for first, _ in right])


def test_many_equal_sides_are_noted(tmp_path: Path) -> None:
    rows = [(f"{number}", f"{number}" if number < 3 else "x") for number in range(10)]
    corpus = Corpus([tsv(tmp_path, rows)], tmp_path)
    assert len(list(corpus)) == 10
    assert corpus.report.notes == ["30% of the pairs have equal sides: looks untranslated"]
    assert len(list(Corpus([Source(("a.tsv",))], tmp_path, Checks(labelled=True)))) == 10


def test_digests_ignore_white_space_only() -> None:
    assert digest(" a\u00a0 b\n") == digest("a b")
    assert digest("a b") != digest("A b")
    assert len(digest("\ud800")) == 8


def test_what_a_file_seems_to_hold(tmp_path: Path) -> None:
    tsv(tmp_path, [(f"text {number}", "good" if number % 3 else "bad") for number in range(120)], "labelled.tsv")
    tsv(tmp_path, [(f"text {number}", f"texte {number}") for number in range(120)], "pairs.tsv")
    tsv(tmp_path, [("text", "label"), *((f"text {n}", str(n % 2)) for n in range(120))], "header.tsv")
    (tmp_path / "three.tsv").write_text("".join(f"text {number}\tyes\tx{number}\n" for number in range(120)))
    (tmp_path / "lines.txt").write_text("one\ntwo\nthree\twith a tab\n")
    (tmp_path / "texts.jsonl").write_text('{"id": 1, "text": "a"}\n')
    (tmp_path / "pairs.jsonl").write_text('{"en": "a", "fr": "b"}\n')
    (tmp_path / "labels").write_text("yes\nno\n" * 60)
    (tmp_path / "a.tmx").write_text("<tmx/>")
    kinds = {
        "labelled.tsv": "labelled",
        "pairs.tsv": "pairs",
        "header.tsv": "labelled",
        "three.tsv": "labelled",
        "lines.txt": "lines",
        "texts.jsonl": "lines",
        "pairs.jsonl": "pairs",
        "a.tmx": "pairs",
    }
    assert {name: guess_kind((name,), tmp_path) for name in kinds} == kinds
    assert guess_kind(("labels", "labels"), tmp_path) == "labelled"
    assert suits_two_fields("pairs.tsv", tmp_path)
    assert not suits_two_fields("texts.jsonl", tmp_path)
    with pytest.raises(FileError, match="no file"):
        suits_two_fields("nothing.tsv", tmp_path)


def peak(corpus: Corpus) -> tuple[int, int]:
    tracemalloc.start()
    try:
        return sum(1 for _ in corpus), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    first, second = "word " * 2000, "mot " * 2500
    with gzip.open(tmp_path / "a.tsv.gz", "wb", compresslevel=1) as file:
        for _ in range(50):
            file.write(f"{first}\t{second}\n".encode() * 50)  # 50 MB in all
    rows, memory = peak(Corpus([Source(("a.tsv",))], tmp_path, Checks(longest=0)))
    assert rows == 2500
    assert memory < 3_000_000
    with gzip.open(tmp_path / "a.tmx.gz", "wb", compresslevel=1) as file:
        unit = f"<tu><tuv lang='en'><seg>{first}</seg></tuv><tuv lang='fr'><seg>{second}</seg></tuv></tu>\n"
        file.write(b"<tmx><body>" + unit.encode() * 500 + b"</body></tmx>")  # 10 MB
    rows, memory = peak(Corpus([Source(("a.tmx",))], tmp_path, Checks(longest=0)))
    assert rows == 500
    assert memory < 3_000_000


def test_a_look_at_the_first_rows_does_not_read_on(tmp_path: Path) -> None:
    whole = gzip.compress(b"a\tb\n" * 3000 + random.Random(0).randbytes(1 << 20), 1)
    (tmp_path / "a.tsv.gz").write_bytes(whole[:-5000])
    corpus = Corpus([Source(("a.tsv",))], tmp_path)
    assert len(list(islice(corpus, 10))) == 10
    corpus.check(sample=100)
    with pytest.raises(FileError, match="cannot be read"):
        list(corpus)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The cat sat on the mat and it was not happy with this."),
        ("fr", "Le chat est sur le tapis et il ne mange pas de poisson."),
        ("de", "Der Hund ist nicht im Haus und die Katze auch nicht."),
        ("es", "El perro no está en la casa y los gatos tampoco lo están."),
        ("it", "Il gatto è nella casa e non con il cane, ma anche il topo."),
        ("pt", "O gato não está em casa e os cães também não, mas ele foi com você."),
        ("nl", "De hond is niet in het huis en de kat ook niet, maar ik ben er."),
        (None, "w1 w2 w3 w4 w5 w6"),
        (None, "Hunden sover och katten springer genom trädgården."),
        (None, ""),
    ],
)
def test_small_words_tell_a_language(language: str | None, text: str) -> None:
    assert guess_language([text, text]) == language

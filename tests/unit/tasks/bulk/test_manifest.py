"""What a job is of is known again, and what has changed is named."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from pathlib import Path

import pytest

from regard.errors import InputError
from regard.interop.folders import model_digest
from regard.tasks.bulk.manifest import JobDocument, Manifest, chunk_size, output_paths, survey

BASE = Manifest((JobDocument("a.txt", "/a.fr", 3, "x"),), "grammar", "m", {"beams": 4}, "text", 100)


def test_a_manifest_survives_its_file() -> None:
    assert Manifest.from_dict(BASE.to_dict()) == BASE
    assert BASE.changes(BASE) == []


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (BASE._replace(search={"beams": 1}), "beams: 4, now 1"),
        (BASE._replace(search={}), "beams: 4, now as the model has it"),
        (BASE._replace(search={"beams": 4, "alpha": 0.5}), "alpha: as the model has it, now 0.5"),
        (BASE._replace(output="json"), "output: text, now json"),
        (BASE._replace(chunk=7), "lines a chunk: 100, now 7"),
        (BASE._replace(dtype="bfloat16"), "dtype: float32, now bfloat16"),
        (BASE._replace(model="en-fr", model_sha256="n"), "model: grammar, now en-fr"),
        (BASE._replace(model_sha256="n"), "model: grammar, now grammar (other files under the same name)"),
        (BASE._replace(version="9.9"), "version of regard"),
        (BASE._replace(documents=(JobDocument("a.txt", "/a.fr", 4, "y"),)), "a.txt: 3 lines before, now 4"),
        (BASE._replace(documents=(JobDocument("a.txt", "/b.fr", 3, "x"),)), "where a.txt goes: /a.fr, now /b.fr"),
        (BASE._replace(documents=BASE.documents * 2), "inputs: 1, now 2"),
    ],
)
def test_every_change_is_named(now: Manifest, words: str) -> None:
    (change,) = now.changes(BASE)
    assert words in change


def test_the_same_text_or_model_under_another_name_is_the_same() -> None:
    assert BASE._replace(model="copy").changes(BASE) == []
    assert BASE._replace(documents=(JobDocument("b.txt", "/a.fr", 3, "x"),)).changes(BASE) == []


def test_a_survey_counts_lines_as_they_are_translated(tmp_path: Path) -> None:
    plain, packed, out = tmp_path / "a.txt", tmp_path / "b.txt.gz", tmp_path / "out"
    plain.write_bytes(b"one\r\n\ntwo\xe2\x80\xa8still two\nthree")
    packed.write_bytes(gzip.compress(b"one\n\ntwo\xe2\x80\xa8still two\nthree\n"))
    assert survey(plain, out)[2:] == survey(packed, out)[2:]
    assert survey(plain, out).lines == 4
    assert survey(plain, out).sha256 == hashlib.sha256("one\n\ntwo\u2028still two\nthree\n".encode()).hexdigest()
    plain.write_bytes(b"")
    assert survey(plain, out).lines == 0


def test_a_line_that_nobody_would_wait_for_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("short\n" + "a" * 100_001)
    with pytest.raises(InputError, match=r"a\.txt, line 2 is too long"):
        survey(path, path)


def test_chunks_are_small_in_small_files_and_bounded_in_large_ones() -> None:
    assert [chunk_size(count) for count in (0, 3_000, 500_000, 10**9)] == [100, 100, 500, 2_000]


def test_a_model_is_known_by_what_is_in_it(model: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    (copy / "alignment.json").write_text("{}")  # changes no translation
    assert model_digest(copy) == model_digest(Path(model))
    (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
    assert model_digest(copy) != model_digest(Path(model))


def test_where_translations_go(tmp_path: Path) -> None:
    a, b = tmp_path / "a.txt", tmp_path / "b.txt.xz"
    assert output_paths([a], tmp_path / "a.fr") == [tmp_path / "a.fr"]
    assert output_paths([a, b], tmp_path / "fr") == [tmp_path / "fr" / "a.txt", tmp_path / "fr" / "b.txt"]
    (tmp_path / "fr").mkdir()
    assert output_paths([b], tmp_path / "fr") == [tmp_path / "fr" / "b.txt"]
    with pytest.raises(InputError, match="both become"):
        output_paths([a, tmp_path / "other" / "a.txt"], tmp_path / "fr")
    with pytest.raises(InputError, match="over itself"):
        output_paths([a], a)
    with pytest.raises(InputError, match="over itself"):
        output_paths([a], tmp_path)


def test_several_files_need_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("mine")
    with pytest.raises(InputError, match="several inputs need a folder"):
        output_paths([Path("a.txt"), Path("b.txt")], out)

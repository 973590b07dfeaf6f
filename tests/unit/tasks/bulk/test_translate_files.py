"""Files are translated line for line, and a job that was interrupted goes on where it stood."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.errors import FileError, InputError
from regard.tasks.bulk.chunk_worker import TRIES, ChunkResult, ChunkWorker, WorkerOptions
from regard.tasks.bulk.job_folder import JobFolder, chunks_of
from regard.tasks.bulk.translate_files import (
    BulkProgress,
    BulkRequest,
    first_text,
    translate_files,
    translate_here,
)
from tests.subjects import ours
from tests.unit.tasks.bulk.conftest import LINES

SEARCH: Any = {"beams": 1, "max_length": 6}


class Broken(Exception):
    """Stands for whatever ends a process."""


def request(folder: str, source: Path, **changes: Any) -> BulkRequest:
    given = {"model": folder, "files": [source], "out": source.with_suffix(".fr"), "search": SEARCH, "chunk": 4}
    return BulkRequest(**{**given, "device": "cpu", **changes})


def expected(model: str) -> str:
    task: Any = regard.load(model, "cpu")
    found = []
    for first in range(0, len(LINES), 4):
        found += [first_text("", best) for best in task.search(LINES[first : first + 4], **SEARCH)]
    return "".join(f"{line}\n" for line in found)


def breaking_after(count: int, numbers_seen: list[int]) -> Any:
    def engine(options: WorkerOptions, numbers: Sequence[int]) -> Iterator[ChunkResult]:
        for result in itertools.islice(translate_here(options, numbers), count):
            numbers_seen.append(result.number)
            yield result
        raise Broken

    return engine


def test_one_line_for_each_line_whatever_is_in_it(model: str, source: Path) -> None:
    outcome = translate_files(request(model, source))
    text = (source.with_suffix(".fr")).read_text(encoding="utf-8")
    assert text == expected(model)
    assert outcome == (((str(source.with_suffix(".fr"))),), len(LINES), 0, outcome.cut, False)
    lines = text.split("\n")
    assert len(lines) == len(LINES) + 1
    assert [not line for line in lines[:-1]] == [not line.strip() for line in LINES]


def test_a_job_goes_on_where_it_stopped_and_translates_nothing_twice(model: str, source: Path) -> None:
    first: list[int] = []
    with pytest.raises(Broken):
        translate_files(request(model, source), breaking_after(3, first))
    assert not source.with_suffix(".fr").exists()
    second: list[int] = []
    with pytest.raises(Broken):
        translate_files(request(model, source), breaking_after(2, second))
    progress: list[BulkProgress] = []
    outcome = translate_files(request(model, source), on_progress=progress.append)
    assert (first, second) == ([0, 1, 2], [3, 4])
    assert outcome.before == 20
    assert [(one.chunks, one.lines) for one in progress] == [(5, 20), (6, len(LINES))]
    assert source.with_suffix(".fr").read_text(encoding="utf-8") == expected(model)
    assert [path.name for path in JobFolder.beside(source.with_suffix(".fr")).path.iterdir()] == ["manifest.json"]


def test_a_finished_job_is_left_alone_and_made_again_when_its_output_is_gone(model: str, source: Path) -> None:
    translate_files(request(model, source))
    out = source.with_suffix(".fr")
    before = out.stat().st_mtime_ns
    assert translate_files(request(model, source), breaking_after(0, [])).finished_before
    assert out.stat().st_mtime_ns == before
    out.unlink()
    assert not translate_files(request(model, source)).finished_before
    assert out.read_text(encoding="utf-8") == expected(model)


@pytest.mark.parametrize("what", ["input", "model", "beams", "output", "chunk"])
def test_what_has_changed_is_refused_by_name_and_begun_anew_if_asked(
    what: str, model: str, source: Path, tmp_path: Path
) -> None:
    with pytest.raises(Broken):
        translate_files(request(model, source), breaking_after(1, []))
    changes: dict[str, Any] = {
        "beams": {"search": {**SEARCH, "beams": 2}}, "output": {"label": "json"}, "chunk": {"chunk": 5},
    }.get(what, {})  # fmt: skip
    if what == "input":
        source.write_bytes(source.read_bytes() + b" more")
    if what == "model":
        shutil.copytree(model, tmp_path / "other")
        (tmp_path / "other" / "generation_config.json").write_text("{}")
        changes = {"model": str(tmp_path / "other")}
    now = request(model, source, **changes)
    with pytest.raises(InputError, match="was begun with something else") as error:
        translate_files(now)
    assert {"input": "source.txt"}.get(what, what) in error.value.found
    assert translate_files(BulkRequest(**{**vars(now), "anew": True})).before == 0


def test_an_option_that_was_refused_claims_nothing(model: str, source: Path) -> None:
    with pytest.raises(InputError, match="nbest"):
        translate_files(request(model, source, search={"nbest": 9}))
    assert translate_files(request(model, source)).lines == len(LINES)


def test_an_output_of_others_is_not_written_over(model: str, source: Path) -> None:
    out = source.with_suffix(".fr")
    out.write_text("precious")
    with pytest.raises(InputError, match="there already"):
        translate_files(request(model, source))
    assert out.read_text() == "precious"
    translate_files(request(model, source, anew=True))
    assert out.read_text(encoding="utf-8") == expected(model)


def test_several_files_compressed_ones_and_empty_ones_too(model: str, source: Path, tmp_path: Path) -> None:
    packed, empty = tmp_path / "packed.txt.gz", tmp_path / "empty.txt"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    empty.write_bytes(b"")
    outcome = translate_files(request(model, source, files=[source, empty, packed], out=tmp_path / "fr"))
    assert outcome.lines == 2 * len(LINES)
    assert (tmp_path / "fr" / "source.txt").read_text(encoding="utf-8") == expected(model)
    assert (tmp_path / "fr" / "packed.txt").read_text(encoding="utf-8") == expected(model)
    assert (tmp_path / "fr" / "empty.txt").read_bytes() == b""


def test_a_damaged_chunk_is_translated_again(model: str, source: Path) -> None:
    with pytest.raises(Broken):
        translate_files(request(model, source), breaking_after(3, []))
    targets = JobFolder.beside(source.with_suffix(".fr")).targets
    (targets / "00000001.json").write_bytes((targets / "00000001.json").read_bytes()[:20])
    short = json.loads((targets / "00000002.json").read_text())
    (targets / "00000002.json").write_text(json.dumps({**short, "lines": short["lines"][:2]}))
    assert translate_files(request(model, source)).before == 4
    assert source.with_suffix(".fr").read_text(encoding="utf-8") == expected(model)


def test_a_source_that_changed_on_disk_is_damage(model: str, source: Path) -> None:
    with pytest.raises(Broken):
        translate_files(request(model, source), breaking_after(1, []))
    job = JobFolder.beside(source.with_suffix(".fr"))
    (job.sources / "00000003.txt").write_bytes(b"w1\n")
    with pytest.raises(InputError, match="is damaged"):
        translate_files(request(model, source))


def test_a_line_too_long_is_named_by_its_file_and_number(model: str, source: Path) -> None:
    long = "\n".join([*LINES, "w1 " * 3_000])
    source.write_text(long, encoding="utf-8")
    with pytest.raises(InputError, match=rf"source\.txt, line {len(LINES) + 1} is longer"):
        translate_files(request(model, source, search={**SEARCH, "long": "refuse"}))


def test_a_chunk_that_kills_every_worker_ends_the_job(model: str, source: Path) -> None:
    with pytest.raises(Broken):
        translate_files(request(model, source), breaking_after(1, []))
    job = JobFolder.beside(source.with_suffix(".fr"))
    entry = job.manifest()
    assert entry is not None
    chunk = chunks_of(entry[0])[2]
    assert [job.note_try(chunk) for _ in range(TRIES)] == [0, 1, 2]  # each died without a word
    result = ChunkWorker(WorkerOptions(job, model, first_text, "cpu"))(2)
    assert result.error is not None
    assert "lines 9 to 12, died" in result.error[0]
    translate_files(request(model, source))  # the same command tries again


def test_a_chunk_that_is_there_is_not_translated_again_when_it_is_given_out_twice(model: str, source: Path) -> None:
    with pytest.raises(Broken):
        translate_files(request(model, source), breaking_after(1, []))
    job = JobFolder.beside(source.with_suffix(".fr"))
    before = (job.targets / "00000000.json").stat()
    assert ChunkWorker(WorkerOptions(job, model, first_text, "cpu"))(0) == ChunkResult(0, 4)
    assert (job.targets / "00000000.json").stat() == before


def test_another_model_on_a_worker_s_machine_is_noticed(model: str, source: Path, tmp_path: Path) -> None:
    with pytest.raises(Broken):
        translate_files(request(model, source), breaking_after(1, []))
    shutil.copytree(model, tmp_path / "other")
    (tmp_path / "other" / "generation_config.json").write_text("{}")
    job = JobFolder.beside(source.with_suffix(".fr"))
    result = ChunkWorker(WorkerOptions(job, str(tmp_path / "other"), first_text, "cpu"))(1)
    assert result.error is not None
    assert "another model" in result.error[0]
    nowhere = ChunkWorker(WorkerOptions(JobFolder(tmp_path / "nowhere"), model, first_text, "cpu"))(1)
    assert nowhere.error is not None
    assert "all machines" in nowhere.error[2]


def test_two_at_once_are_refused_and_the_first_is_named(model: str, source: Path) -> None:
    job = JobFolder.beside(source.with_suffix(".fr"))
    with job.locked(), pytest.raises(InputError, match="somebody else translates") as error:
        translate_files(request(model, source))
    assert f"process {os.getpid()}" in error.value.found
    assert translate_files(request(model, source)).lines == len(LINES)


def test_a_missing_file_and_a_model_that_does_not_translate(model: str, source: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        translate_files(request(model, tmp_path / "nowhere.txt"))
    with pytest.raises(InputError, match="does not translate"):
        translate_files(request(str(ours("decoder", tmp_path)), source))


def test_progress_says_how_fast_and_how_long() -> None:
    assert BulkProgress(1, 4, 100, 400, 0, 0.0).left is None
    later = BulkProgress(3, 4, 300, 400, 200, 50.0)
    assert (later.lines_per_second, later.left) == (4.0, 25.0)


def test_the_folder_of_a_job_is_beside_its_output_however_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a")
    assert JobFolder.beside(Path()).path == tmp_path / "a.chunks"
    assert JobFolder.beside(Path("b/..")).path == tmp_path / "a.chunks"
    assert JobFolder.beside(Path("b/c")).path == tmp_path / "a" / "b" / "c.chunks"


def test_a_job_that_is_refused_leaves_no_folder(model: str, source: Path) -> None:
    out = source.with_suffix(".fr")
    out.write_text("somebody's")
    with pytest.raises(InputError, match="is there already"):
        translate_files(request(model, source))
    assert not JobFolder.beside(out).path.exists()


def test_a_finished_job_keeps_nobody_from_another_one_beside_it(model: str, source: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other.txt"
    out.mkdir()
    other.write_text("w1 w2\n")
    translate_files(request(model, source, out=out))
    first = (out / source.name).read_bytes()
    assert translate_files(request(model, other, out=out)).lines == 1
    assert (out / source.name).read_bytes() == first
    with pytest.raises(InputError, match="something else"):  # its output is there, and was made otherwise
        translate_files(request(model, other, out=out, search={"beams": 2}))


def test_translations_that_somebody_cleared_are_made_again(model: str, source: Path) -> None:
    with pytest.raises(Broken):
        translate_files(request(model, source), breaking_after(1, []))
    shutil.rmtree(JobFolder.beside(source.with_suffix(".fr")).targets)
    assert translate_files(request(model, source)).before == 0
    assert source.with_suffix(".fr").read_text(encoding="utf-8") == expected(model)

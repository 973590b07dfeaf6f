"""Documents through a pipeline: what is filled in, what is kept, what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polib
import pytest

from regard.errors import InputError
from regard.tasks.document_translation import BATCH, DocumentProgress, DocumentRequest, translate_document
from regard.tasks.pipeline import TranslatedText
from tests.unit.documents.samples import HOSTILE, LANGUAGES, PO, samples, shouting

SAMPLES = samples()
FRENCH_SRT = """\
1
00:00:01,000 --> 00:00:02,500
Le chat est dans la maison et le chien est sur la chaise.

2
00:00:03,000 --> 00:00:04,000
Il ne dort pas, mais nous sommes avec des amis pour les voir.
"""


class Shouting:
    """A pipeline that shouts, and remembers what it was asked."""

    def __init__(self, change: Any = shouting) -> None:
        self.change, self.asked = change, [""][:0]

    def translate(self, texts: Sequence[str], **options: Any) -> list[TranslatedText]:
        self.asked += texts
        return [
            TranslatedText(self.change(text), min(len(text) / 100, 1.0), ("cat",) * ("cat" in text)) for text in texts
        ]


def request(tmp_path: Path, name: str, data: bytes | None = None, **more: Any) -> DocumentRequest:
    source = tmp_path / name
    source.write_bytes(SAMPLES[name] if data is None else data)
    return DocumentRequest(source, tmp_path / f"out-{name}", LANGUAGES, **more)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_second_run_changes_nothing(name: str, tmp_path: Path) -> None:
    job = request(tmp_path, name)
    first = translate_document(job, Shouting())
    output = job.out.read_bytes()
    assert first.filled > 0
    assert first.filled + first.unchanged == first.segments
    assert job.source.read_bytes() == SAMPLES[name]
    again = translate_document(job, Shouting())
    assert job.out.read_bytes() == output
    assert again.segments == first.segments
    if name.endswith((".po", ".xliff", ".xlf", ".tmx")):
        assert again.filled == 0


def test_what_people_changed_in_the_output_stays(tmp_path: Path) -> None:
    job = request(tmp_path, "a.po")
    translate_document(job, Shouting())
    catalogue = polib.pofile(str(job.out))
    entry = catalogue.find("Open the file")
    entry.msgstr, entry.flags = "Ouvrir", []
    catalogue.save(str(job.out))
    reviewed = job.out.read_bytes()
    pipeline = Shouting()
    assert translate_document(job, pipeline).filled == 0
    assert job.out.read_bytes() == reviewed
    assert pipeline.asked == []
    assert translate_document(job._replace(anew=True), pipeline).filled == 5
    job.source.write_text(PO.replace("Open the file", "Open a file"), encoding="utf-8")
    assert translate_document(job, pipeline).filled == 5  # another text: what was there is not its translation


def test_the_report_counts_and_names(tmp_path: Path) -> None:
    report = translate_document(request(tmp_path, "a.po"), Shouting())
    assert (report.segments, report.filled, report.unchanged, report.fallbacks) == (6, 5, 1, 0)
    assert [row.doubt for row in report.doubts] == sorted((row.doubt for row in report.doubts), reverse=True)
    assert report.unused_terms == {"cat": 2}
    assert report.rows[4].target == "Fermer"
    broken = translate_document(request(tmp_path, "a.html"), Shouting(HOSTILE["drops codes"]))
    assert broken.fallbacks == sum("<" in row.source or "&" in row.source for row in broken.rows if row.fallback) > 1


def test_progress_is_told_batch_by_batch(tmp_path: Path) -> None:
    lines = "\n".join(f"Line {'x' * number} of it" for number in range(BATCH + 3)).encode()
    events: list[DocumentProgress] = []
    translate_document(request(tmp_path, "long.txt", lines), Shouting(), events.append)
    assert events == [(0, BATCH + 3), (BATCH, BATCH + 3), (BATCH + 3, BATCH + 3)]


@pytest.mark.parametrize("name", ["a.srt", "a.txt"])
def test_a_document_that_reads_as_a_translation_is_left_alone(name: str, tmp_path: Path) -> None:
    pipeline = Shouting()
    report = translate_document(request(tmp_path, name, FRENCH_SRT.encode()), pipeline)
    assert report.in_target_language
    assert pipeline.asked == []
    assert (tmp_path / f"out-{name}").read_text(encoding="utf-8") == FRENCH_SRT


def test_a_pipeline_that_raises_leaves_no_output(tmp_path: Path) -> None:
    def refuse(text: str) -> str:
        raise InputError("no")

    job = request(tmp_path, "a.html")
    with pytest.raises(InputError):
        translate_document(job, Shouting(refuse))
    assert sorted(tmp_path.iterdir()) == [job.source]

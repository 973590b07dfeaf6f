"""`regard translate MODEL DOCUMENT --out DOCUMENT`, as a person meets it, with the model that ships."""

from __future__ import annotations

from pathlib import Path

import polib
import pytest
from typer.testing import CliRunner, Result

from regard.cli import app

PAGE = """\
<html lang="en"><head><title>The cat sleeps.</title></head>
<body><p class="x">The cats sleep.</p><pre>The cat sleeps.</pre><p>42</p></body></html>
"""
MESSAGES = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "The cat sleeps."\nmsgstr ""\n'


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["translate", "grammar", *map(str, arguments), "--device", "cpu"])


def test_a_page_is_translated_reviewed_and_not_translated_again(tmp_path: Path) -> None:
    source, out, review = tmp_path / "a.html", tmp_path / "out" / "a.fr.html", tmp_path / "review.html"
    source.write_text(PAGE, encoding="utf-8")
    result = run(source, "--out", out, "--review", review)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert f"wrote {out}: 2 of 2 segments filled in, 0 kept" in result.stderr
    page = out.read_text(encoding="utf-8")
    assert '<html lang="fr"><head><title>Le chat dort.</title>' in page
    assert '<p class="x">Les chats dorment.</p><pre>The cat sleeps.</pre><p>42</p>' in page
    reviewed = review.read_text(encoding="utf-8")
    assert "Les chats dorment." in reviewed
    assert 'data-links="0-0 1-1 2-2"' in reviewed
    again = run(out, "--out", tmp_path / "again.html")
    assert again.exit_code == 0
    assert "0 of 2 segments filled in, 2 kept" in again.stderr
    assert (tmp_path / "again.html").read_bytes() == out.read_bytes()


def test_several_documents_go_into_a_folder_and_a_glossary_is_read(tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("cat\tchat\n", encoding="utf-8")
    (tmp_path / "a.po").write_text(MESSAGES, encoding="utf-8")
    (tmp_path / "b.md").write_text("# The cat sleeps.\n", encoding="utf-8")
    result = run(tmp_path / "a.po", tmp_path / "b.md", "--out", tmp_path / "out", "--glossary", terms)
    assert result.exit_code == 0, result.stderr
    (entry,) = polib.pofile(str(tmp_path / "out" / "a.po"))
    assert "chat" in entry.msgstr
    assert entry.fuzzy
    assert (tmp_path / "out" / "b.md").read_text(encoding="utf-8").startswith("# ")


def test_text_that_is_reviewed_is_a_document_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat sleeps.\n\nThe cats sleep.\n", encoding="utf-8")
    result = run(tmp_path / "a.txt", "--out", tmp_path / "b.txt", "--review", tmp_path / "r.html")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "Le chat dort.\n\nLes chats dorment.\n"
    assert (tmp_path / "r.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.po"], "a place for the translations"),
        (["a.po", "--out", "b.po", "--workers", "2"], "stay what they are"),
        (["a.po", "--out", "b.po", "--json"], "stay what they are"),
        (["a.po", "b.po", "--out", "x", "--review", "r.html"], "a review is of one file"),
        (["nowhere.po", "--out", "b.po"], "nowhere.po cannot be read"),
        (["a.po", "--out", "a.po"], "written over itself"),
        (["--review", "r.html"], "are for files"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.po", "b.po"):
        Path(name).write_text(MESSAGES, encoding="utf-8")
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert Path("a.po").read_text(encoding="utf-8") == MESSAGES

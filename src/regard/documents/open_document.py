"""A file by its name: which format it has."""

from __future__ import annotations

from pathlib import Path

from regard.documents.html import HtmlDocument
from regard.documents.markdown import Markdown
from regard.documents.plain_text import PlainText
from regard.documents.po import Catalogue
from regard.documents.segments import Document, Languages
from regard.documents.subtitles import Subtitles, WebVtt
from regard.documents.translation_memory import TranslationMemory
from regard.documents.word import WordDocument
from regard.documents.xliff import Xliff
from regard.errors import UnknownNameError

FORMATS: dict[str, type[Document]] = {
    ".docx": WordDocument,
    ".htm": HtmlDocument,
    ".html": HtmlDocument,
    ".markdown": Markdown,
    ".md": Markdown,
    ".po": Catalogue,
    ".srt": Subtitles,
    ".tmx": TranslationMemory,
    ".txt": PlainText,
    ".vtt": WebVtt,
    ".xlf": Xliff,
    ".xliff": Xliff,
}


def open_document(path: str | Path, languages: tuple[str, str] | None = None) -> Document:
    """The file's segments, to be read and filled in.

    `languages`: from which language to which. Some files say it themselves; others get the new one written into them.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UnknownNameError("kind of document", suffix or path.name, FORMATS)
    return FORMATS[suffix](path, Languages(*languages) if languages else None)

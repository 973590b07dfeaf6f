"""Files that people translate: PO, XLIFF, TMX, subtitles, HTML, Markdown, Word and plain text, as lists of segments.

Each format is a file of its own behind `open_document`. Passages of a text know where they stand, and only they are
written anew: what is not translated stays byte for byte. Nothing here knows of models.
"""

from regard.documents.guard import GuardedTranslation, SegmentTranslation, translate_guarded
from regard.documents.open_document import FORMATS, open_document
from regard.documents.segments import Document, Languages, Segment

__all__ = [
    "FORMATS",
    "Document",
    "GuardedTranslation",
    "Languages",
    "Segment",
    "SegmentTranslation",
    "open_document",
    "translate_guarded",
]

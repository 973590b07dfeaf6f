"""Files to checked rows of text, one at a time: nothing is read whole, and nothing is dropped without being counted.

What formats there are is in `formats`, what makes a row unfit is in `checks`, and `Corpus` puts the two together.
"""

from regard.text.corpora.checks import Checks, digest
from regard.text.corpora.corpus import Corpus
from regard.text.corpora.guess import guess_kind, suits_two_fields
from regard.text.corpora.report import CorpusReport
from regard.text.corpora.rows import CorpusRow, ReadOptions
from regard.text.corpora.source import Source, as_columns, with_reading
from regard.text.corpora.swapped import guess_language, looks_swapped

__all__ = [
    "Checks",
    "Corpus",
    "CorpusReport",
    "CorpusRow",
    "ReadOptions",
    "Source",
    "as_columns",
    "digest",
    "guess_kind",
    "guess_language",
    "looks_swapped",
    "suits_two_fields",
    "with_reading",
]

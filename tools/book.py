"""`python -m tools.book` puts the book together in build/book, for Sphinx: the pages of docs/ and those made of facts.

Made each time, and never by hand: the pages of claims and the table of verdicts (from docs/claims/results), the
reference (from docstrings and `--help`), the gallery and the notebooks (by running what they show).

`python -m tools.book --measure [NAME...] [--full --data DIR --device cuda]` tries claims, all of them where none is
named, and stores each result with its command, versions and date.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tools.book_api import api_pages
from tools.book_claims import claim_pages
from tools.book_gallery import gallery_pages
from tools.book_notebooks import notebook_pages
from tools.book_results import RESULTS, MeasureOptions, measure

ROOT = Path(__file__).resolve().parent.parent
DOCS, BOOK = ROOT / "docs", ROOT / "build" / "book"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs="*", metavar="NAME", help="try these claims, or all, and keep the results")
    parser.add_argument("--full", action="store_true", help="their full form")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where real text lies, for --full")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or mps")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="where results go")
    given = parser.parse_args()
    if given.measure is None:
        put_together(BOOK)
        return
    failed = measure(given.measure, MeasureOptions(given.full, given.data, given.device, given.results))
    if failed:
        sys.exit(f"could not be tried: {', '.join(failed)}")


def put_together(book: Path) -> None:
    """The folder that Sphinx reads, anew each time: what no longer belongs there is gone."""
    shutil.rmtree(book, ignore_errors=True)
    shutil.copytree(DOCS, book)
    pages = {**claim_pages(), **api_pages(), **gallery_pages(), **notebook_pages(book)}
    for path, text in pages.items():
        target = book / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""The links of two directions made into one alignment."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from regard.errors import UnknownNameError
from regard.text.scores.alignment_error import Link

WAYS = ("intersection", "grow-diag", "union")
AROUND = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrised(there: Collection[Link], back: Collection[Link], way: str = "grow-diag") -> list[Link]:
    """Both are (source word, target word), whichever model made them.

    intersection  what both say: few links, mostly right
    grow-diag     these, and what one of them says next to a link, where a word has none yet (Koehn et al. 2003)
    union         what either says
    """
    if way not in WAYS:
        raise UnknownNameError("way to join two alignments", way, WAYS)
    both, either = set(there) & set(back), set(there) | set(back)
    if way == "grow-diag":
        grow(both, either)
    return sorted(either if way == "union" else both)


def grow(links: set[Link], either: set[Link]) -> None:
    """Add neighbours of links that join a word with none yet, as long as there are any."""
    added = True
    while added:
        added = False
        for link in sorted(links):
            for i, j in neighbours(link):
                sources, targets = {one for one, _ in links}, {one for _, one in links}
                if (i, j) in either and (i, j) not in links and (i not in sources or j not in targets):
                    links.add((i, j))
                    added = True


def neighbours(link: Link) -> Iterator[Link]:
    for down, across in AROUND:
        yield link[0] + down, link[1] + across

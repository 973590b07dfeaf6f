"""The page for reading a translation over: self-contained, escaped, usable without a mouse."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from regard.drawing.review_page import ReviewRow, review_page

ROWS = [
    ReviewRow("line 1", "The cat", "Le chat", 0.125, (), (("The", "cat"), ("Le", "chat")), ((0, 0), (1, 1))),
    ReviewRow("line 2", "<script>alert('x')</script> & {name}", '"</td><b>', 0.9, ("not used: <i>",)),
    ReviewRow("", "Done", "Fini"),
]


def test_text_cannot_become_markup() -> None:
    page = review_page("<b>file</b>", ROWS, ("en", "fr"))
    assert "<b>file" not in page
    assert "<script>alert" not in page
    assert "<code>&lt;script&gt;</code>alert(&#x27;x&#x27;)" in page
    assert "not used: &lt;i&gt;" in page
    assert page.count("<script>") == page.count("</script>") == 1


def test_it_needs_no_network_and_knows_the_dark() -> None:
    page = review_page("a.po", ROWS)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(|\ssrc=", page)
    assert "prefers-color-scheme: dark" in page


def test_rows_carry_what_sorting_and_alignment_need() -> None:
    page = review_page("a.po", ROWS, ("en", "fr"))
    assert "2 of 3 segments by machine · 1 of them doubtful" in page
    assert re.findall(r'<tr class="(\w+)" tabindex="(-?\d)" data-number="(\d)" data-doubt="([-\d.]+)"', page) == [
        ("sure", "0", "1", "0.1250"), ("doubtful", "-1", "2", "0.9000"), ("old", "-1", "3", "-1.0000"),
    ]  # fmt: skip
    assert 'data-words="[[&quot;The&quot;, &quot;cat&quot;], [&quot;Le&quot;, &quot;chat&quot;]]"' in page
    assert 'data-links="0-0 1-1"' in page
    assert '<td lang="fr" dir="auto">Le chat</td>' in page


def test_it_is_well_formed() -> None:
    class Nesting(HTMLParser):
        stack: list[str] = []  # noqa: RUF012  of this one page

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "input"):
                self.stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.stack.pop() == tag

    parser = Nesting()
    parser.feed(review_page("a.po", ROWS))
    assert parser.stack == []

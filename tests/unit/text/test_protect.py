"""Spans: what must come out as it went in, and what is only text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.protect import find_spans, keeps_spans, nesting_faults


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("See https://example.org/a?b=c#d.", ["https://example.org/a?b=c#d"]),
        ("(see http://en.wikipedia.org/wiki/Cat_(animal))", ["http://en.wikipedia.org/wiki/Cat_(animal)"]),
        ("Go to www.example.com, or to example.org!", ["www.example.com", "example.org"]),
        ("Write to jane.doe+x@mail.example.com.", ["jane.doe+x@mail.example.com"]),
        ("%s has %d files (%5.2f MB), %1$s of %2$d", ["%s", "%d", "%5.2f", "%1$s", "%2$d"]),
        ("%(name)s and %{user}, %1 of %2, 100%% and %n", ["%(name)s", "%{user}", "%1", "%2", "%%", "%n"]),
        ("{name} is {0}, {} or {x:.2f}; {{y}} and ${HOME}", ["{name}", "{0}", "{}", "{x:.2f}", "{{y}}", "${HOME}"]),
        ("{n, plural, one {# file} other {# files}} left", ["{n, plural, one {# file} other {# files}}"]),
        ("$1 was replaced by $name", ["$1", "$name"]),
        ("I am 100% sure, 50% of it costs $15.50 or $1 million", []),
        ("une remise de 20 %, 100 % d'accord", []),
        ('A <a href="x">link</a>, a<br/>break &amp; more', ['<a href="x">', "</a>", "<br/>", "&amp;"]),
        ("<b><i>%s</i></b> files", ["<b><i>%s</i></b>"]),
        ("Run <code>rm -rf x</code> or `ls -l`", ["<code>rm -rf x</code>", "`ls -l`"]),
        ("a < b and c > d", []),
        ("Nice 😀👍🏽 work 👨‍👩‍👧 :-) 🇫🇷", ["😀👍🏽", "👨‍👩‍👧", ":-)", "🇫🇷"]),
        (
            "Open /etc/hosts, ~/a/b.txt, C:\\Users\\x or report.pdf",
            ["/etc/hosts", "~/a/b.txt", "C:\\Users\\x", "report.pdf"],
        ),
        ("and/or he/she at 90 km/h 24/7, e.g. this", []),
        ("On 2024-05-01 at 14:30, version 1.2.3 and v2", ["2024-05-01", "14:30", "1.2.3", "v2"]),
        ("at 4:30 p.m. in the 1990s on the 21st", []),
        ("Order AB-1234 of 123456789, call +33 1 23 45 67 89", ["AB-1234", "123456789", "+33 1 23 45 67 89"]),
        ("COVID-19 and MP3 on A4", ["COVID-19", "MP3", "A4"]),
        ("It cost 1,234,567 euros in 2023", []),
        ("@jane said #hello", ["@jane", "#hello"]),
        ("%d/%d done, ${HOST}:${PORT}", ["%d/%d", "${HOST}:${PORT}"]),
        ("a slot \ue003 of one's own", ["\ue003"]),
    ],
)
def test_what_is_a_span(text: str, spans: list[str]) -> None:
    assert [text[span.start : span.stop] for span in find_spans(text)] == spans
    assert [span.fill for span in find_spans(text)] == spans


@given(st.text(st.sampled_from("ab1 %${}<>/`&;:@#.\\\ue0000xs-+é😀\n(),"), max_size=60))
def test_spans_stand_in_order_and_apart(text: str) -> None:
    spans = find_spans(text)
    for before, after in pairwise(spans):
        assert before.stop < after.start
    assert all(span.start < span.stop and text[span.start : span.stop] == span.fill for span in spans)
    assert keeps_spans(text, text, spans)


@pytest.mark.parametrize(
    "unit", ["{", "{a", "<", "<!--", "```", "`", "a.", "a", "%", "$", "/", "<a ", "&", "(", "1", "1.", "-1", "a@", "0 "]
)
def test_no_text_takes_long(unit: str) -> None:
    """Steps of the search grow with the text, not with its square: else this would take hours."""
    assert len(find_spans(unit * (60_000 // len(unit)))) <= 60_000


def test_faults_of_nesting() -> None:
    assert nesting_faults("<b>a <i>b</i></b> <br> <x/>") == 0
    assert nesting_faults("<b>a <i>b</b></i>") > 0
    assert nesting_faults("a</b> c <i>") == 2
    source, spans = "a <b>c</b>", find_spans("a <b>c</b>")
    assert keeps_spans(source, "x <b>y</b> z", spans)
    assert not keeps_spans(source, "x </b>y<b> z", spans)
    assert not keeps_spans(source, "x <b>y</b></b>", spans)
    assert not keeps_spans(source, "x y</b>", spans)

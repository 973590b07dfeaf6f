"""Spans of a text that must come out as they went in: addresses, placeholders, tags, emoji, code, paths and codes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from regard.text.slots import SLOT

LONGEST = 2000  # characters of a comment or a block of code: beyond, its end is not looked for


class Span(NamedTuple):
    """From `start` up to `stop`, what kind of thing stands there, and what stands for it in the translation."""

    start: int
    stop: int
    kind: str
    fill: str


# What a conversion of printf, strftime or their kin ends with.
CONVERSION = r"(?:hh?|ll?|[jztLq])?[diouxXeEfFgGcrsap@YmHMSyBbAIjn]"
EXTENSIONS = (
    "avi|bash|bat|bmp|c|cc|cfg|conf|cpp|css|csv|docx?|exe|gif|go|gz|h|html?|ini|ipynb|java|jpe?g|js|json|log|md|mkv|"
    "mp[34]|odt|pdf|php|png|po|pptx?|py|rb|rs|rtf|sh|sql|srt|svg|tar|tex|toml|ts|tsv|txt|vtt|wav|webp|xlsx?|xml|ya?ml|zip"
)
DOMAINS = "com|org|net|edu|gov|info|io|dev|app|fr|eu|ca|be|ch|de|uk|us|co"
PICTURE = "[\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\U0001f000-\U0001faff]"
PATTERNS = {
    "slot": SLOT.pattern + "+",
    "code": rf"```(?s:.{{1,{LONGEST}}}?)```|`[^`\n]+`",
    "tag": (
        rf"<!--(?s:.{{0,{LONGEST}}}?)-->"
        rf"|<(?P<element>code|pre|kbd|samp|script|style)\b[^<>]*>(?s:.{{0,{LONGEST}}}?)</(?P=element)>"
        r"|</?[A-Za-z][\w:.-]*+(?:\s[^<>]*)?/?>"
    ),
    "entity": r"&(?:[A-Za-z]\w{1,31}|#\d{1,7}|#x[0-9A-Fa-f]{1,6});",
    "url": rf"(?:\b(?:https?|ftp|file)://|\bwww\.|\bmailto:)(?:\([^\s()<>]*\)|[^\s()<>\"«»`{SLOT.pattern[1:-1]}])+",
    "email": r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+",
    "domain": rf"(?<![\w@./-])(?i:(?:[a-z0-9-]++\.)+(?:{DOMAINS})\b(?![.-]\w)(?:/[^\s<>\"()]*)?)",
    "placeholder": (
        r"\{\{[^{}\n]*\}\}|[$%#]?\{(?:[^{}\n]|\{[^{}\n]*\})*+\}"
        rf"|%\(\w+\)[-+#0]?\d*(?:\.\d+)?{CONVERSION}|%\d+\$[-+#0]?\d*(?:\.\d+)?{CONVERSION}"
        rf"|(?<!\d)%[-+#0]?\d*(?:\.\d+)?{CONVERSION}|(?<=\d)%[-+#0]?\d*{CONVERSION}(?![\w'’])"
        r"|%%|%L?\d{1,2}(?!\d)|%[A-Z_]+%"
        r"|(?<!\w)\$(?:\([^()\n]*\)|[A-Za-z_]\w*|\d(?!\d|[.,]\d|\s*(?:million|billion|milliard)))"
        r"|\\[nrt\"\\]"
    ),
    "path": (
        r"(?<![\w\\])[A-Za-z]:\\[^\s<>\"|?*]*|(?<!\\)\\\\[\w.-]+\\[^\s<>\"|?*]*"
        r"|(?<![\w/.~<])(?:~|\.{1,2})?/(?:[\w.@+-]++/)*[\w.@+-]*\w/?"
        rf"|(?<![\w/.*-])(?:[\w.-]++/)*(?:\*|[\w-][\w.-]*)\.(?:{EXTENSIONS})(?![\w-])"
    ),
    "number": (
        r"(?<![\w.-])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])"
        r"|(?<![\w./-])\d{1,4}(?P<mark>[/.-])\d{1,2}(?P=mark)\d{2,4}(?![\w/])"
        r"|(?<![\w:.])\d{1,2}:\d\d(?::\d\d)?(?![\w:]|\s*[AaPp]\.?[Mm]\b)"
        r"|(?<![\w.])[vV]?\d+(?:\.\d+){2,}(?:[-+.]?[a-z]+\.?\d*)?(?!\w)|(?<![\w.])[vV]\d+(?:\.\d+)*(?!\w)"
        r"|(?<!\w)[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?!\w)|(?<!\w)0x[0-9A-Fa-f]+(?!\w)"
        r"|(?<![\w+])\+\d[\d ().-]{6,18}\d(?!\w)|(?<!\w)0\d(?:[ .]\d\d){4}(?!\w)"
        r"|(?<![\w-])\d{2,4}-\d{2,4}-\d{3,4}(?![\w-])"
        r"|(?<![\w-])[A-Z][A-Z0-9]*-?\d[A-Z0-9]*(?:-[A-Z0-9]+)*(?![\w'])|(?<![\w.,])\d{5,}(?![\w]|[.,]\d)"
    ),
    "handle": r"(?<![\w@.])@\w[\w.-]*|(?<![\w&#])#\w+",
    "emoji": (
        rf"(?:[\U0001f1e6-\U0001f1ff]{{2}}|[#*0-9]\ufe0f?\u20e3|(?:{PICTURE}[\ufe0e\ufe0f]?[\U0001f3fb-\U0001f3ff]?)"
        rf"(?:\u200d{PICTURE}[\ufe0e\ufe0f]?[\U0001f3fb-\U0001f3ff]?)*|[\u2122\u2139\u00a9\u00ae]\ufe0f?)+"
        r"|(?<!\S)(?:[:;=8][-o']?[)(\]\[DPpOo/|*]|<3|[xX]D|\^\^)(?![^\s.,!?])"
    ),
}  # fmt: skip
ANY = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in PATTERNS.items()))
TRAILING = {
    "url": ".,;:!?'’…*_",
    "domain": ".,;:!?'’…",
    "handle": ".-",
    "path": ".,;:!?'’…",
}  # no part of it at its end
GLUE = re.compile(r"[/:.,;|=+&_~*-]{0,3}")  # between two spans that are one thing: %d/%d
EDGE_KINDS = ("tag", "emoji")  # which say nothing to the sentence when they stand around it


def find_spans(text: str) -> list[Span]:
    """The spans of a text in order, none of which touch: neighbours that only punctuation parts are one."""
    spans: list[Span] = []
    for match in ANY.finditer(text):
        kind = match.lastgroup if match.lastgroup in PATTERNS else kind_of(match)
        assert kind is not None
        body = match[0].rstrip(TRAILING.get(kind, ""))
        if body:
            spans.append(Span(match.start(), match.start() + len(body), kind, body))
    return merged(text, spans)


def kind_of(match: re.Match[str]) -> str:
    return next(kind for kind in PATTERNS if match[kind] is not None)


def merged(text: str, spans: Iterable[Span]) -> list[Span]:
    """Neighbours with nothing but a mark or two between them together."""
    together: list[Span] = []
    for span in spans:
        if together and GLUE.fullmatch(text, together[-1].stop, span.start):
            before = together.pop()
            kind = span.kind if span.kind == before.kind else "several"
            span = Span(before.start, span.stop, kind, text[before.start : span.stop])
        together.append(span)
    return together


TAG = re.compile(r"<(?P<closing>/?)(?P<name>[A-Za-z][\w:.-]*+)(?:\s[^<>]*?)?(?P<empty>/?)>")
VOID = frozenset(["br", "hr", "img", "input", "link", "meta", "wbr", "x"])  # elements that nothing closes


def tag_names(text: str) -> set[str]:
    return {match["name"] for match in TAG.finditer(text)}


def nesting_faults(text: str) -> int:
    """How many tags close what is not open, or open what is never closed. A sentence of several may well have some."""
    open_names: list[str] = []
    faults = 0
    for match in TAG.finditer(text):
        if match["empty"] or match["name"].lower() in VOID:
            continue
        if not match["closing"]:
            open_names.append(match["name"])
        elif open_names and open_names[-1] == match["name"]:
            open_names.pop()
        else:
            faults += 1
    return faults + len(open_names)


def keeps_spans(source: str, output: str, spans: Iterable[Span]) -> bool:
    """Whether each span stands in the output as often as in the source, and tags are nested no worse than there."""
    if any(source.count(span.fill) != output.count(span.fill) for span in spans):
        return False
    return nesting_faults(output) <= nesting_faults(source)

"""A text as what a model is asked, and what stands around it: the model never sees what it could only spoil."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from regard.tasks.number_signs import NUMBER
from regard.text.capitals import is_acronyms, is_shouted, like_source, lowered, raised
from regard.text.protect import EDGE_KINDS, Span, keeps_spans, tag_names
from regard.text.repetition import repeats, without_repeats
from regard.text.sentences import LINE_END, split_sentences
from regard.text.slots import SLOT, SLOTS
from regard.text.slotted import Slotted

BULLET = re.compile(r"\s*(?:(?:[-*•‣·◦–—+>]|#{1,6}|\(?\d{1,3}[.)]|\(?[A-Za-z]\)|[a-z]\.|\[[ xX]?\])[ \u00a0]+)+")
BLOCK = re.compile(
    r"(?i)</?(?:br|hr|p|div|li|[uo]l|d[ltd]|h[1-6]|t[drh]|table|thead|tbody|section|article|blockquote|option)\b[^<>]*>"
)
FAR_TOO_SHORT = 0.25  # of the letters of a source: fewer say something else
ENDS = ".!?…:;,"
CLOSING = "\"'»”’)]"  # that a mark at the end may stand inside of
DOTS = re.compile(r"(\.{3}|…)(?=[^\W\d_])")  # with a word at once behind
MARKS_APART = re.compile(r"(?:[!?][ \u00a0\u202f]){2,}[!?]")
BLANK = re.compile(rf"[{LINE_END}]")


@dataclass(frozen=True)
class SentenceUnit:
    """A sentence, or a part of one, with its spans: those that must be kept, and terms of a glossary."""

    text: str
    spans: tuple[Span, ...]
    shouted: bool
    knows_slots: bool

    @cached_property
    def protected(self) -> tuple[Span, ...]:
        return tuple(span for span in self.spans if span.kind != "term")

    @cached_property
    def forms(self) -> list[Slotted]:
        """What a model may be asked: the first ways, then without slots for terms."""
        more = [Slotted.of(self.text, self.protected)] if self.knows_slots and self.protected != self.spans else []
        return [*self.first_forms, *more]

    @cached_property
    def first_forms(self) -> list[Slotted]:
        """What a model is asked first: the text, and where it has no mark at its end, also as a sentence."""
        spans = self.spans if self.knows_slots else ()
        texts = [self.text, as_sentence(self.text, self.spans)] if is_bare(self.text) else [self.text]
        return [Slotted.of(text, spans) for text in texts]

    def accept(self, form: Slotted, output: str) -> str | None:
        """The translation that an output stands for; None if a span or most words are lost, or it repeats itself."""
        output = BLANK.sub(" ", output).strip()
        if not output or repeats(output, form.source):
            return None
        if len(letters(output)) < FAR_TOO_SHORT * len(letters(form.source)):
            return None
        text = form.restore(spaced(like_source(self.text, output), self.text), self.change)
        return text if text is not None and keeps_spans(self.text, text, self.protected) else None

    def with_numbers(self) -> SentenceUnit:
        """The same with every number, and the sign that belongs to it, among what must be kept."""
        return replace(self, spans=number_spans(self.text, self.spans))

    def change(self, text: str) -> str:
        """In capitals if the source was, but for its spans."""
        return raised(text, [span.fill for span in self.protected]) if self.shouted else text

    @cached_property
    def pieces(self) -> list[str]:
        """The texts between the spans that must be kept: one more than there are of these."""
        edges = [0, *(edge for span in self.protected for edge in (span.start, span.stop)), len(self.text)]
        return [self.text[start:stop] for start, stop in zip(edges[::2], edges[1::2], strict=True)]

    def assemble(self, pieces: Sequence[str]) -> str | None:
        """The spans with these between them."""
        parts = [pieces[0]]
        for span, piece in zip(self.protected, pieces[1:], strict=True):
            parts += [span.fill, piece]
        text = "".join(parts)
        return text if keeps_spans(self.text, text, self.protected) else None

    def accept_piece(self, piece: str, output: str) -> str | None:
        """The translation of a piece, with the white space and marks around it; None if it will not do."""
        front, core, back = around(piece)
        output = BLANK.sub(" ", SLOT.sub("", output)).strip()
        output = without_repeats(output, core) if repeats(output, core) else output
        if not output or any(span.fill in output for span in self.protected):
            return None
        output = like_source(core, output if core[-1:] in ENDS else output.rstrip(" !?…") or output)
        return front + (raised(output) if self.shouted else output) + back

    @property
    def original(self) -> str:
        """As it was, for when nothing else is left."""
        return raised(self.text, [span.fill for span in self.protected]) if self.shouted else self.text


def spaced(output: str, source: str) -> str:
    """With a space behind dots as the source has it, and marks in a row together: a model writes "! ! !"."""
    output = output if DOTS.search(source) else DOTS.sub(r"\1 ", output)
    return MARKS_APART.sub(lambda match: re.sub(r"\s", "", match[0]), output)


def letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))


def has_words(text: str) -> bool:
    """Whether there is anything to translate: letters, and not of acronyms alone."""
    return any(map(str.isalpha, text)) and not is_acronyms(text)


def is_bare(text: str) -> bool:
    """Whether it has no mark at its end, or inside the quotes that close it."""
    return text.rstrip(CLOSING)[-1:] not in ENDS


def as_sentence(text: str, spans: Sequence[Span]) -> str:
    """With a capital and a full stop."""
    first = text if any(span.start == 0 for span in spans) else text[:1].upper() + text[1:]
    return (first if len(first) == len(text) else text) + "."


def number_spans(text: str, spans: Sequence[Span]) -> tuple[Span, ...]:
    """The spans, and with them every number that is in none: one of several digits, or one with a sign."""
    inside = [(span.start, span.stop) for span in spans]
    more = [
        Span(*match.span(), "digits", match[0])
        for match in NUMBER.finditer(text)
        if all(match.end() <= start or stop <= match.start() for start, stop in inside)
    ]
    return tuple(sorted([*spans, *more]))


def around(piece: str) -> tuple[str, str, str]:
    """A piece without the white space and the marks at its edges that a model might change, and these."""
    match = re.fullmatch(r"(?s)([\W_]*)(.*?)([\s\"'»”’)\](«“,;:–—/|-]*)", piece)
    assert match is not None
    return match[1], match[2], match[3]


def parts_of(text: str, spans: Sequence[Span], knows_slots: bool) -> Iterator[str | SentenceUnit]:
    """The text as units and what stands between them; together, with every unit as it was, they are the text."""
    at, edges = 0, [(span.start, span.stop) for span in spans]
    for sentence, space in split_sentences(text, edges):
        end = at + len(sentence)
        inside = [moved(span, -at) for span in spans if at <= span.start < end]
        yield from sentence_parts(sentence, inside, knows_slots)
        yield space
        at = end + len(space)


def moved(span: Span, by: int) -> Span:
    return span._replace(start=span.start + by, stop=span.stop + by)


def sentence_parts(text: str, spans: list[Span], knows_slots: bool) -> Iterator[str | SentenceUnit]:
    """The phrases of a sentence, and the tags that part them: those of a line, a cell or a paragraph."""
    blocks = [span for span in spans if BLOCK.search(span.fill)]
    at = 0
    for block in blocks:
        inside = [moved(span, -at) for span in spans if at <= span.start < block.start]
        yield from phrase_parts(text[at : block.start], inside, knows_slots)
        yield block.fill
        at = block.stop
    yield from phrase_parts(text[at:], [moved(span, -at) for span in spans if at <= span.start], knows_slots)


def phrase_parts(text: str, spans: list[Span], knows_slots: bool) -> Iterator[str | SentenceUnit]:
    """What stands around a phrase as it is, and the phrase as one unit, or several if its spans are too many."""
    start, stop = body(text, spans)
    yield text[:start]
    inside = [moved(span, -start) for span in spans if start <= span.start and span.stop <= stop]
    shouted = is_shouted(outside(text[start:stop], inside))
    for chunk, own in chunks(text[start:stop], inside, len(SLOTS) if knows_slots else None):
        words = chunk.rstrip()  # of the last nothing is left to strip
        yield unit(words, own, shouted, knows_slots) if has_words(outside(words, own)) else fill(words, own)
        yield chunk[len(words) :]
    yield text[stop:]


def body(text: str, spans: Sequence[Span]) -> tuple[int, int]:
    """Where the sentence stands, without bullets, white space, and tags and emoji at its edges.

    Tags stay if one of them belongs to another that is inside.
    """
    for kinds in (EDGE_KINDS, EDGE_KINDS[1:]):
        start, stop = peel(text, [span for span in spans if span.kind in kinds])
        inside = "".join(text[span.start : span.stop] for span in spans if start <= span.start and span.stop <= stop)
        if not tag_names(text[:start] + text[stop:]) & tag_names(inside):
            return start, stop
    return start, stop


def peel(text: str, edge_spans: Sequence[Span]) -> tuple[int, int]:
    """What is left between spans, bullets and white space at the edges."""
    start, stop = 0, len(text)
    first, last = {span.start: span.stop for span in edge_spans}, {span.stop: span.start for span in edge_spans}
    bullet = BULLET.match(text)
    if bullet and not any(span.start < bullet.end() for span in edge_spans):
        start = bullet.end()
    while start < stop and (text[start].isspace() or start in first):
        start = first.get(start, start + 1)
    while stop > start and (text[stop - 1].isspace() or stop in last):
        stop = last.get(stop, stop - 1)
    return min(start, stop), stop


def outside(text: str, spans: Sequence[Span]) -> str:
    """What is no span."""
    edges = [0, *(edge for span in spans for edge in (span.start, span.stop)), len(text)]
    return " ".join(text[start:stop] for start, stop in zip(edges[::2], edges[1::2], strict=True))


def chunks(text: str, spans: list[Span], most: int | None) -> Iterator[tuple[str, list[Span]]]:
    """The text in parts with at most so many spans each, cut in front of a span."""
    at = 0
    step = most or max(len(spans), 1)
    for number in range(0, max(len(spans), 1), step):
        own = spans[number : number + step]
        end = spans[number + step].start if number + step < len(spans) else len(text)
        yield text[at:end], [moved(span, -at) for span in own]
        at = end


def unit(text: str, spans: Sequence[Span], shouted: bool, knows_slots: bool) -> SentenceUnit:
    if not shouted:
        return SentenceUnit(text, tuple(spans), False, knows_slots)
    small = list(lowered(text))
    for span in spans:
        small[span.start : span.stop] = text[span.start : span.stop]
    louder = tuple(span._replace(fill=span.fill.upper()) if span.kind == "term" else span for span in spans)
    return SentenceUnit("".join(small), louder, True, knows_slots)


def fill(text: str, spans: Sequence[Span]) -> str:
    """Nothing but spans and marks: terms are put in, all else stays."""
    for span in reversed(spans):
        if span.kind == "term":
            was, word = text[span.start : span.stop], span.fill
            word = word.upper() if was.isupper() and len(was) > 1 else word
            word = word[:1].upper() + word[1:] if was[:1].isupper() else word
            text = text[: span.start] + word + text[span.stop :]
    return text

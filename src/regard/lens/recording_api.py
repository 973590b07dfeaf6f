"""A recording: what every head did in every call, readable when the model is long gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import update_wrapper
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from regard.attention.scores import blocks
from regard.attention.tiles import Axis, Positions
from regard.drawing.heat_svg import svg
from regard.drawing.writing import write_csv, write_text
from regard.errors import InputError
from regard.lens.alignment.from_recording import Alignment, Splits, align_calls
from regard.lens.assembly.builder import built, follow
from regard.lens.assembly.recorder import Recorder
from regard.lens.draw.heat import MapOptions, View, sides_in_words
from regard.lens.draw.heat_picture import picture
from regard.lens.draw.page import PageOptions, page, show
from regard.lens.head_kinds import Heads, Tally
from regard.lens.recording.fidelity import Badge
from regard.lens.recording.file import read_calls, write_calls
from regard.lens.recording.forward import ForwardCall, HeadNumbers
from regard.lens.recording.map import By
from regard.lens.recording.tokens import Row, Token

P = ParamSpec("P")
R = TypeVar("R")
ROWS = 256  # written at a time


def of_the_last(method: Callable[Concatenate[ForwardCall, P], R]) -> Callable[Concatenate[Recording, P], R]:
    """Ask the last call."""

    def ask(recording: Recording, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(recording.last, *args, **kwargs)

    return update_wrapper(ask, method)


class Recording:
    """Every forward is one of `calls`, a generation too; what is asked of the recording itself is about the last."""

    def __init__(self, recorder: Recorder | None = None, calls: Sequence[ForwardCall] = ()) -> None:
        self.recorder, self.loaded = recorder, list(calls)

    @property
    def calls(self) -> list[ForwardCall]:
        """In the order they were made."""
        calls = [] if self.recorder is None else self.recorder.calls
        return [*self.loaded, *(built(call) for call in calls if call.steps)]

    @property
    def last(self) -> ForwardCall:
        calls = self.calls
        if not calls:
            raise InputError(
                "nothing was recorded", found="no call of the model", do="run the model inside the with block"
            )
        return calls[-1]

    def pool(self, sites: Sequence[str] | None = None, cell: int | None = None) -> Recording:
        """The same calls with their maps pooled to cells of `cell` tokens, for what is to be looked at from afar.

        Coarse tiles of a long text are then read instead of computed, here and from the file that `save` writes. Every
        weight is computed once, and none is kept; `cell` is chosen so that some thousand cells make a side.
        """
        return Recording(calls=[call.with_pooled(sites, cell) for call in self.calls])

    @property
    def sites(self) -> list[str]:
        """The names of the attention layers, in the order they were called."""
        return self.last.sites

    @property
    def tokens(self) -> list[Token]:
        """Of the first text: strings with a tokenizer, else ids. Where there are two texts, the source's."""
        return self.last.tokens

    @property
    def target_tokens(self) -> list[Token]:
        """What the decoder read, where there are two texts."""
        return self.last.target_tokens

    @property
    def badge(self) -> Badge:
        """The truth about the last call."""
        return self.last.badge

    weights = of_the_last(ForwardCall.weights)
    row = of_the_last(ForwardCall.row)
    tile = of_the_last(ForwardCall.tile)
    labels = of_the_last(ForwardCall.labels)
    statistics = of_the_last(ForwardCall.statistics)
    received = of_the_last(ForwardCall.received)
    rollout = of_the_last(ForwardCall.rollout)

    def heads(self) -> Heads:
        """A line for every head, averaged over all calls."""
        tally = Tally()
        for call in self.calls:
            tally.add(call)
        return tally.table()

    def align(
        self, site: str | None = None, head: HeadNumbers = None, row: str | None = None, words: Splits = None,
        batch: int = 0,
    ) -> Alignment:  # fmt: skip
        """Which source word each target word of a pair looked at most: links (source word, target word).

        row    "input": where the word is the decoder's input; "output": where it is written, one earlier
        words  splits a text into words (at white space, by default), or gives (source words, target words)

        What is left out is chosen by how well the map agrees with itself on all calls; `.choice` says so.
        """
        return align_calls(self.calls, site, head, row, words, batch)

    def follow(self, texts: Sequence[Sequence[int]], roots: Sequence[int] | None = None, call: int = -1) -> None:
        """Put the beams of a search in order: row b of the batch becomes `texts[b]`, the ids that were said.

        `roots` says in which row of the prompt each text began; by default text b began in row b.
        """
        calls = [] if self.recorder is None else [one for one in self.recorder.calls if one.steps]
        if not -len(calls) <= call < len(calls):
            raise InputError("there is no such call to put in order", found=f"{call}, of {len(calls)}")
        follow(calls[call], texts, roots)

    def save(self, path: str | Path) -> None:
        """Write all calls as one `.regard` file, whole or not at all."""
        write_calls(self.calls, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Recording:
        """What `save` wrote."""
        return cls(calls=read_calls(Path(path)))

    def to_csv(
        self, path: str | Path, site: str, head: int, rows: Positions = None, columns: Positions = None,
        batch: int = 0, row: Row = "output", by: By = "weight",
    ) -> None:  # fmt: skip
        """One head's weights as a table, the tokens beside and above it, in the corner what it shows and how truly.

        `row`: beside a decoder's row stands the token that it writes ("output"), or the one that it read ("input").
        `rows`, `columns` and `by` are as for `weights`.
        """
        write_csv(path, table(self.last, View(site, head, rows, columns, batch, row, by)))

    def to_svg(
        self,
        path: str | Path | None = None,
        site: str | None = None,
        head: int | None = None,
        **options: Unpack[MapOptions],
    ) -> str:
        """A heat map as a standalone SVG: one head, without a head all of a site, without a site all there are.

        `rows` and `columns` are as for `weights`, `batch` is the text, `row` as for `to_csv`. `by="value"` draws each
        weight times the norm of its value, as a share of the head's largest norm. Above 65,536 cells (256 x 256) they
        are pooled, and the badge in the picture says so. With a path it is also written there.
        """
        drawn = svg(picture(self.last, View(site, head, **options)))
        if path is not None:
            write_text(drawn, path)
        return drawn

    def to_png(
        self, path: str | Path, site: str | None = None, head: int | None = None, **options: Unpack[MapOptions]
    ) -> None:
        """The same picture as a PNG, twice as fine as the screen."""
        from regard.drawing.heat_png import write_png  # Pillow only where it is needed

        write_png(picture(self.last, View(site, head, **options)), path)

    def to_html(self, path: str | Path | None = None, **options: Unpack[PageOptions]) -> str:
        """All heads as one interactive page that needs no network; with a path it is also written there.

        site, head  what it opens with; of a long text these are shown finer than the rest
        title       by default the text itself
        batch       the place of the text in its batch
        row         which tokens stand beside a decoder's rows, as for `to_csv`; on the page it can be changed
        by          "weight", or "value" as for `to_svg`; on the page it can be changed
        """
        html = page(self.last, **options)
        if path is not None:
            write_text(html, path)
        return html

    def show(self, **options: Unpack[PageOptions]) -> Any:
        """The same in a notebook, as the last line of a cell: a widget with the extra `notebook`, else the page."""
        return show(self.last, **options)

    def __repr__(self) -> str:
        calls = self.calls
        if not calls:
            return "Recording: nothing yet"
        heads = sum(len(one.heads) for one in self.last.maps.values())
        number = f"{len(calls)} call{'s' if len(calls) > 1 else ''}"
        return f"Recording: {number}, {len(self.sites)} sites and {heads} heads in the last"


def table(call: ForwardCall, view: View) -> Iterator[list[object]]:
    """Line by line; no more than some rows exist at a time."""
    assert view.site is not None
    assert view.head is not None
    high, wide = call.extent(view.site, view.batch)
    down, across = Axis.read("rows", view.rows, high), Axis.read("columns", view.columns, wide)
    beside, above = call.labels(view.site, view.batch, view.row)
    one = call.map(view.site)
    what = [f"weight times {one.norm_symbol}"] if view.by == "value" else []
    corner = (f"{view.site}, head {view.head}", *what, sides_in_words(call, view.site, view.row), one.badge)
    yield ["; ".join(map(str, corner)), *above[across.start : across.stop]]
    for part in blocks(slice(down.start, down.stop), ROWS):
        weights = call.weights(view.site, view.head, part, across.extent, view.batch, by=view.by)
        for token, line in zip(beside[part], weights.tolist(), strict=True):
            yield [token, *line]

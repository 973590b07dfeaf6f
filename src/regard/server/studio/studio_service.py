"""What the studio can do: every answer, over one desk."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from regard.lens.analysis.subject import Subject
from regard.lens.head_kinds import Tally
from regard.lens.map_answers.cell_facts import finite
from regard.server.refusals import Refusal
from regard.server.service import HALF
from regard.server.studio.aims import before_and_after, head_effects
from regard.server.studio.beam_tree import beam_tree
from regard.server.studio.catalogue import RECORDING, StudioCatalogue
from regard.server.studio.look_reading import (
    ModelInput,
    TokenLimits,
    classes,
    decoded,
    likeliest,
    masks_of,
    model_input,
    read_logits,
    read_watched,
    task_of,
)
from regard.server.studio.map_questions import CELLS
from regard.server.studio.model_shelf import ModelShelf
from regard.server.studio.run_shelf import run_curves, run_info
from regard.server.studio.schema import (
    CheckAnswer,
    CheckpointLookRequest,
    CheckRequest,
    CurvesAnswer,
    EffectAnswer,
    EffectRequest,
    FoundPositions,
    HeadEffectsAnswer,
    HeadRow,
    HeadsAnswer,
    LookAnswer,
    LookRequest,
    RunInfo,
    SearchAnswer,
    SearchRequest,
    SimilarityAnswer,
    SimilarityRequest,
    StudioBounds,
    StudioInfo,
    StudioStart,
    TextSide,
    TokenProbability,
    TypedAnswer,
    TypedRequest,
    VectorPlace,
    WorkedExample,
)
from regard.server.studio.stored_look import LookShelf, ModelKey, StoredLook
from regard.server.studio.text_search import found_positions
from regard.server.studio.token_vectors import Vectors, similarities, token_vectors
from regard.server.studio.typed_words import typed_words
from regard.server.studio.work_desk import StopSignal, WorkDesk
from regard.server.studio.worked_answers import checked, worked_examples
from regard.version import __version__

TALLIED = 1 << 28  # weights over which heads are described
A = TypeVar("A", covariant=True)
Target = str | Sequence[int] | None


class Question(Protocol[A]):
    """Something that may be asked of a look."""

    def answer(self, look: StoredLook, stop: StopSignal, /) -> A: ...


@dataclass(frozen=True)
class StudioLimits:
    """How much is read, kept, and may wait."""

    characters: int = 20_000
    tokens: int = 2048
    waiting: int = 64
    checks: int = 8
    looks: int = 48
    look_bytes: int = 1 << 30


@dataclass
class StudioService:
    """All answers. Models are touched in the desk's thread alone."""

    catalogue: StudioCatalogue
    device: str = "cpu"
    limits: StudioLimits = field(default_factory=StudioLimits)
    start: StudioStart = field(default_factory=lambda: StudioStart(page="steps"))

    def __post_init__(self) -> None:
        self.desk = WorkDesk(self.limits.waiting)
        self.checks = WorkDesk(self.limits.checks)  # which need no model, and keep none waiting
        self.shelf = ModelShelf(self.catalogue, self.device)
        self.looks = LookShelf(self.limits.looks, self.limits.look_bytes)
        self.session = secrets.token_hex(8)  # looks of an earlier server have other ids

    @property
    def bounds(self) -> TokenLimits:
        return TokenLimits(self.limits.characters, self.limits.tokens)

    def known(self, look: str) -> StoredLook:
        """The look of that id."""
        return self.looks.known(look)

    async def ask(self, look: StoredLook, question: Question[A]) -> A:
        """The answer to a question about a look."""
        return await self.desk.ask(lambda stop: question.answer(look, stop))

    async def info(self) -> StudioInfo:
        await asyncio.to_thread(self.catalogue.refresh)
        bounds = StudioBounds(
            characters=self.limits.characters, tokens=self.limits.tokens, beams=16, candidates=32, cells=CELLS
        )
        return StudioInfo(
            version=__version__,
            models=[place.info for place in self.catalogue.models.values()],
            recordings=list(self.catalogue.described.values()),
            runs=await self.runs(), start=self.start, limits=bounds,
        )  # fmt: skip

    async def examples(self) -> list[WorkedExample]:
        return await asyncio.to_thread(worked_examples)

    async def check(self, asked: CheckRequest) -> CheckAnswer:
        return await self.checks.ask(lambda stop: checked(asked, stop))

    async def runs(self) -> list[RunInfo]:
        await asyncio.to_thread(self.catalogue.refresh)
        runs = list(self.catalogue.runs.items())
        return await asyncio.to_thread(lambda: [run_info(name, folder) for name, folder in runs])

    async def curves(self, name: str) -> CurvesAnswer:
        folder = self.catalogue.run(name)
        return await asyncio.to_thread(run_curves, name, folder)

    async def look(self, asked: LookRequest) -> LookAnswer:
        """A look at a text, or at a recording."""
        if asked.model.startswith(RECORDING):
            self.catalogue.recording(asked.model.removeprefix(RECORDING))
            return (await self.desk.ask(lambda _: self.recorded(asked))).described()
        self.catalogue.model(asked.model)
        if asked.call is not None:
            raise Refusal(400, "Only a recording has calls: please leave the call out")
        return await self.look_with((asked.model, None), asked)

    async def look_at_checkpoint(self, name: str, asked: CheckpointLookRequest) -> LookAnswer:
        self.catalogue.run(name)
        return await self.look_with((name, asked.checkpoint), asked)

    async def look_with(self, key: ModelKey, asked: LookRequest | CheckpointLookRequest) -> LookAnswer:
        if asked.target is not None and asked.target_ids is not None:
            raise Refusal(400, "A target is given as text or as ids, and not as both")
        target: Target = asked.target if asked.target_ids is None else tuple(asked.target_ids)
        self.check_text(asked.text, *([target] if isinstance(target, str) else []))
        look = await self.desk.ask(lambda _: self.watched(key, asked.text, target))
        return look.described()

    def check_text(self, *texts: str) -> None:
        for text in texts:
            if HALF.search(text):
                raise Refusal(400, "A text has half of a surrogate pair in it, which stands for no character")
            if len(text) > self.limits.characters:
                sentence = f"A text has {len(text):,} characters, where at most {self.limits.characters:,} are read"
                raise Refusal(413, f"{sentence} here")

    def number(self, *parts: object) -> str:
        """The id of a look: the same question has the same."""
        return hashlib.blake2b(repr((self.session, parts)).encode(), digest_size=8).hexdigest()

    def recorded(self, asked: LookRequest) -> StoredLook:
        """A call of a recording."""
        name = asked.model.removeprefix(RECORDING)
        calls = self.shelf.calls(name)
        place = len(calls) - 1 if asked.call is None else asked.call
        if not 0 <= place < len(calls):
            raise Refusal(404, f"There is no call {place} in this recording: it has {len(calls)}, counted from 0")
        number = self.number(name, place)
        if known := self.looks.get(number):
            return known
        return self.looks.put(StoredLook(number, asked.model, None, "", "other", calls[place]))

    def watched(self, key: ModelKey, text: str, target: Target) -> StoredLook:
        """A model reads a text; what was read before is not read again."""
        subject = self.shelf.subject(key)
        number = self.number(self.shelf.place(key)[0], text, target)
        if known := self.looks.get(number):
            return known
        given = model_input(subject, text, target, self.bounds)
        call, _ = read_watched(subject, given)
        output, following = output_of(subject, given)
        name = key[0] if key[1] is None else f"{key[0]} at {key[1]}"
        look = StoredLook(
            number, name, key, text, task_of(subject), call, given.source, given.target, output, following,
            subject.reader.notes, self.shelf.alignment(key, subject),
        )  # fmt: skip
        return self.looks.put(look)

    async def heads(self, look: StoredLook) -> HeadsAnswer:
        return await self.desk.ask(lambda _: look.remembered("heads", lambda: heads_of(look)))

    async def head_effects(self, look: StoredLook) -> HeadEffectsAnswer:
        def effects(stop: StopSignal) -> HeadEffectsAnswer:
            subject, given = self.model_of(look)
            heads = [(site, head) for site, one in look.call.maps.items() for head in one.heads]
            answer: HeadEffectsAnswer = look.remembered("effects", lambda: head_effects(subject, given, heads, stop))
            return answer

        return await self.desk.ask(effects)

    async def find(self, look: StoredLook, side: TextSide, wanted: str) -> FoundPositions:
        return await asyncio.to_thread(found_positions, look.side(side), wanted)

    async def effects(self, asked: EffectRequest) -> EffectAnswer:
        look = self.known(asked.look)
        for change in asked.changes:
            look.check_site(change.site, change.head)

        def answer(stop: StopSignal) -> EffectAnswer:
            subject, given = self.model_of(look)
            return before_and_after(subject, given, asked.changes, stop)

        return await self.desk.ask(answer)

    async def similarity(self, asked: SimilarityRequest) -> SimilarityAnswer:
        ends = asked.left, asked.right
        looks = [self.known(place.look) for place in ends]
        tokens = [vector_token(look, place) for look, place in zip(looks, ends, strict=True)]

        def answer(_: StopSignal) -> SimilarityAnswer:
            left, right = (self.vectors(look)[place.side] for look, place in zip(looks, ends, strict=True))
            layers = similarities(left, right, (asked.left.position, asked.right.position))
            return SimilarityAnswer(left=tokens[0], right=tokens[1], layers=layers)

        return await self.desk.ask(answer)

    async def search(self, asked: SearchRequest) -> SearchAnswer:
        self.catalogue.model(asked.model)
        self.check_text(asked.text)
        return await self.desk.ask(
            lambda stop: beam_tree(self.shelf.subject((asked.model, None)), asked, self.bounds, stop)
        )

    async def typed(self, asked: TypedRequest) -> TypedAnswer:
        self.catalogue.model(asked.model)
        self.check_text(asked.words)
        return await self.desk.ask(lambda _: typed_words(self.shelf.subject((asked.model, None)), asked, self.bounds))

    def vectors(self, look: StoredLook) -> Vectors:
        vectors: Vectors = look.remembered("vectors", lambda: token_vectors(*self.model_of(look)))
        return vectors

    def model_of(self, look: StoredLook) -> tuple[Subject, ModelInput]:
        """The model of a look, and what it read."""
        if look.key is None or look.source_ids is None:
            raise Refusal(400, "A recording holds no model, so nothing of it can be run again")
        return self.shelf.subject(look.key), ModelInput(look.source_ids, look.target_ids)

    def close(self) -> None:
        self.desk.close()
        self.checks.close()


def output_of(subject: Subject, given: ModelInput) -> tuple[str | None, list[TokenProbability] | None]:
    """What a model says of its input, and what may come next."""
    task = task_of(subject)
    if task == "translate" and given.target is not None:
        return decoded(subject, given.target[1:]), None
    if task == "other":
        return None, None
    logits = read_logits(subject, given)
    if task == "classify":
        ranked = classes(subject, logits[0])
        return ranked[0].token, ranked
    if task == "mask":
        masks = masks_of(subject, given.source)
        return (None, None) if not masks else (None, likeliest(subject, logits[masks[0]]))
    return None, likeliest(subject, logits[-1])


def heads_of(look: StoredLook) -> HeadsAnswer:
    """The table of heads of one call."""
    sizes = [(one.heads, look.call.extent(site)) for site, one in look.call.maps.items()]
    if (cells := sum(len(heads) * rows * columns for heads, (rows, columns) in sizes)) > TALLIED:
        raise Refusal(413, f"These are {cells:,} weights: their heads are described by `regard heads`, and not here")
    tally = Tally()
    tally.add(look.call)
    measures = [name for name in HeadRow.model_fields if name not in ("site", "head")]
    rows = [
        HeadRow(site=line.site, head=line.head, **{name: finite(getattr(line, name)) for name in measures})
        for line in tally.table().lines
    ]
    return HeadsAnswer(columns=measures, rows=rows)


def vector_token(look: StoredLook, place: VectorPlace) -> str:
    tokens: Sequence[str] = look.side(place.side)
    if place.position >= len(tokens):
        raise Refusal(404, f"There is no token {place.position:,}: this text has {len(tokens):,}, counted from 0")
    return tokens[place.position]

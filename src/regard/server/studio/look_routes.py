"""Looks: a model reads a text once, and everything about what its heads did can be asked afterwards."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from regard.server.studio.map_questions import (
    CellQuestion,
    MarginalsQuestion,
    NumberType,
    TextQuestion,
    TileQuestion,
    WeightsQuestion,
)
from regard.server.studio.numbers_response import NUMBERS, NumbersResponse, etag_of, numbers_response, unchanged
from regard.server.studio.route_errors import ERRORS
from regard.server.studio.schema import (
    CellAnswer,
    FoundPositions,
    HeadEffectsAnswer,
    HeadsAnswer,
    LookAnswer,
    LookRequest,
    StrongCell,
    TextPart,
    TextSide,
)
from regard.server.studio.strongest_question import StrongestQuestion
from regard.server.studio.studio_service import StudioService

LookId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="The id of a look.")]
Site = Annotated[str, Query(min_length=1, max_length=200, description="An attention layer, as /api/looks names it.")]
HeadNumber = Annotated[int, Query(ge=0, le=4096, description="A head, from 0.")]
HeadOrAll = Annotated[str, Query(pattern="^(all|[0-9]{1,4})$", description="A head, from 0; all for every one.")]
Extent = Annotated[str, Query(pattern="^[0-9]{0,9}:[0-9]{0,9}$", description="From:to, the last left out.")]
Place = Annotated[int, Query(ge=0, le=1 << 31)]
Pixels = Annotated[int, Query(ge=1, le=2048)]


def look_router(service: StudioService) -> APIRouter:
    """The routes, answered by this service."""
    router = APIRouter(prefix="/looks", tags=["Looks"], responses=ERRORS)
    add_maps(router, service)
    add_tables(router, service)
    add_texts(router, service)

    @router.post("")
    async def look(asked: LookRequest) -> LookAnswer:
        """Let a model read a text, and keep what every head did."""
        return await service.look(asked)

    return router


def add_maps(router: APIRouter, service: StudioService) -> None:
    """Weights, as numbers."""

    @router.get("/{look}/weights", response_class=NumbersResponse, responses=NUMBERS)
    async def weights(
        request: Request, look: LookId, site: Site, head: HeadOrAll = "all", by: Literal["weight", "value"] = "weight"
    ) -> Response:
        """(queries, keys) of a head, (heads, queries, keys) of all."""
        question = WeightsQuestion(site, head, by)
        etag = etag_of(look, question)
        known = service.known(look)
        if answer := unchanged(request, etag):
            return answer
        return numbers_response(await service.ask(known, question), etag, {"site": site, "head": head, "by": by})

    @router.get("/{look}/tile", response_class=NumbersResponse, responses=NUMBERS)
    async def tile(
        request: Request,
        look: LookId,
        site: Site,
        head: HeadNumber,
        rows: Extent = ":",
        columns: Extent = ":",
        height: Pixels = 256,
        width: Pixels = 256,
        by: Literal["mass", "max", "mean"] = "mass",
        dtype: NumberType = "float32",
    ) -> Response:
        """A rectangle of a head's map, pooled to at most height x width numbers; X-Meta says in cells of how many."""
        question = TileQuestion(site, head, rows, columns, height, width, by)
        etag = etag_of(look, question, dtype)
        known = service.known(look)
        if answer := unchanged(request, etag):
            return answer
        numbers, meta = await service.ask(known, question)
        return numbers_response(numbers, etag, meta, dtype)

    @router.get("/{look}/marginals", response_class=NumbersResponse, responses=NUMBERS)
    async def marginals(
        request: Request,
        look: LookId,
        site: Site,
        head: HeadNumber,
        bins: Annotated[int, Query(ge=1, le=4096)] = 1024,
        rows: Extent = ":",
        columns: Extent = ":",
    ) -> Response:
        """(2, bins): the mean entropy of the rows, and the attention the columns received, NaN beyond the last bin."""
        question = MarginalsQuestion(site, head, bins, rows, columns)
        etag = etag_of(look, question)
        known = service.known(look)
        if answer := unchanged(request, etag):
            return answer
        numbers, meta = await service.ask(known, question)
        return numbers_response(numbers, etag, meta)


def add_tables(router: APIRouter, service: StudioService) -> None:
    """What heads do, and what single cells are made of."""

    @router.get("/{look}/heads")
    async def heads(look: LookId) -> HeadsAnswer:
        """What every head does, on average over its rows."""
        return await service.heads(service.known(look))

    @router.get("/{look}/effects")
    async def effects(look: LookId) -> HeadEffectsAnswer:
        """What each head's silence does to the mean log probability of what the model says: one run for each head."""
        return await service.head_effects(service.known(look))

    @router.get("/{look}/cell")
    async def cell(look: LookId, site: Site, head: HeadNumber, row: Place, column: Place) -> CellAnswer:
        """Why this cell: its score, product by product."""
        return await service.ask(service.known(look), CellQuestion(site, head, row, column))

    @router.get("/{look}/strongest")
    async def strongest(
        look: LookId,
        site: Site,
        head: HeadNumber,
        count: Annotated[int, Query(ge=1, le=200)] = 20,
        rows: Extent = ":",
        columns: Extent = ":",
        all: Annotated[bool, Query(description="With the diagonal and the first key, too.")] = False,  # noqa: A002
    ) -> list[StrongCell]:
        """The largest weights."""
        return await service.ask(service.known(look), StrongestQuestion(site, head, count, rows, columns, all))


def add_texts(router: APIRouter, service: StudioService) -> None:
    """The tokens of long texts."""

    @router.get("/{look}/text")
    async def text(
        look: LookId,
        side: TextSide = "source",
        first: Annotated[int, Query(alias="from", ge=0, le=1 << 31)] = 0,
        last: Annotated[int | None, Query(alias="to", ge=0, le=1 << 31)] = None,
    ) -> TextPart:
        """Tokens from a position on, up to another."""
        return TextQuestion(side, first, last).answer(service.known(look))

    @router.get("/{look}/search")
    async def search(
        look: LookId, q: Annotated[str, Query(min_length=1, max_length=200)], side: TextSide = "source"
    ) -> FoundPositions:
        """Where the text says it, whatever the case and the spaces."""
        return await service.find(service.known(look), side, q)

"""The model at work: its search for words, what changes when heads do, and how alike two tokens are inside of it."""

from __future__ import annotations

from fastapi import APIRouter

from regard.server.studio.route_errors import ERRORS
from regard.server.studio.schema import (
    EffectAnswer,
    EffectRequest,
    SearchAnswer,
    SearchRequest,
    SimilarityAnswer,
    SimilarityRequest,
    TypedAnswer,
    TypedRequest,
)
from regard.server.studio.studio_service import StudioService


def change_router(service: StudioService) -> APIRouter:
    """The routes, answered by this service."""
    router = APIRouter(tags=["Model"], responses=ERRORS)

    @router.post("/effects")
    async def effects(asked: EffectRequest) -> EffectAnswer:
        """What the model says, with its heads as they are and as they are changed."""
        return await service.effects(asked)

    @router.post("/similarity")
    async def similarity(asked: SimilarityRequest) -> SimilarityAnswer:
        """How alike the vectors of two tokens are, layer by layer."""
        return await service.similarity(asked)

    @router.post("/searches")
    async def searches(asked: SearchRequest) -> SearchAnswer:
        """A whole beam search, with what was given up."""
        return await service.search(asked)

    @router.post("/typed")
    async def typed(asked: TypedRequest) -> TypedAnswer:
        """The ids of words that a person puts into a translation, to search on from there."""
        return await service.typed(asked)

    return router

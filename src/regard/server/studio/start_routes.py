"""What there is, the worked examples, and the check of a learner's own numbers."""

from __future__ import annotations

from fastapi import APIRouter

from regard.server.studio.route_errors import ERRORS
from regard.server.studio.schema import CheckAnswer, CheckRequest, StudioInfo, WorkedExample
from regard.server.studio.studio_service import StudioService


def start_router(service: StudioService) -> APIRouter:
    """The routes, answered by this service."""
    router = APIRouter(tags=["Start"], responses=ERRORS)

    @router.get("/studio")
    async def studio() -> StudioInfo:
        """All there is here: models, recordings, runs, and what the page opens with."""
        return await service.info()

    @router.get("/examples")
    async def examples() -> list[WorkedExample]:
        """The examples worked by hand, with the mistakes of the notes."""
        return await service.examples()

    @router.post("/check")
    async def check(asked: CheckRequest) -> CheckAnswer:
        """Find every wrong number, once."""
        return await service.check(asked)

    return router

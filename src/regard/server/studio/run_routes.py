"""Training runs: how they went, and what their models did at each checkpoint."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from regard.server.studio.route_errors import ERRORS
from regard.server.studio.schema import CheckpointLookRequest, CurvesAnswer, LookAnswer, RunInfo
from regard.server.studio.studio_service import StudioService

RunName = Annotated[str, Path(min_length=1, max_length=200, description="A run, as /api/runs names it.")]


def run_router(service: StudioService) -> APIRouter:
    """The routes, answered by this service."""
    router = APIRouter(prefix="/runs", tags=["Training"], responses=ERRORS)

    @router.get("")
    async def runs() -> list[RunInfo]:
        """The runs in the folder of runs, and those of the models that ship."""
        return await service.runs()

    @router.get("/{name}/curves")
    async def curves(name: RunName) -> CurvesAnswer:
        """Its curves so far, its samples, and the checkpoints that are kept."""
        return await service.curves(name)

    @router.post("/{name}/looks")
    async def look(name: RunName, asked: CheckpointLookRequest) -> LookAnswer:
        """Let the model of a checkpoint read a text."""
        return await service.look_at_checkpoint(name, asked)

    return router

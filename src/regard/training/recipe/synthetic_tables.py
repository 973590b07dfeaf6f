"""The tables of a recipe that ask for synthetic pairs: one side of each was written by a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

STAGE_TABLES = ("tokenizer", "model", "training", "decoding")


class RecipeTable(BaseModel):
    """A table of a recipe: no unknown keys, and nothing changes once it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def known_tables(value: str | dict[str, Any]) -> str | dict[str, Any]:
    """What another recipe may say of a model that is trained on the text of this one."""
    wrong = [name for name in value if name not in STAGE_TABLES] if isinstance(value, Mapping) else []
    if wrong or value == "":
        raise ValueError(f"name a model or a recipe (.toml), or give tables among {', '.join(STAGE_TABLES)}")
    return value


StageModel = Annotated[str | dict[str, Any], AfterValidator(known_tables)]


class SyntheticTable(RecipeTable):
    """Which texts are translated, how, and which translations are used.

    The model is a folder or a name; or it is trained first, on the same pairs, as a recipe file (.toml) says or as
    tables given here say: [model] whole, single values of the others in place of this recipe's.
    """

    share: float = Field(default=1.0, gt=0, le=1)  # of the texts, chosen by what they say
    weight: float = Field(default=1.0, gt=0)  # how often an epoch reads the pairs, times that of the text they are from
    beams: int = Field(default=4, ge=1)
    ratio: float = Field(default=3.0, gt=1)  # the longer side to the shorter, in characters, at most


class Distillation(SyntheticTable):
    """Sequence-level knowledge distillation (Kim and Rush 2016): the sources, as a teacher translates them."""

    teacher: StageModel
    chrf: float = Field(default=0.0, ge=0, lt=100)  # a translation with less, beside the reference, is left out


class BackTranslation(SyntheticTable):
    """Texts of the target language, translated into the source language by a model of the other direction."""

    model: StageModel
    data: list[Any] = []  # files of such texts, a line each; empty: the target sides of `train`
    tag: bool = False  # a mark before what a model has written (Caswell et al. 2019)


StageName = Literal["distillation", "back_translation"]
STAGES: tuple[StageName, ...] = ("back_translation", "distillation")  # in the order in which they are made

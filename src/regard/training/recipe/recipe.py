"""A training run in a few lines of TOML: what to read, how to cut it, which model, how to train it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import tomli_w
from pydantic import BaseModel, Field, ValidationError

from regard.errors import FileError, InputError, UnknownNameError
from regard.training.recipe.synthetic_tables import BackTranslation, Distillation, RecipeTable

Task = Literal["translate", "generate", "mask", "classify"]
TASKS: tuple[Task, ...] = ("translate", "generate", "mask", "classify")


FEWEST = 260  # tokens that a new tokenizer needs: every byte, and the special ones
Share = Annotated[float, Field(ge=0, lt=1)]


class Data(RecipeTable):
    """What to read. Files are named relative to --data, compressed or not.

    "grammar:train" is the built-in language, "grammar:train:60000:1" so many sentences of it, drawn by seed 1.
    """

    train: list[Any] = Field(min_length=1)  # each as `Source.parse` takes it
    valid: list[Any] = Field(default_factory=list)  # empty: `held` rows are kept back from train
    test: dict[str, Any] = Field(default_factory=dict)  # sets by name, read once when all is done
    languages: tuple[str, str] | None = None
    held: int = Field(default=1000, ge=1)
    aside: Share = 0.0  # of each file's pairs, chosen by their texts: never trained on, left in FOLDER/aside to score
    longest: int = Field(default=128, ge=2)  # tokens a side; longer pairs are dropped, and counted
    swapped: bool = True  # refuse columns that look swapped
    slots: Share = 0.0  # of the pairs that share words: some of these stand as slots, which a model learns to copy
    words: int = Field(default=0, ge=0)  # single words with their translations, learned from the pairs of a translator
    words_weight: float | None = Field(default=None, gt=0)  # how often an epoch reads them; else as the heaviest source
    links: list[str] = Field(default_factory=list)  # for each of `train` a file of word links, or "" for none


class Vocabulary(RecipeTable):
    """How text is cut."""

    vocabulary: int = Field(default=8000, ge=1)  # at least FEWEST where it is learned
    joint: bool = True  # one vocabulary for both languages
    fold: bool = False  # curly quotes and apostrophes, and spaces that do not break, are read as plain ones


class Training(RecipeTable):
    """How to train. The defaults are today's: AdamW, a cosine, clipping."""

    steps: int = Field(default=10_000, ge=1)
    minutes: float | None = Field(default=None, gt=0)  # all of it, on this machine: sizes and steps are chosen to fit
    batch_tokens: int = Field(default=4096, ge=16)  # rows times the longest side
    optimizer: Literal["adam", "adamw"] = "adamw"
    rate: float = Field(default=1e-3, gt=0)  # of learning, at its peak
    schedule: Literal["cosine", "inverse-root", "linear", "constant"] = "cosine"
    warmup: int = Field(default=400, ge=0)
    floor: float = Field(default=0.0, ge=0, lt=1)  # what is left of the rate at the end, as a share of the peak
    betas: tuple[Share, Share] = (0.9, 0.98)
    epsilon: float = Field(default=1e-9, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    clip: float = Field(default=1.0, ge=0)  # the longest gradient; 0: no limit
    smoothing: float = Field(default=0.1, ge=0, lt=1)
    consistency: float = Field(default=0.0, ge=0)  # how much two passes with other dropout must agree (R-Drop)
    guided_alignment: float = Field(default=0.0, ge=0)  # how much one head must look where words are linked; 0: not
    guided_head: str = ""  # which, such as decoder.1.cross:0; else the first of the last decoder layer but one
    subword_dropout: float = Field(default=0.0, ge=0, lt=1)  # merges left out at random: other pieces every epoch
    masked: float = Field(default=0.15, gt=0, lt=1)  # of the words, when learning to fill them in
    block: int = Field(default=256, ge=2)  # tokens a row of a language model
    anchor: Share = 0.0  # of the weights that a fine-tuned model has, how much is those it started from
    unfreeze: Share = 0.0  # of a fine-tuning: until then its layers begin to learn one by one, from the top
    layer_decay: float = Field(default=1.0, gt=0, le=1)  # of the rate of a layer, how much the one below it has
    average: Literal["none", "moving", "last"] = "none"
    decay: float = Field(default=0.999, ge=0, lt=1)  # of the moving average
    last: int = Field(default=5, ge=1)  # how many checkpoints are averaged
    select: Literal["auto", "loss", "bleu", "chrf", "accuracy", "end"] = "auto"  # the best validation by `selection`
    patience: int = Field(default=0, ge=0)  # validations without a better one before stopping; 0: never
    validate_every: int = Field(default=500, ge=1)
    checkpoint_every: int = Field(default=500, ge=1)
    keep: int = Field(default=2, ge=2)  # checkpoints on disk; the newest may turn out damaged
    layout: Literal["replicated", "sharded"] = "replicated"  # of the weights over processes: DDP, or FSDP2
    micro_batches: int = Field(default=1, ge=1)  # parts in which a batch goes through the model
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # auto: bfloat16 on a GPU that has it
    compile: bool = False  # by torch.compile
    replay: bool = True  # on a GPU, record each shape's step once and replay it
    workers: int = Field(default=0, ge=0)  # threads that lay out batches ahead of time
    seed: int = Field(default=0, ge=0)


class Decoding(RecipeTable):
    """How to translate when scoring."""

    beams: int = Field(default=4, ge=1)
    alpha: float = 0.6
    samples: int = Field(default=3, ge=0)  # translations shown at each validation
    greedy: bool = True  # while training: quicker; at the end the beams are used


class Recipe(RecipeTable):
    """All of a run that changes its result. The effective one stands in the model's folder as recipe.toml."""

    name: str = "run"
    task: Task = "translate"
    start: str | None = None  # the folder of a trained or Hugging Face model to fine-tune from
    data: Data
    tokenizer: Vocabulary = Vocabulary()
    model: dict[str, Any] = Field(
        default_factory=dict
    )  # family, preset, and any setting of that family's configuration
    training: Training = Training()
    decoding: Decoding = Decoding()
    distillation: Distillation | None = None
    back_translation: BackTranslation | None = None

    def to_toml(self) -> str:
        """As it stands in a file; without tables that are empty, which is what they are when left out."""
        tables = self.model_dump(exclude_none=True)
        return tomli_w.dumps(nonempty({**tables, "data": nonempty(tables["data"])}))


def nonempty(table: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value != {}}


def read_recipe(data: Mapping[str, Any]) -> Recipe:
    """Check a recipe; a wrong key is answered with the nearest right one, a wrong value with its key."""
    for key in ("train", "valid"):
        table = data.get("data")
        if isinstance(table, Mapping) and key in table:
            data = {**data, "data": {**table, key: as_sources(table[key])}}
            table = data["data"]
    mono = data.get("back_translation")
    if isinstance(mono, Mapping) and "data" in mono:
        data = {**data, "back_translation": {**mono, "data": as_sources(mono["data"])}}
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as error:
        raise as_input_error(error, data) from error
    size = recipe.tokenizer.vocabulary
    if recipe.start is None and size < FEWEST:
        raise InputError("tokenizer.vocabulary is not right", found=f"{size}", do=f"choose at least {FEWEST}")
    return recipe


def as_sources(value: Any) -> list[Any]:
    """One source or several: a list of two plain names stays one, a pair of line-aligned files, only inside a list."""
    return value if isinstance(value, list) else [value]


def as_input_error(error: ValidationError, data: Mapping[str, Any]) -> InputError:
    """The first of pydantic's findings, as one of ours."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        known: list[str] = list(table_at(first["loc"][:-1]).model_fields)
        where = ".".join(map(str, first["loc"][:-1]))
        return UnknownNameError(f"setting in {where}" if where else "setting", str(first["loc"][-1]), known)
    if first["type"] == "missing":
        return InputError(f"the recipe lacks {key}", do="add it")
    return InputError(f"{key} is not right", found=f"{first['input']!r:.80}", do=first["msg"].lower())


def table_at(path: Sequence[Any]) -> type[BaseModel]:
    """The table that a path of keys leads to."""
    table: type[BaseModel] = Recipe
    for key in path:
        table = table.model_fields[str(key)].annotation  # type: ignore[assignment]
        table = next((one for one in get_args(table) if one is not type(None)), table)  # of one that may be left out
    return table


def with_settings(data: dict[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """A recipe's data with some settings changed: "training.steps=500". Values are read as TOML, else as words."""
    changed: dict[str, Any] = deepcopy(data)
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError("a setting is KEY=VALUE", found=f"{setting!r}", do="such as --set training.steps=500")
        *tables, name = key.strip().split(".")
        table = changed
        for part in tables:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                known = [name for name in Recipe.model_fields if name != part]  # there is one, but not as a table here
                raise UnknownNameError("table", part, known)
        table[name] = as_value(value.strip())
    return changed


def as_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def shelf() -> Any:
    """Where the recipes of the package stand."""
    return resources.files("regard") / "recipes"


def names() -> list[str]:
    """The recipes that come with the package."""
    return sorted(file.name.removesuffix(".toml") for file in shelf().iterdir() if file.name.endswith(".toml"))


def find_recipe(name: str) -> dict[str, Any]:
    """The data of a recipe: a file, or one that comes with the package."""
    path = Path(name)
    if path.suffix == ".toml" and (path.is_file() or path.stem not in names()):
        return read_toml(path)
    if path.stem in names() and (path.suffix == ".toml" or path.name == name):
        return tomllib.loads((shelf() / f"{path.stem}.toml").read_text(encoding="utf-8"))
    raise UnknownNameError("recipe", name, names())


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}", found=str(error), do="give a recipe, such as mine.toml") from error
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path} is not TOML", found=str(error), do="mend that line") from error

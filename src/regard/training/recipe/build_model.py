"""The model of a recipe: fresh, or one that was trained before."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import torch

from regard.errors import InputError, UnknownNameError
from regard.models import DecoderConfig, EncoderConfig, RecurrentConfig, TransformerConfig, build
from regard.models.checkpoint import FAMILIES, Model, own_tensors
from regard.models.config import Config
from regard.tasks.model_folder import ModelFolder, find, tokenizer_of
from regard.text.bpe import MASK, Paired, target_of
from regard.text.tokenizer import Tokenizer
from regard.training.recipe.recipe import Recipe

FAMILY = {"translate": "transformer", "generate": "decoder", "mask": "encoder", "classify": "encoder"}
FITTING = {
    "translate": ("transformer", "recurrent"),
    "generate": ("decoder",),
    "mask": ("encoder",),
    "classify": ("encoder",),
}
SMALL = {"dim": 256, "heads": 4, "feedforward": 1024, "layers": 4}  # of models without presets
CHANGEABLE = ("dropout", "attention_dropout", "feedforward_dropout")  # what may differ when a model is fine-tuned


def config_for(recipe: Recipe, tokenizer: Tokenizer | Paired, labels: tuple[str, ...] = ()) -> Config:
    """The configuration that a recipe's [model] asks for, with the sizes that the text decides."""
    settings = dict(recipe.model)
    family = settings.pop("family", FAMILY[recipe.task])
    if family not in FITTING[recipe.task]:
        raise UnknownNameError(f"family for the task {recipe.task!r}:", str(family), FITTING[recipe.task])
    preset = settings.pop("preset", None)
    if preset is not None and family != "transformer":
        raise InputError("presets are sizes of the transformer", found=f"preset = {preset!r}, family = {family!r}")
    known = [field.name for field in fields(FAMILIES[family][0])]
    for name in settings:
        if name not in known:
            raise UnknownNameError(f"setting in model ({family})", name, [*known, "family", "preset"])
    counted = [name for name in settings if name.endswith("vocabulary")]
    if counted:
        raise InputError(
            "how many tokens a model knows is for its tokenizer to say",
            found=f"model.{counted[0]} = {settings[counted[0]]!r}",
            do="tokenizer.vocabulary is the setting",
        )
    size, target = tokenizer.size, target_of(tokenizer).size
    if family == "transformer":
        vocabularies = {"source_vocabulary": size, "target_vocabulary": target}
        separate = {} if not isinstance(tokenizer, Paired) else {"shared": False}
        return TransformerConfig.preset(preset or "tiny", size, **{**vocabularies, **separate, **settings})
    if family == "recurrent":
        return RecurrentConfig(**{"source_vocabulary": size, "target_vocabulary": target, **settings})
    return one_stack(recipe, size, labels, {**SMALL, **settings})


def one_stack(recipe: Recipe, size: int, labels: tuple[str, ...], settings: dict[str, Any]) -> Config:
    """Decoder-only and encoder-only models: positions as long as the rows they are trained on."""
    if recipe.task == "generate":
        return DecoderConfig(**{"vocabulary": size, "max_length": recipe.training.block, **settings})
    head = "mask" if recipe.task == "mask" else "class"
    given = {"vocabulary": size, "max_length": max(recipe.data.longest, 2), "head": head, "labels": labels, "pad": 0}
    return EncoderConfig(**{**given, "segments": 0, **settings})


def start_folder(recipe: Recipe) -> ModelFolder:
    """What `start` names, if it can do the task."""
    assert recipe.start is not None
    folder = find(recipe.start)
    family = folder.model.config.family
    if family not in FITTING[recipe.task]:
        raise InputError(
            f"{recipe.start} cannot be trained to {recipe.task}",
            found=f"a model of the family {family!r}",
            do=f"start from one of {', '.join(FITTING[recipe.task])}, or change the task",
        )
    return folder


def start_tokenizer(folder: ModelFolder, recipe: Recipe) -> Tokenizer | Paired:
    """The tokenizer of the model that training starts from: another would give its words other numbers."""
    tokenizer = tokenizer_of(folder)
    if not isinstance(tokenizer, (Tokenizer, Paired)):
        raise InputError(
            f"the tokenizer of {recipe.start} cannot be written as a tokenizer.json",
            found=tokenizer.kind,
            do="convert it first with transformers: AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)",
        )
    return tokenizer


def fine_tune_from(folder: ModelFolder, recipe: Recipe, labels: tuple[str, ...]) -> Model:
    """The trained model, with another dropout if asked, and a new head for other classes."""
    config = folder.model.config
    before = config.to_dict()
    for name in recipe.model:
        if name not in CHANGEABLE and recipe.model[name] != before.get(name):
            raise InputError(
                f"model.{name} cannot change when training goes on from {recipe.start}",
                found=f"{recipe.model[name]!r}, there {before.get(name, 'not set')!r}",
                do=f"leave it out; only {', '.join(CHANGEABLE)} may differ",
            )
    changes: dict[str, Any] = {name: value for name, value in recipe.model.items() if name in CHANGEABLE}
    if isinstance(config, EncoderConfig):
        changes |= {"head": "mask"} if recipe.task == "mask" else {"head": "class", "labels": labels}
    new: Config = replace(config, **changes)
    if new == config:
        return folder.model
    return copy_tensors(folder.model, build(new))


def copy_tensors(old: Model, new: Model) -> Model:
    """All tensors that fit; a new head keeps its fresh weights."""
    tensors = own_tensors(old)
    with torch.no_grad():
        for name, tensor in own_tensors(new).items():
            if name in tensors and tensors[name].shape == tensor.shape:
                tensor.copy_(tensors[name])
    return new


def mask_id(tokenizer: Tokenizer | Paired, token: str = MASK) -> int:
    number = tokenizer.id_of(token)
    if number is None:
        raise InputError("the tokenizer has no mask", found=f"no {token}", do="start from a model that has one")
    return number

"""A model of ours with its tokenizer as a folder for `transformers`, read again and compared before it is there."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import FileError, InputError
from regard.interop.huggingface import Model, load_huggingface, save_huggingface, write_json
from regard.interop.tokenizers import load_tokenizer
from regard.models import Decoder, Encoder, Transformer
from regard.text.tokenizer import Codec, Tokenizer

# Rounding in float32 leaves about 1e-6 of the largest logit; a wrong tensor, order or setting changes them by as much
# as they are.
TOLERANCE = 1e-4
ROWS, LENGTH = 2, 8  # of what the logits are compared on
TEXTS = ("Hello, world!", "L'été, c’est naïf : 3 × 2 = 6 ?", " two  spaces", "a </s> in <pad> a text", "漢字 🙂")
AUTO = {"seq2seq": "AutoModelForSeq2SeqLM", "causal": "AutoModelForCausalLM", "none": "AutoModel",
        "mask": "AutoModelForMaskedLM", "class": "AutoModelForSequenceClassification"}  # fmt: skip


@dataclass(frozen=True)
class LogitComparison:
    """By whom a written folder was read, and how far its logits are from the model's, as a share of the largest.

    `exact`: that is rounding, and was demanded; else it is what fewer bits cost, and is reported.
    """

    reader: str
    difference: float
    exact: bool = True


def auto_class(model: Model) -> str:
    """The class of theirs that reads what is written of a model."""
    if isinstance(model, Encoder):
        return AUTO[model.config.head]
    return AUTO["seq2seq" if isinstance(model, Transformer) else "causal"]


def write_folder(model: Model, tokenizer: Tokenizer, folder: Path) -> None:
    """Weights, settings and the tokenizer, as `from_pretrained` of their Auto classes reads them."""
    save_huggingface(model, folder)
    tokenizer.save(folder / "tokenizer.json")
    write_json(folder / "tokenizer_config.json", tokenizer_settings(model, tokenizer))


def tokenizer_settings(model: Model, tokenizer: Tokenizer) -> dict[str, Any]:
    """tokenizer_config.json: what the special tokens are for."""
    config = model.config
    known = {name: tokenizer.token_of(number) for name in ("pad", "start", "end")
             if (number := getattr(config, name, None)) is not None}  # fmt: skip
    tokens = {"pad_token": known.get("pad") or known_token(tokenizer, "<pad>"), "eos_token": known.get("end")}
    if isinstance(model, Encoder):
        first, *_, last = tokenizer.encode(["a"])[0]
        tokens |= {"cls_token": tokenizer.token_of(first), "sep_token": tokenizer.token_of(last)}
        tokens |= {"mask_token": known_token(tokenizer, "[MASK]")}
    elif isinstance(model, Transformer):
        tokens |= {"bos_token": known.get("start")}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{name: token for name, token in tokens.items() if token is not None},
        "split_special_tokens": tokenizer.engine.encode_special_tokens,  # "</s>" in a text is four characters
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "left" if isinstance(model, Decoder) else "right",
        "clean_up_tokenization_spaces": tokenizer.tidy,
        **({"model_max_length": config.max_length} if config.positions == "learned" else {}),
    }


def known_token(tokenizer: Tokenizer, token: str) -> str | None:
    return token if tokenizer.id_of(token) is not None else None


def compared(model: Model, tokenizer: Tokenizer, folder: Path) -> list[LogitComparison]:
    """Read the folder with our reader, and with `transformers` where it is installed; refuse any difference."""
    model = model.eval()
    ids = sample_ids(model)
    expected = our_logits(model, ids)
    comparisons = [LogitComparison("regard", difference(our_logits(load_huggingface(folder), ids), expected, "regard"))]
    same_texts(tokenizer, load_tokenizer(folder), "regard")
    if importlib.util.find_spec("transformers") is not None:
        name = f"transformers {importlib.metadata.version('transformers')}"
        theirs, codec = load_theirs(folder, auto_class(model))
        comparisons.append(LogitComparison(name, difference(their_logits(theirs, model, ids), expected, name)))
        same_texts(tokenizer, codec, name)
    return comparisons


def sample_ids(model: Model) -> Tensor:
    """Ids of the vocabulary, without padding, the same every time."""
    config = model.config
    size = min(getattr(config, name) for name in ("vocabulary", "source_vocabulary", "target_vocabulary")
               if hasattr(config, name))  # fmt: skip
    length = min(LENGTH, config.max_length) if config.positions == "learned" else LENGTH
    ids = torch.randint(size, (ROWS, length), generator=torch.Generator().manual_seed(0))
    return ids if config.pad is None else torch.where(ids == config.pad, (config.pad + 1) % size, ids)


@torch.no_grad()
def our_logits(model: Model, ids: Tensor) -> Tensor:
    ids = ids.to(next(model.parameters()).device)
    logits: Tensor = model(ids, ids) if isinstance(model, Transformer) else model(ids)
    return logits.cpu()


@torch.no_grad()
def their_logits(theirs: Any, model: Model, ids: Tensor) -> Tensor:
    more = {"decoder_input_ids": ids} if isinstance(model, Transformer) else {}
    output = theirs(input_ids=ids, attention_mask=torch.ones_like(ids), **more)
    bare = isinstance(model, Encoder) and model.config.head == "none"
    vectors: Tensor = output.last_hidden_state if bare else output.logits
    return vectors


def load_theirs(folder: Path, auto: str) -> tuple[Any, Any]:
    """The model and the tokenizer as `transformers` reads them, without its progress bars."""
    library = importlib.import_module("transformers")
    logging = library.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        model = getattr(library, auto).from_pretrained(folder).eval()
        return model, library.AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # whatever it stumbles over, the folder is not what it should be
        raise mismatch("transformers", f"{type(error).__name__}: {error}") from error
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def difference(logits: Tensor, expected: Tensor, reader: str) -> float:
    """The largest difference as a share of the largest logit, if it is no more than rounding."""
    share = float((logits.double() - expected.double()).abs().max() / expected.double().abs().max().clamp_min(1e-30))
    if not share <= TOLERANCE:
        raise mismatch(reader, f"logits differ by {share:.2g} of the largest")
    return share


def same_texts(ours: Codec, theirs: Any, reader: str) -> None:
    """Refuse a tokenizer that gives other ids, or reads them back otherwise."""
    for text in TEXTS:
        ids = ours.encode([text])[0]
        their_ids = theirs.encode([text])[0] if reader == "regard" else theirs(text)["input_ids"]
        if list(their_ids) != ids:
            raise mismatch(reader, f"{text!r} has the ids {list(their_ids)[:8]}, ours {ids[:8]}")
        back = theirs.decode(ids) if reader == "regard" else theirs.decode(ids, skip_special_tokens=True)
        if back != ours.decode(ids):
            raise mismatch(reader, f"ids read back as {back!r}, by ours as {ours.decode(ids)!r}")


def mismatch(reader: str, difference: str) -> FileError:
    return FileError(
        f"what was written is not the model, read by {reader}",
        found=difference,
        do="nothing was kept; please report it with the model's config.json",
    )


def check_empty(folder: Path) -> None:
    """Refuse to write among other files, or in place of the folder that one is in."""
    if folder.resolve() == Path.cwd():
        raise FileError("the folder you are in cannot be replaced", found=str(folder), do="name a new one: --out NAME")
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file", do="choose another --out")
    if folder.is_dir() and any(folder.iterdir()):
        raise FileError(
            f"{folder} is not empty", found=", ".join(sorted(path.name for path in folder.iterdir())[:4]),
            do="choose another --out, or empty it",
        )  # fmt: skip


def one_tokenizer(tokenizer: Any) -> Tokenizer:
    """The tokenizer, if a folder of theirs can hold it."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    raise InputError(
        "a folder for transformers holds one tokenizer, and this model has one for each side",
        found=tokenizer.kind,
        do="train with tokenizer.joint = true to export",
    )

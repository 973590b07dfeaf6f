"""How a Hugging Face folder wants to be decoded: its generation_config.json, read as `transformers` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.interop.folders import read_json

# What changes a text decoded without sampling and that we do not do, with the values that change nothing.
REFUSED: dict[str, tuple[Any, ...]] = {
    "repetition_penalty": (1.0,), "encoder_repetition_penalty": (1.0,), "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,), "diversity_penalty": (0.0,), "num_beam_groups": (1,),
    "forced_bos_token_id": (), "begin_suppress_tokens": (), "exponential_decay_length_penalty": (),
    "sequence_bias": (), "guidance_scale": (1, 1.0), "watermarking_config": (), "stop_strings": (), "max_time": (),
    "penalty_alpha": (0.0,), "constraints": (), "force_words_ids": (), "token_healing": (False,), "dola_layers": (),
}  # fmt: skip
KINDS: dict[str, Any] = {
    **dict.fromkeys(("num_beams", "max_length", "max_new_tokens", "min_length", "min_new_tokens"), int),
    "length_penalty": (int, float),
}
STOPS: dict[Any, str] = {True: "full", False: "likely", "never": "proven"}


@dataclass(frozen=True)
class Generation:
    """Their settings in our words. Lengths are as theirs: with the prompt, or the start, counted unless `new_`."""

    start: int | None = None
    end: tuple[int, ...] = ()
    beams: int = 1
    alpha: float = 1.0
    stop: str = "likely"
    longest: int | None = None
    new_longest: int | None = None
    shortest: int = 0
    new_shortest: int | None = None
    banned: tuple[int, ...] = ()
    closing: int | None = None
    renormalised: bool = False
    drawn: bool = False
    unknown: tuple[str, ...] = ()

    def check(self, *, may_draw: bool = False) -> None:
        """Refuse to decode otherwise than the folder says."""
        names = [*self.unknown, *(["do_sample=True"] if self.drawn and not may_draw else [])]
        if names:
            raise InputError(
                "this folder asks for a way of decoding that is not ours",
                found=f"{', '.join(names)} in generation_config.json",
                do="take it out of that file, if its text may differ from transformers'",
            )

    def check_ids(self, vocabulary: int) -> None:
        """Refuse ids that the model does not have."""
        named = {"decoder_start_token_id": self.start, "forced_eos_token_id": self.closing}
        ids = [*self.end, *self.banned, *(number for number in named.values() if number is not None)]
        beyond = [number for number in ids if not isinstance(number, int) or not 0 <= number < vocabulary]
        if beyond:
            raise InputError(
                "generation_config.json names ids that the model does not have",
                found=f"{beyond[0]!r}; the model knows 0 to {vocabulary - 1}",
                do="take them out of that file",
            )

    def room(self, prompt: int, positions: int | None = None) -> int:
        """How many ids may come after a prompt of so many."""
        if self.new_longest is not None:
            return self.new_longest
        if self.longest is not None:
            if self.longest <= prompt:
                raise InputError(
                    "max_length leaves no room for a text",
                    found=f"max_length={self.longest} in generation_config.json, of which {prompt} are read first",
                    do="ask for a length yourself, or raise it there",
                )
            return self.longest - prompt
        total = prompt + 20  # what transformers does when nothing is said
        return (total if positions is None else min(total, positions)) - prompt

    def least(self, prompt: int) -> int:
        """How many ids a text must have after such a prompt, its end included."""
        total = prompt + self.new_shortest if self.new_shortest is not None else self.shortest
        return max(total - prompt + 1, 0) if total else 0


def read_generation(folder: Path) -> Generation:
    """generation_config.json, else what config.json says of decoding."""
    config = read_json(folder / "generation_config.json") or read_json(folder / "config.json")
    values = {name: value for name, value in config.items() if value is not None}
    check_kinds(values)
    start, end = values.get("decoder_start_token_id", values.get("bos_token_id")), ids_of(values, "eos_token_id")
    closing = ids_of(values, "forced_eos_token_id")
    return Generation(
        start=start,
        end=end,
        beams=values.get("num_beams", 1),
        alpha=float(values.get("length_penalty", 1.0)),
        stop=STOPS.get(values.get("early_stopping", False), "likely"),
        longest=values.get("max_length"),
        new_longest=values.get("max_new_tokens"),
        shortest=values.get("min_length", 0),
        new_shortest=values.get("min_new_tokens"),
        banned=banned_ids(values, end),
        closing=closing[0] if closing else None,
        renormalised=bool(values.get("renormalize_logits")),
        drawn=bool(values.get("do_sample")),
        unknown=tuple(unsupported(values)),
    )


def check_kinds(values: Mapping[str, Any]) -> None:
    """Numbers must be numbers, before anything is computed with them."""
    for name, kinds in KINDS.items():
        if name in values and (isinstance(values[name], bool) or not isinstance(values[name], kinds)):
            raise InputError(
                f"{name} in generation_config.json must be a number", found=f"{values[name]!r}", do="mend it there"
            )


def unsupported(values: Mapping[str, Any]) -> list[str]:
    """The settings that change a text and that we do not have, as they are written."""
    odd = [
        f"{name}={values[name]}" for name, neutral in REFUSED.items() if name in values and values[name] not in neutral
    ]
    odd += [f"bad_words_ids={words}" for words in values.get("bad_words_ids", []) if len(words) != 1]
    odd += [f"early_stopping={stop}"] if (stop := values.get("early_stopping", False)) not in STOPS else []
    odd += ["several forced_eos_token_id"] if len(ids_of(values, "forced_eos_token_id")) > 1 else []
    return odd


def ids_of(values: Mapping[str, Any], name: str) -> tuple[int, ...]:
    value = values.get(name, ())
    return (value,) if isinstance(value, int) else tuple(value)


def banned_ids(values: Mapping[str, Any], end: tuple[int, ...]) -> tuple[int, ...]:
    """Words never said; the end cannot be one of them."""
    single = [words[0] for words in values.get("bad_words_ids", []) if len(words) == 1]
    return tuple(dict.fromkeys([*(word for word in single if word not in end), *ids_of(values, "suppress_tokens")]))

"""The `.regard` file: safetensors, with JSON beside the tensors that says what they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.errors import FileError
from regard.lens.recording.fidelity import Badge
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.map import Map
from regard.lens.recording.pooled import PooledMap
from regard.lens.recording.score_terms import Terms
from regard.lens.recording.tokens import Text
from regard.models.checkpoint import replace_file

FORMAT = 1  # raised when a file of today could not be read by yesterday's code
OWN = ("query", "key", "lse", "norms")
TERMS = ("mask", "bias", "diagonals", "sinks")
RULES = ("scale", "offset", "softcap", "causal", "window")


def write_calls(calls: Sequence[ForwardCall], path: Path) -> None:
    tensors: dict[str, Tensor] = {}
    described = [call_to_json(call, f"{number}", tensors) for number, call in enumerate(calls)]
    metadata = {
        "format": "regard recording",
        "version": str(FORMAT),
        "calls": json.dumps(described, ensure_ascii=False),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, lambda beside: save_file(tensors, beside, metadata=metadata))
    except (OSError, SafetensorError) as error:
        raise FileError(f"cannot write {path}", found=str(error), do="choose another place, or make room") from error


def call_to_json(call: ForwardCall, name: str, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """What is not a tensor of a call; its tensors are put among the others."""
    sites = []
    for number, (site, one) in enumerate(call.maps.items()):
        for holder, names in ((one, OWN), (one.terms, TERMS)):
            for part in names:
                if (tensor := getattr(holder, part)) is not None:
                    tensors[f"{name}.{number}.{part}"] = as_stored(tensor)
        if one.pooled is not None:
            tensors |= {f"{name}.{number}.pooled.{part}": as_stored(x) for part, x in one.pooled.tensors().items()}
        rules = {rule: getattr(one.terms, rule) for rule in RULES}
        sites.append({
            "site": site, "heads": one.heads, "rules": rules, "projected": one.projected, "badge": one.badge.to_dict(),
            "pooled": None if one.pooled is None else one.pooled.cell,
        })  # fmt: skip
    return {"sites": sites, "text": text_to_json(call.text), "source": text_to_json(call.source)}


def as_stored(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().contiguous()


def text_to_json(text: Text | None) -> dict[str, Any] | None:
    if text is None:
        return None
    return {"ids": text.ids, "pad": text.pad, "strings": text.all_strings(), "after": text.all_after()}


def read_calls(path: Path) -> list[ForwardCall]:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            check_format(path, metadata)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
        return [call_from_json(call, f"{n}", tensors) for n, call in enumerate(json.loads(metadata["calls"]))]
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}", do="give the path of a .regard file") from error
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"{path} is damaged, or no recording", found=str(error), do="record again: it may be cut short"
        ) from error


def check_format(path: Path, metadata: dict[str, str]) -> None:
    if metadata.get("format") != "regard recording":
        raise FileError(f"{path} is no recording", found="safetensors of another kind", do="give a .regard file")
    if int(metadata.get("version", FORMAT)) > FORMAT:
        raise FileError(
            f"{path} was written by a newer regard",
            found=f"format version {metadata['version']}; this one reads up to {FORMAT}",
            do="upgrade: pip install --upgrade regard",
        )


def call_from_json(data: dict[str, Any], name: str, tensors: dict[str, Tensor]) -> ForwardCall:
    maps = {}
    for number, site in enumerate(data["sites"]):
        parts = {part: tensors.get(f"{name}.{number}.{part}") for part in (*OWN, *TERMS)}
        rules: dict[str, Any] = {**site["rules"], "window": tuple(site["rules"]["window"])}
        terms = Terms(**rules | {part: parts[part] for part in TERMS})
        own: dict[str, Any] = {part: parts[part] for part in OWN}
        if (
            own["norms"] is not None and own["norms"].shape[1] != own["query"].shape[1]
        ):  # one a key head, as it was once
            own["norms"] = own["norms"].repeat_interleave(own["query"].shape[1] // own["norms"].shape[1], 1)
        maps[site["site"]] = Map(
            **own, terms=terms, heads=tuple(site["heads"]), projected=site.get("projected", False),
            badge=Badge.from_dict(site["badge"]), pooled=pooled_from(tensors, f"{name}.{number}.pooled.", site),
        )  # fmt: skip
    return ForwardCall(maps, text_from_json(data["text"]), text_from_json(data["source"]))


def pooled_from(tensors: dict[str, Tensor], prefix: str, site: dict[str, Any]) -> PooledMap | None:
    cell = site.get("pooled")
    if cell is None:
        return None
    parts = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    return PooledMap(cell, **parts)


def text_from_json(data: dict[str, Any] | None) -> Text | None:
    return None if data is None else Text(data["ids"], data["pad"], strings=data["strings"], after=data.get("after"))

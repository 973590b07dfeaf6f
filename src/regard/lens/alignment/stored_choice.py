"""alignment.json beside a model: where its alignment is read, so that it is chosen once."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

from torch import nn

from regard.errors import FileError
from regard.lens.alignment.choice import ReadingChoice
from regard.lens.alignment.links import AttentionReading
from regard.models.checkpoint import replace_file

NAME = "alignment.json"


def write_choice(folder: Path, model: nn.Module, choice: ReadingChoice) -> Path:
    """Keep a choice, with how it was made and for which weights."""
    reading, path = choice.reading, folder / NAME
    fields: dict[str, Any] = {"site": reading.site, "heads": list(reading.heads), "row": reading.row}
    fields |= {"end": True} if reading.end else {}
    fields |= {"chosen_by": choice.how}
    if choice.rate is not None:
        fields |= {"aer": choice.rate.aer, "sure_only": choice.rate.sure_only, "sentences": choice.rate.sentences}
    text = json.dumps(fields | {"weights": fingerprint(model)}, indent=2) + "\n"
    try:
        replace_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot write {path}", found=str(error), do="copy the model to your own folder") from error
    return path


def read_choice(folder: Path, model: nn.Module) -> ReadingChoice | None:
    """The choice that was kept; none if there is none, or if it was made for other weights than these."""
    path = folder / NAME
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        choice = ReadingChoice(
            AttentionReading(fields["site"], tuple(fields["heads"]), fields["row"], fields.get("end", False)),
            f"kept in {NAME}: {fields['chosen_by']}",
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"cannot read {path}", found=str(error), do="take it away; regard align MODEL ... --save writes it again"
        ) from error
    return choice if fields.get("weights") == fingerprint(model) else None


def fingerprint(model: nn.Module) -> str:
    """A few bytes that tell trained weights from any others: of all biases and norms, which are small."""
    digest = blake2b(digest_size=8)
    for name, weight in sorted(model.state_dict().items()):
        if weight.ndim == 1:
            digest.update(name.encode() + weight.detach().float().cpu().numpy().tobytes())
    return digest.hexdigest()

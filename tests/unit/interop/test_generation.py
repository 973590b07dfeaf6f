"""How a folder wants to be decoded, in our words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regard.errors import InputError
from regard.interop.generation import Generation, read_generation


def written(folder: Path, name: str = "generation_config.json", **settings: Any) -> Generation:
    (folder / name).write_text(json.dumps(settings), encoding="utf-8")
    return read_generation(folder)


def test_nothing_said_is_what_transformers_does(tmp_path: Path) -> None:
    found = written(tmp_path)
    assert found == Generation()
    assert (found.room(1), found.room(5), found.room(60, positions=64), found.least(1)) == (20, 20, 4, 0)


def test_everything_said(tmp_path: Path) -> None:
    found = written(
        tmp_path, num_beams=6, length_penalty=0.8, early_stopping=True, max_length=512, min_length=3,
        bad_words_ids=[[9], [2]], suppress_tokens=[5], forced_eos_token_id=2, eos_token_id=[2, 3],
        decoder_start_token_id=9, renormalize_logits=True, repetition_penalty=1.0, no_repeat_ngram_size=0,
    )  # fmt: skip
    assert found == Generation(
        start=9, end=(2, 3), beams=6, alpha=0.8, stop="full", longest=512, shortest=3, banned=(9, 5), closing=2,
        renormalised=True,
    )  # fmt: skip
    assert (found.room(1), found.least(1), found.least(9)) == (511, 3, 0)
    found.check()


def test_new_tokens_count_without_the_prompt(tmp_path: Path) -> None:
    found = written(tmp_path, max_new_tokens=7, max_length=100, min_new_tokens=2)
    assert (found.room(50), found.least(50)) == (7, 3)


def test_config_json_speaks_when_there_is_nothing_else(tmp_path: Path) -> None:
    found = written(tmp_path, "config.json", num_beams=3, early_stopping="never", bos_token_id=4, eos_token_id=2)
    assert (found.beams, found.stop, found.start, found.end) == (3, "proven", 4, (2,))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("repetition_penalty", 1.2),
        ("no_repeat_ngram_size", 3),
        ("forced_bos_token_id", 4),
        ("bad_words_ids", [[1, 2]]),
        ("forced_eos_token_id", [1, 2]),
        ("early_stopping", "sometimes"),
        ("do_sample", True),
        ("num_beam_groups", 2),
    ],
)
def test_what_we_do_not_do_is_refused_by_name(setting: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=setting):
        written(tmp_path, **{setting: value}).check()

"""What a model's folder says of its training."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.errors import FileError
from regard.training.evaluate import (
    block_of,
    target_language,
)


def test_what_the_folder_knows(tmp_path: Path) -> None:
    assert target_language(tmp_path) is None
    assert block_of(tmp_path) is None
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[data]\ntrain = ["a.tsv"]\nlanguages = ["en", "fr"]\n[training]\nblock = 64\n', encoding="utf-8")
    assert target_language(tmp_path) == "fr"
    assert block_of(str(tmp_path)) == 64
    recipe.write_text("[data", encoding="utf-8")
    with pytest.raises(FileError, match=r"cannot read .*recipe\.toml"):
        target_language(tmp_path)


def test_what_a_folder_of_marian_says_of_its_language(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"target_lang": "de"}', encoding="utf-8")
    assert target_language(tmp_path) == "de"

"""What is said of how to read files beside naming them: which columns, and in which encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regard.errors import InputError
from regard.text.corpora import ReadOptions, with_reading
from regard.text.corpora.encoding import UTF_8, known_encoding
from regard.text.grammar import is_grammar
from regard.training.recipe.recipe import as_sources


@dataclass(frozen=True)
class FileOptions:
    """For sources that do not say it themselves."""

    columns: tuple[str | int, ...] | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            object.__setattr__(self, "encoding", known_encoding(self.encoding))  # one name, however it is spelt

    @property
    def read_options(self) -> ReadOptions:
        return ReadOptions(columns=self.columns, encoding=self.encoding or UTF_8)

    def apply_to(self, source: Any) -> Any:
        """A source as a recipe names it, with what is said here."""
        if is_grammar(source) or (isinstance(source, list) and any(map(is_grammar, source))):
            return source
        return with_reading(source, None if self.columns is None else list(self.columns), self.encoding)

    def apply_to_recipe(self, recipe: dict[str, Any]) -> dict[str, Any]:
        """A recipe whose sources are read so."""
        data = recipe.get("data")
        if (self.columns is None and self.encoding is None) or not isinstance(data, Mapping):
            return recipe
        tests = data.get("test", {})
        new: dict[str, Any] = {
            key: [self.apply_to(one) for one in as_sources(data[key])] for key in ("train", "valid") if key in data
        }
        if isinstance(tests, Mapping) and tests:
            new["test"] = {name: self.apply_to(one) for name, one in tests.items()}
        if self.columns is not None and not any("columns" in one for one in new["train"] if isinstance(one, Mapping)):
            raise InputError(
                "columns are chosen from a single file, and this recipe trains on none",
                found=f"--columns {','.join(map(str, self.columns))}",
                do="leave it out",
            )
        return {**recipe, "data": {**data, **new}}


NO_OPTIONS = FileOptions()

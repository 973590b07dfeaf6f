"""Names that PyTorch, transformers and sacreBLEU do not promise to keep are where we think, in one place each."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import regard
from regard.lens import torch_names
from regard.lens.hooks import transformers_names
from regard.lens.hooks.mask_functions import Pattern, free_variables, function_name, read_pattern
from regard.lens.hooks.transformers_names import MAKERS, MASKING, Maker
from regard.lens.recording import logsumexp as sums
from regard.lens.recording.score_terms import Terms
from regard.text.scores import bootstrap
from regard.training.optim import foreach
from tests.bounds import weights_apart

PACKAGE = Path(regard.__file__).parent
PLACES = (torch_names, transformers_names, foreach, bootstrap)
NAMES = {name: reason for place in PLACES for name, reason in place.NAMES.items()}
VERSIONS = f"torch {torch.__version__}, transformers {transformers.__version__}"
BORROWED = re.compile(
    "_beam_search|_attn_implementation|_orig_mod|_active_collector|masking_utils|_extract_corpus_statistics"
    "|_compute_f_score"
)


def moved(name: str, reason: str) -> str:
    """What to tell whoever installed a version without this name."""
    what, _, instead = reason.partition("; instead: ")
    return f"{name} is not in {VERSIONS}.\n  it: {what}\n  instead: {instead}"


def find(name: str) -> Any:
    """What a dotted name stands for: a module as far as there is one, then its parts; `X()` is one of class X."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part.removesuffix("()"))
            thing = thing() if part.endswith("()") else thing
        return thing
    raise AttributeError(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_private_name_is_where_we_look_for_it(name: str) -> None:
    try:
        find(name)
    except AttributeError:
        pytest.fail(moved(name, NAMES[name]))


def test_a_name_that_has_moved_is_told_in_words() -> None:
    with pytest.raises(AttributeError):
        find("torch._C._no_such_name")
    with pytest.raises(AttributeError):
        find("transformers.PreTrainedConfig()._no_such_name")
    told = moved("torch._C._no_such_name", "tells the hour; instead: a clock")
    assert f"torch {torch.__version__}" in told
    assert "tells the hour" in told
    assert told.endswith("instead: a clock")


def test_each_name_says_what_it_is_for_and_what_to_do() -> None:
    assert all("; instead: " in reason for reason in NAMES.values())
    assert len(NAMES) == sum(len(place.NAMES) for place in PLACES)


# Names inside masking_utils, and what their functions remember


def made_by(maker: Maker) -> Any:
    """A mask function of transformers, as its models make it."""
    given = {
        "mask_functions": lambda make: make(find(f"{MASKING}.causal_mask_function")),
        "sliding_window": lambda make: make(3),
        "padding_mask": lambda make: make(torch.ones(1, 4, dtype=torch.bool)),
        "chunk_size": lambda make: make(8, torch.zeros(1, dtype=torch.long)),
        "": lambda function: function,
    }
    return given[maker.variable](find(f"{MASKING}.{maker.name}"))


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.name)
def test_a_mask_function_remembers_what_we_read(maker: Maker) -> None:
    try:
        function = made_by(maker)
    except AttributeError:
        pytest.fail(moved(f"{MASKING}.{maker.name}", "makes masks; instead: its new name in transformers_names"))
    assert function_name(function) == maker.name, f"{VERSIONS} calls what {maker.name} makes {function_name(function)}"
    if maker.variable:
        found = free_variables(function)
        assert maker.variable in found, f"{maker.name} of {VERSIONS} remembers {sorted(found)}, not {maker.variable}"
    assert not read_pattern(function, end=4).strange


def test_a_mask_function_that_remembers_something_else_is_drawn() -> None:
    """So a version that renames a variable costs memory, and no weight is wrong."""

    def sliding_window_overlay(width: int) -> Any:
        return lambda batch, head, query, key: key > query - width

    function = sliding_window_overlay(3)
    function.__module__, function.__qualname__ = MASKING, "sliding_window_overlay.<locals>.inner_mask"
    assert read_pattern(function, end=4) == Pattern(strange=("sliding_window_overlay",))


# What they do


def test_a_backward_pass_is_known() -> None:
    told = []
    weight = torch.ones(1, requires_grad=True)
    weight.register_hook(lambda grad: told.append(torch_names.in_backward()))
    (2 * weight).sum().backward()
    assert told == [True], f"torch {torch.__version__} does not tell that a backward pass is running"
    assert not torch_names.in_backward()


def test_the_names_of_a_compiled_model_s_parts() -> None:
    model = torch.compile(torch.nn.Sequential(torch.nn.Linear(1, 1)), backend="eager")
    names = [name for name, _ in model.named_modules()]
    assert f"{torch_names.COMPILED}0" in names, f"torch {torch.__version__} names them {names}"
    assert torch_names.COMPILER in sys.modules, f"torch {torch.__version__} compiles by another module"


@pytest.mark.parametrize("causal", [False, True])
def test_the_kernel_gives_the_lse(causal: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    query, key = (torch.randn(1, 2, 6, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    terms = Terms(scale=0.5, offset=0, causal=causal)
    exact = sums.log_sums(query, key, terms, [slice(0, 6)])
    found = torch_names.flash_lse(query, key, 0.5, causal=causal)
    torch.testing.assert_close(found, exact, atol=weights_apart(query, key, 0.5), rtol=0)


def test_the_average_moves_by_a_share() -> None:
    means, live = [torch.zeros(2), torch.ones(1)], [torch.full((2,), 4.0), torch.full((1,), 3.0)]
    foreach.approach(means, live, 0.25)
    assert [mean.tolist() for mean in means] == [[1.0, 1.0], [1.5]]
    foreach.zero(means)
    assert not any(mean.any() for mean in means)


# In one place each


def written(file: Path) -> Iterator[str]:
    """The private names of others that a file writes: in the code, or in a string by which they are looked up."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            private = re.match(r"(torch|transformers)(\.\w+)*\._|Tensor\._", text) or BORROWED.fullmatch(node.attr)
        elif isinstance(node, ast.ImportFrom):
            text = ".".join([node.module or "", *(alias.name for alias in node.names)])
            private = re.match(r"(torch|transformers)(\.\w+)*\._", text) or BORROWED.search(text)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            text = node.value
            private = re.match(r"(torch|transformers)(\.\w+)*\._", text) or BORROWED.search(text)
        if text and private:
            yield text


def test_no_other_file_writes_private_names_of_others() -> None:
    places = {Path(str(place.__file__)) for place in PLACES}
    found = {
        str(file.relative_to(PACKAGE)): names
        for file in sorted(PACKAGE.rglob("*.py"))
        if file not in places and (names := list(written(file)))
    }
    assert not found, f"put them into one of {sorted(path.name for path in places)}, with a line in its NAMES: {found}"
    assert all(list(written(place)) for place in places)  # the search does find what is there


def test_every_private_name_written_there_is_told_of() -> None:
    for place in PLACES:
        text = Path(str(place.__file__)).read_text(encoding="utf-8")
        told = {name.rpartition(".")[2] for name in place.NAMES}
        for name in re.findall(r"(?:torch|Tensor|_C|aten|config|type\(model\))\.(_\w+)\(", text):
            assert name in told | {"_C"}, f"{place.__name__} writes {name}, and its NAMES do not tell of it"

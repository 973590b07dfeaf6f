"""The pages of the reference: public names from their docstrings, and every verb with its options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, get_overloads

import typer

from regard.cli import app


class ApiPage(NamedTuple):
    """Names that are read together."""

    title: str
    about: str
    names: tuple[str, ...]


PAGES = {
    "attention": ApiPage(
        "Attention",
        "One function for every kind of attention, and what can be asked of it without ever holding an N x N matrix.",
        ("regard.attend", "regard.Statistics", "regard.Steps", "regard.received", "regard.tile", "regard.rollout"),
    ),
    "steps": ApiPage(
        "Steps and checks",
        "The equation with every number, and what is wrong in an example worked by hand.",
        ("regard.steps", "regard.Sheet", "regard.check", "regard.Report"),
    ),
    "models": ApiPage(
        "Models",
        "A folder becomes something that translates, generates or classifies; beneath it are the models themselves.",
        (
            "regard.load", "regard.Translator", "regard.Generator", "regard.Classifier", "regard.models.build",
            "regard.models.load_model", "regard.models.save_model", "regard.models.TransformerConfig",
            "regard.models.DecoderConfig", "regard.models.EncoderConfig", "regard.models.RecurrentConfig",
        ),
    ),
    "looking": ApiPage(
        "Looking",
        "What every head did, exactly, of our models and Hugging Face's.",
        ("regard.watch", "regard.Recording"),
    ),
    "changing": ApiPage(
        "Changing attention",
        "What a model does without a head, or with another's.",
        (
            "regard.intervene", "regard.lens.intervene.means", "regard.lens.intervene.activations", "regard.effect",
            "regard.Effect", "regard.lens.patch_effect.PatchEffect",
        ),
    ),
    "training": ApiPage("Training", "From text to a scored model.", ("regard.train",)),
    "claims": ApiPage(
        "Claims",
        "A sentence of the lectures, tried.",
        (
            "regard.claim", "regard.claims.ClaimRun", "regard.claims.Result", "regard.claims.Claim",
            "regard.claims.VerdictRule", "regard.claims.Estimate",
        ),
    ),
    "errors": ApiPage("Errors", "Whatever a user can mend is one of these.", ("regard.RegardError",)),
}  # fmt: skip

MEMBERS = {  # of classes whose other methods are for the package's own rooms
    "regard.Translator": " translate, translations",
    "regard.Generator": " generate",
    "regard.Classifier": " classify, fill",
}


def api_pages() -> dict[str, str]:
    """Every page by its path in the book."""
    pages = {f"api/{name}.md": api_page(page) for name, page in PAGES.items()}
    pages["api/command-line.md"] = command_page()
    return pages


def api_page(page: ApiPage) -> str:
    directives = "\n".join(directive(name) for name in page.names)
    return f"# {page.title}\n\n{page.about}\n\n```{{eval-rst}}\n{directives}```\n"


def directive(name: str) -> str:
    """Classes show their methods, those that they inherit too; a function with overloads is shown as one."""
    if name.rpartition(".")[2][0].isupper():
        members = MEMBERS.get(name, "\n   :inherited-members: tuple, dict, Exception")
        return f".. autoclass:: {name}\n   :members:{members}\n"
    function = named(name)
    signature = signature_words(function) if get_overloads(function) else ""
    return f".. autofunction:: {name}{signature}\n"


def named(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


class Spelt(str):
    """An annotation as it was written, without the quotes of a string."""

    def __repr__(self) -> str:
        return str(self)


def signature_words(function: Callable[..., Any]) -> str:
    """Of the function itself, which says of all its overloads what may be given."""
    signature = inspect.signature(function)
    given = [one.replace(annotation=Spelt(one.annotation)) for one in signature.parameters.values()]
    return str(signature.replace(parameters=given, return_annotation=Spelt(signature.return_annotation)))


def command_page() -> str:
    """What `--help` says of every verb."""
    command: Any = typer.main.get_command(app)
    parts = ["# Command line", command.help, *(part for verb in command.commands.values() for part in verb_parts(verb))]
    return "\n\n".join(parts) + "\n"


def verb_parts(verb: Any) -> Iterator[str]:
    yield f"## regard {verb.name}"
    yield plain(verb.help)
    yield "| | |\n| --- | --- |\n" + "\n".join(option_row(one) for one in verb.params if one.help)


def option_row(one: Any) -> str:
    """An argument by its name, an option by how it is written."""
    if one.param_type_name == "argument":
        name = one.metavar or one.name.upper()
    else:
        value = "" if one.is_flag else f" {one.metavar or one.name.upper()}"
        name = "/".join([*one.opts, *one.secondary_opts]) + value
    name = name.replace("|", "\\|")
    return f"| `{name}` | {plain(one.help)} |"


def plain(text: str) -> str:
    """Words with signs that Markdown would take for its own."""
    parts = re.split(r"(`[^`]*`)", text or "")
    return "".join(part if place % 2 else re.sub(r"([*_<>|\[\]$~])", r"\\\1", part) for place, part in enumerate(parts))

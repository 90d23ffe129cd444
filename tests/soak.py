"""How much the tests marked `soak` do: as much as `make long` has time for, or SOAK times that."""

from __future__ import annotations

import os

TIMES = int(os.environ.get("SOAK", "1"))

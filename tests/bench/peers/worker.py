"""The other end of `driver.py`: one library in a process of its own, which does what each line
names, and says how long that took. Needs nothing but Python, as the peers' environments have
nothing else in common.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

ADDED, BATCH = 2_000, 5_000
"""Chunks that are added to an empty store; and at once, to one that is searched."""
Work = Callable[[], object]
"""Is timed; what it gives back, as JSON, tells whether it did what it should."""


def serve(package: str, make: Callable[[Path, Path], dict[str, Work]]) -> None:
    """Do the works by their names, as they are asked for on the standard input.

    `make` gets the folder of the data and an empty one. What it puts off until a work is first
    asked for is not measured: the first time of each is not counted.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer

    def tell(told: dict[str, object]) -> None:
        print(json.dumps(told), file=answers, flush=True)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        works = make(Path(sys.argv[1]), Path(folder))
        tell({"version": version(package) if package else ""})
        for line in sys.stdin:
            work = works[line.strip()]
            wall, processor = time.perf_counter(), time.process_time()
            answer = work()
            took = time.perf_counter() - wall, time.process_time() - processor
            tell({"wall": took[0], "processor": took[1], "answer": answer})


def read(data: Path, name: str) -> list[str]:
    """Texts of the data: `texts`, `asked` or `passages`."""
    found: list[str] = json.loads((data / f"{name}.json").read_text(encoding="utf-8"))
    return found


def row(text: str) -> int:
    """Which text of the data it is: `n1x17 ...` is the one with the number 17."""
    return int(text.partition(" ")[0].partition("x")[2])

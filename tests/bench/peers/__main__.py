"""Ours against other libraries, each in an environment of its own: `python -m tests.bench.peers
[--chunks N]`. Writes docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import tempfile
from pathlib import Path

from tests.bench.peers import data
from tests.bench.peers.catalogue import tasks
from tests.bench.peers.driver import ROOT, measure_all
from tests.bench.peers.page import describe_machine, write

PAGE = ROOT / "docs" / "benchmarks.md"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--only", help="the task of this name, printed instead of written")
    options = parser.parse_args()
    load, today = os.getloadavg()[0], datetime.datetime.now(datetime.UTC).date()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data.write(folder, options.chunks)
        groups = [
            [task for task in group if options.only in (None, task.name)]
            for group in tasks(options.chunks)
        ]
        before = PAGE.read_text(encoding="utf-8")
        page = write(*measure_all(groups, folder), describe_machine(), load, today, before)
    if options.only:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

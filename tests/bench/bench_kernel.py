"""How long a kernel of a chat takes: `python -m tests.bench.bench_kernel`."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from agentkit.coding.chat_kernel.kernel import ChatKernel, is_available
from tests.bench.bench_streaming import processor

STARTS, CELLS = 5, 100


def seconds_of(kernel: ChatKernel, code: str) -> float:
    """Wall-clock seconds of one cell, which must end well."""
    began = time.perf_counter()
    result = kernel.run_cell(code)
    took = time.perf_counter() - began
    if not result.ok:
        raise SystemExit(result.text())
    return took


def main() -> None:
    """Print the figures."""
    if not (available := is_available()):
        raise SystemExit(available.reason)
    print(processor())
    with tempfile.TemporaryDirectory() as folder:
        starts = []
        for _ in range(STARTS):
            with ChatKernel(Path(folder, "work")) as kernel:
                starts.append(seconds_of(kernel, "1"))
        with ChatKernel(Path(folder, "work")) as kernel:
            pandas = seconds_of(kernel, "import pandas")
            cells = sorted(seconds_of(kernel, "1+1") for _ in range(CELLS))
    print(f"start with a first cell: {statistics.median(starts):.2f} s (median of {STARTS})")
    print(f"start and import pandas: {pandas:.2f} s")
    median, p95 = statistics.median(cells) * 1000, cells[int(CELLS * 0.95)] * 1000
    print(f"1+1 in a warm kernel: {median:.0f} ms median, {p95:.0f} ms p95 (at most 150)")


if __name__ == "__main__":
    main()

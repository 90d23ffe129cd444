"""Seconds that a plan's steps take as a graph: `python -m tests.bench.bench_rewoo`.

Ten independent steps of 0.2 s, a chain of ten, and what the graph itself takes for a step that does
nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from agentkit.agents.rewoo import Plan, Step, execute

STEP_S = 0.2
INDEPENDENT_LIMIT_S, CHAIN_LIMIT_S, OVERHEAD_LIMIT_MS = 0.3, 2.2, 1.0
MANY = 500
ROUNDS = 5


def independent(count: int) -> Plan:
    """Steps that need nothing of one another."""
    return Plan(tuple(Step(f"#E{n}", "", "wait", str(n)) for n in range(1, count + 1)))


def chain(count: int) -> Plan:
    """Every step needs the one before."""
    return Plan(
        tuple(
            Step(f"#E{n}", "", "wait", f"{n} #E{n - 1}" if n > 1 else "1")
            for n in range(1, count + 1)
        )
    )


def wait(tool: str, arguments: Any) -> str:
    time.sleep(STEP_S)
    return "done"


def nothing(tool: str, arguments: Any) -> str:
    return "done"


def seconds(plan: Plan, call: Callable[[str, Any], str], rounds: int = 1) -> float:
    """The best of some rounds."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        evidence = execute(plan, call, at_once=10)
        took.append(time.perf_counter() - began)
        assert all(each.ok for each in evidence.values())
    return min(took)


def main() -> int:
    """Print the figures; 1 when a limit is exceeded."""
    nothing_each = max(
        seconds(make(MANY), nothing, ROUNDS) / MANY * 1000 for make in (independent, chain)
    )
    found = [
        (
            "ten independent steps of 0.2 s",
            seconds(independent(10), wait),
            INDEPENDENT_LIMIT_S,
            "s",
        ),
        ("a chain of ten steps of 0.2 s", seconds(chain(10), wait), CHAIN_LIMIT_S, "s"),
        (f"overhead for a step ({MANY} steps)", nothing_each, OVERHEAD_LIMIT_MS, "ms"),
    ]
    for what, figure, limit, unit in found:
        print(f"{what:<36} {figure:6.3f} {unit:<2} (limit {limit} {unit})")
    return int(any(figure > limit for _, figure, limit, _ in found))


if __name__ == "__main__":
    sys.exit(main())

"""Play the scenarios on the oracle and write what it returned: `<oracle's python> -m
tests.differential.structured.record`.

Run it from the project's root with an environment that has agentscope 0.1.6 (and nothing else:
standard library only here).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any

from tests.differential.kit import text_of
from tests.differential.structured.kit import ORACLE, RECORDED, Scenario, load

ORIGIN = "agentscope 0.1.6"


def entry(scenario: Scenario) -> dict[str, Any]:
    """What is recorded of a scenario; ValueError where a declared difference is none."""
    result = scenario.play(ORACLE)
    if not scenario.better:
        return {"expected": result}
    if result == scenario.expected:
        raise ValueError(
            f"the oracle gives what is expected of ours; say no more that ours is better. {result}"
        )
    return {"oracle": result, "expected": scenario.expected, "why": scenario.better}


def main() -> int:
    """Record every area; the exit status."""
    oracle: Any = importlib.import_module(ORACLE)
    if oracle.__version__ != ORIGIN.split()[1]:
        sys.stderr.write(f"the oracle must be {ORIGIN}, not {oracle.__version__}\n")
        return 1
    importlib.import_module("loguru").logger.disable(ORACLE)
    problems = []
    found: dict[str, dict[str, Any]] = {}
    for scenario in load().values():
        try:
            with (
                open(os.devnull, "w", encoding="utf-8") as nowhere,
                contextlib.redirect_stdout(nowhere),
            ):
                found.setdefault(scenario.area, {})[scenario.name] = entry(scenario)
        except Exception as error:  # noqa: BLE001 (told below; the others are still recorded)
            problems.append(f"{scenario.name}: {type(error).__name__}: {error}")
    RECORDED.mkdir(exist_ok=True)
    for area, scenarios in found.items():
        (RECORDED / f"{area}.json").write_text(text_of(ORIGIN, scenarios), encoding="utf-8")
        sys.stderr.write(f"{area}: {len(scenarios)} scenarios\n")
    sys.stderr.write("".join(f"{problem}\n" for problem in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

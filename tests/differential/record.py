"""Play the scenarios on the oracle and write what it returned: `<oracle's python> -m
tests.differential.record [area ...]`.

Run it from the project's root with an environment that has pyautogen 0.6.0 (and nothing else:
standard library only here).
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
import time
import warnings
from typing import Any

from tests.differential.kit import ORACLE, RECORDED, SYNC, Scenario, load, text_of

ORIGIN = "pyautogen 0.6.0"
SLOW_S = 0.3


def entry(scenario: Scenario) -> dict[str, Any]:
    """What is recorded of a scenario; ValueError where faces differ undeclared, or a declared
    difference is none.
    """
    results = scenario.play(ORACLE)
    same = all(result == results[0] for result in results)
    if scenario.better:
        oracle = results[0] if same else {"sync": results[0], "async": results[1]}
        expected = results[0] if scenario.expected == SYNC else scenario.expected
        if oracle == expected:
            raise ValueError(
                f"{scenario.name}: the oracle gives what is expected of ours; leave out better=."
                f" {oracle}"
            )
        return {"oracle": oracle, "expected": expected, "why": scenario.better}
    if not same:
        raise ValueError(
            f"{scenario.name}: the oracle's faces differ; say what is right with"
            f" better=.\n{results[0]}\n{results[1]}"
        )
    return {"expected": results[0]}


def main(areas: list[str]) -> int:
    """Record these areas (all, when none is named); the exit status."""
    warnings.simplefilter("ignore")
    version = importlib.import_module(ORACLE).__version__
    if version != ORIGIN.split()[1]:
        sys.stderr.write(f"the oracle must be {ORIGIN}, not {version}\n")
        return 1
    logging.disable(logging.CRITICAL)
    problems = []
    found: dict[str, dict[str, Any]] = {}
    for scenario in load().values():
        if areas and scenario.area not in areas:
            continue
        began = time.perf_counter()
        try:
            with (
                open(os.devnull, "w", encoding="utf-8") as nowhere,
                contextlib.redirect_stdout(nowhere),
            ):
                found.setdefault(scenario.area, {})[scenario.name] = entry(scenario)
        except Exception as error:  # noqa: BLE001 (told below; the others are still recorded)
            problems.append(f"{scenario.name}: {type(error).__name__}: {error}")
        if (took := time.perf_counter() - began) > SLOW_S:
            problems.append(f"{scenario.name} took {took:.2f} s, at most {SLOW_S}")
    RECORDED.mkdir(exist_ok=True)
    for area, scenarios in found.items():
        (RECORDED / f"{area}.json").write_text(text_of(ORIGIN, scenarios), encoding="utf-8")
        sys.stderr.write(f"{area}: {len(scenarios)} scenarios\n")
    sys.stderr.write("".join(f"{problem}\n" for problem in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Play the cases on the oracle and write what it gave: `<oracle's python> -m
tests.agents.rewoo.record_oracle`.

Run it from the project's root with an environment that has lagent 0.2.4.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path

from tests.agents.rewoo.oracle_cases import CASES, Library, plain

FILE = Path(__file__).parent / "oracle.json"
ORIGIN = "lagent 0.2.4"


def main() -> int:
    """Record all cases; the exit status."""
    version = importlib.import_module("lagent").__version__
    if f"lagent {version}" != ORIGIN:
        sys.stderr.write(f"the oracle must be {ORIGIN}, not {version}\n")
        return 1
    found = {}
    for name, case in CASES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[name] = plain(case(Library("lagent")))
            except Exception as error:  # noqa: BLE001 (that it raises is what it gives)
                found[name] = f"raises {type(error).__name__}"
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in sorted(found.items())
    ]
    FILE.write_text(
        f'{{"origin": {json.dumps(ORIGIN)}, "cases": {{\n' + ",\n".join(lines) + "\n}}\n",
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

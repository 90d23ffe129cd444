"""Charts as SVG, drawn in a process of its own: what a chart makes of its data could take all
memory and time, and whoever wrote it is not known.
"""

from __future__ import annotations

import base64
import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[3]
_MEMORY_BYTES = 1 << 30
_ALL_S = 30
"""Seconds by the clock after which no more are drawn."""
_MOST, _TRIES = 200, 3
"""How many charts are drawn, and how many processes are begun for them."""
_FIRST = '{"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "mark": "bar"}'
"""Drawn before the others: it loads Vega, which no chart is to be charged for."""


def make_svgs(specs: Sequence[Mapping[str, Any]], cpu_s: int = 5) -> list[str]:
    """Each of these Vega-Lite charts as SVG in base64; empty for one that cannot be drawn within so
    many seconds of processor time.
    """
    drawn: list[str] = []
    wanted = [json.dumps(spec) for spec in specs[:_MOST]]
    for _ in range(_TRIES):
        if len(drawn) == len(wanted):
            break
        drawn += _make_some(wanted[len(drawn) :], cpu_s)
        if len(drawn) < len(wanted):
            drawn.append("")  # the process ended over this one
    return drawn + [""] * (len(specs) - len(drawn))


def _make_some(wanted: Sequence[str], cpu_s: int) -> list[str]:
    """What a process draws of them, up to the one that ends it."""
    command = [sys.executable, "-P", "-W", "ignore", "-m", __name__, str(cpu_s)]
    try:
        done = subprocess.run(
            command,
            input="\n".join(wanted).encode(),
            capture_output=True,
            timeout=_ALL_S,
            check=False,
            env={"PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1", "PATH": os.defpath},
            cwd="/",
        )
        written = done.stdout
    except subprocess.TimeoutExpired as error:
        written = error.stdout or b""
    except OSError:  # no process can be begun
        return [""] * len(wanted)
    return written.decode().split("\n")[:-1]


def main() -> None:
    """Draw the charts on the lines of the input, a line of the output for each."""
    import vl_convert

    cpu_s = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    vl_convert.vegalite_to_svg(_FIRST, allowed_base_urls=[])
    for spec in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = math.ceil(used.ru_utime + used.ru_stime) + cpu_s
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
        try:
            svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        except ValueError:
            svg = ""
        sys.stdout.write(base64.b64encode(svg.encode()).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""A stand-in for the program `docker`: its containers are sandboxes of bubblewrap on this machine.

It knows what kernels ask of Docker, and stops at any option that it does not know. Images are the
names in the file `images` of its state folder; each container is a file with its first process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from agentkit.core import confinement

STATE = Path(os.environ["DOCKER_HERE_STATE"])
BECOME = """
import os, sys
if not os.geteuid():
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
"""


def main() -> int:
    """Carry out one command line of Docker; its exit code."""
    name, *rest = sys.argv[1:]
    commands = {"info": info, "image": inspect_image, "run": run, "kill": kill}
    return commands[name](rest)


def info(_: list[str]) -> int:
    """A service answers."""
    return 0


def inspect_image(rest: list[str]) -> int:
    """0 for an image that is there."""
    return int(rest[1] not in (STATE / "images").read_text().split())


def run(rest: list[str]) -> int:
    """Run a container until it ends; its exit code."""
    asked = _read_options(rest)
    (STATE / "asked.json").write_text(json.dumps(vars(asked)))
    number = asked.user.partition(":")[0]
    rights = [] if os.geteuid() else ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    sandbox = ["--as-pid-1", "--unshare-pid", "--unshare-net", "--unshare-ipc", *rights]
    sandbox += [*confinement.mounts({}), "--proc", "/proc", "--dev", "/dev"]
    for space in asked.tmpfs:
        sandbox += ["--perms", "1777", "--tmpfs", space.partition(":")[0]]
    for volume in asked.volume:
        outside, inside, *readonly = volume.split(":")
        sandbox += ["--perms", "0755", "--dir", str(Path(inside).parent)]
        sandbox += ["--ro-bind" if readonly else "--bind", outside, inside]
    sandbox += ["--chdir", asked.workdir, "--clearenv", "--die-with-parent"]
    for pair in [f"PATH={Path(sys.executable).parent}:/usr/bin:/bin", *asked.env]:
        sandbox += ["--setenv", *pair.split("=", 1)]
    sandbox += [sys.executable, "-c", BECOME, number]
    return _run_sandbox([*sandbox, asked.entrypoint, *asked.command], asked.name)


def kill(rest: list[str]) -> int:
    """Send a signal to the first process of a container; 1 for one that is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--signal", default="KILL")
    parser.add_argument("name")
    asked = parser.parse_args(rest)
    try:
        first = int((STATE / asked.name).read_text())
        os.kill(first, signal.Signals[f"SIG{asked.signal}"])
    except (OSError, ValueError):
        return 1
    return 0


def _read_options(rest: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in ("--rm", "--interactive", "--read-only"):
        parser.add_argument(flag, action="store_true", required=True)
    for option in ("name", "network", "cap-drop", "security-opt", "memory", "memory-swap", "user"):
        parser.add_argument(f"--{option}", required=True)
    for option in ("pids-limit", "workdir", "hostname", "entrypoint"):
        parser.add_argument(f"--{option}", required=True)
    for option in ("tmpfs", "volume", "env"):
        parser.add_argument(f"--{option}", action="append", required=True)
    parser.add_argument("image")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args(rest)


def _run_sandbox(sandbox: list[str], name: str) -> int:
    status, inside = os.pipe()
    told_to = ["--json-status-fd", str(inside)]
    process = subprocess.Popen(["bwrap", *told_to, *sandbox], pass_fds=(inside,))
    os.close(inside)
    with os.fdopen(status) as told:
        (STATE / name).write_text(str(json.loads(told.readline())["child-pid"]))
        code = process.wait()
    (STATE / name).unlink()
    return code


if __name__ == "__main__":
    sys.exit(main())

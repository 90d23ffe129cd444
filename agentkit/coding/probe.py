"""Which isolation this machine offers for running code, and how to get one when it offers none."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from agentkit.coding import bubblewrap
from agentkit.coding.engine import engine
from agentkit.core import confinement
from agentkit.errors import ExecutionError

_TRY_S = 10.0
_ALLOW = """\
If bubblewrap is there and fails, the system forbids user namespaces. Ubuntu 24.04 allows them by
sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0
and older Debian by
sudo sysctl kernel.unprivileged_userns_clone=1"""
_START = (
    "If Docker is there and fails, start it (sudo systemctl start docker) and join its group "
    "(sudo usermod -aG docker $USER)."
)
_BUBBLEWRAP = (
    "use_docker=True, isolated_executor() and SandboxCommandLineCodeExecutor run code in it,"
    " without an image."
)
_DOCKER = "use_docker=True, isolated_executor() and DockerCommandLineCodeExecutor run code in it."
_HOW = f"""\
Code runs only in isolation, and neither bubblewrap (0.7 or newer) nor Docker nor podman works \
here. Get one of them:
- Debian, Ubuntu: sudo apt-get install bubblewrap
- Fedora: sudo dnf install bubblewrap
- macOS, Windows: install and start Docker Desktop
Then start this program again.
{_ALLOW}
{_START}"""


@cache
def bubblewrap_works() -> bool:
    """Whether bubblewrap can make a sandbox here; found out once, by making one (30 ms)."""
    if confinement.program() is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        limits = bubblewrap.Limits(seconds=_TRY_S)
        try:
            return bubblewrap.run(
                ["true"], Path(folder).resolve(), limits, confinement.find_unused_user()
            ) == (0, "")
        except (ExecutionError, OSError):
            return False


def docker_works() -> bool:
    """Whether Docker or podman is installed and its service answers; asked anew each time, as it
    may be started meanwhile.
    """
    return engine() is not None


def without_docker() -> str:
    """What to do where a container is asked for and no Docker answers, for a person to read."""
    if bubblewrap_works():
        return f"bubblewrap works here: {_BUBBLEWRAP}\n{_START}"
    return _HOW


def without_bubblewrap() -> str:
    """What to do where a sandbox is asked for and bubblewrap makes none, for a person to read."""
    if docker_works():
        return f"Docker works here: {_DOCKER}\n{_ALLOW}"
    return _HOW


def how_to_isolate() -> str:
    """The commands that bring isolation to Debian, Ubuntu, Fedora, macOS and Windows, for a person
    to read.
    """
    return _HOW

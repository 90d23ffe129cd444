"""The executor that isolates code on this machine, whichever works here."""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path
from typing import Any

from agentkit.coding import folders
from agentkit.coding.base import CodeExecutor
from agentkit.coding.docker import DockerCommandLineCodeExecutor
from agentkit.coding.probe import bubblewrap_works, docker_works, how_to_isolate
from agentkit.coding.sandbox import SandboxCommandLineCodeExecutor
from agentkit.errors import NoIsolation


def isolated_executor(**options: Any) -> CodeExecutor:
    """A sandbox where one works, else a container; never code without isolation.

    `options` go to the one that is made; `timeout` and `work_dir` suit both. Without `work_dir` it
    is a temporary folder.
    A container keeps its network. Raises NoIsolation, which says how to get isolation.
    """
    if bubblewrap_works():
        return SandboxCommandLineCodeExecutor(**options)
    if not docker_works():
        raise NoIsolation(how_to_isolate())
    if options.get("work_dir") is not None:
        return DockerCommandLineCodeExecutor(**options)
    folder = tempfile.mkdtemp(prefix="agentkit-")
    try:
        executor = DockerCommandLineCodeExecutor(**{**options, "work_dir": folder})
    except BaseException:
        folders.remove(Path(folder))
        raise
    weakref.finalize(executor, folders.remove, Path(folder))
    return executor

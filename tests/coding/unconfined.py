"""The executor that isolates nothing, made without its warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.coding import LocalCommandLineCodeExecutor


def local(folder: Path, timeout: float) -> LocalCommandLineCodeExecutor:
    """An executor that works in the folder, `timeout` seconds for each block; it has warned."""
    with pytest.warns(UserWarning, match="without isolation"):
        return LocalCommandLineCodeExecutor(timeout=timeout, work_dir=folder)

"""A kernel of a chat with small limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.coding import folders
from agentkit.coding.bubblewrap import Limits
from agentkit.coding.chat_kernel.kernel import ChatKernel, is_available

CONTAINERS_VARIABLE = "SOAK_CONTAINERS"
_ASKED = os.environ.get(CONTAINERS_VARIABLE, "")
IN_CONTAINERS = _ASKED == "1"
"""Whether kernels run in containers of this machine's Docker or podman, instead of bubblewrap."""
_IS_SOAK = "SOAK" in os.environ
# Kernels in a real engine are tried by `make soak` alone, unless the variable is "no".
collect_ignore = [] if _IS_SOAK and _ASKED != "no" else ["test_real_engine.py"]
SMALL = Limits(seconds=60, memory_mb=512, processes=32, output_bytes=10_000, file_mb=10)


@pytest.fixture
def chat_kernel(tmp_path: Path) -> Iterator[ChatKernel]:
    assert is_available(IN_CONTAINERS), is_available(IN_CONTAINERS).reason
    with ChatKernel(tmp_path / "work", SMALL, IN_CONTAINERS) as made:
        yield made
    folders.remove(tmp_path / "work")  # pytest cannot: it may be thousands of folders deep


@pytest.fixture(scope="module")
def lasting_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatKernel]:
    """The same for all tests of a file."""
    assert is_available(IN_CONTAINERS), is_available(IN_CONTAINERS).reason
    folder = tmp_path_factory.mktemp("kernel") / "work"
    with ChatKernel(folder, SMALL, IN_CONTAINERS) as made:
        yield made
    folders.remove(folder)

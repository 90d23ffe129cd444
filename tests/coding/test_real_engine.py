"""All tests of kernels and all attacks once more, in containers of this machine's Docker or podman.

`make soak` alone collects this file (`conftest.py` says when), as it takes an engine; where there
is none it fails, and says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.coding import folders
from agentkit.coding.chat_kernel.container import IMAGE_VARIABLE
from agentkit.coding.chat_kernel.kernel import ChatKernel
from tests.coding.attacks import OF_CONTAINERS
from tests.coding.conftest import CONTAINERS_VARIABLE, SMALL
from tests.coding.kernel_image import make_image

pytestmark = pytest.mark.soak
HERE = Path(__file__).parent
MOST_S = 3_600.0


@pytest.fixture(scope="module")
def image() -> str:
    return make_image()


@pytest.fixture
def contained(image: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChatKernel]:
    monkeypatch.setenv(IMAGE_VARIABLE, image)
    with ChatKernel(tmp_path / "work", SMALL, in_container=True) as made:
        yield made
    folders.remove(tmp_path / "work")


@pytest.mark.parametrize("file", ["test_chat_kernel.py", "test_kernel_attacks.py"])
def test_kernels_are_the_same_in_a_container(image: str, file: str) -> None:
    program = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*program, str(HERE / file)],
        env={**os.environ, CONTAINERS_VARIABLE: "1", IMAGE_VARIABLE: image},
        cwd=HERE.parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    sys.stdout.write(done.stdout)
    assert done.returncode == 0, done.stdout[-20_000:]
    assert "skipped" not in done.stdout


def test_what_a_container_shows_of_a_system_is_its_own(contained: ChatKernel) -> None:
    """An engine makes some places that bubblewrap leaves out."""
    for place in OF_CONTAINERS:
        which = f"import os\nhere = os.stat({place!r})\nprint(here.st_dev, here.st_ino)"
        ours = os.stat(place)
        assert contained.run_cell(which).text().strip() != f"{ours.st_dev} {ours.st_ino}"
    write = "try:\n    open('/sys/kernel/uevent_helper', 'w')\nexcept OSError as e: print('shut')"
    assert contained.run_cell(write).text() == "shut\n"


@pytest.mark.parametrize("place", ["/var/tmp", "/dev/shm", "/run", "/tmp"])
def test_what_an_engine_lets_write_is_bounded(contained: ChatKernel, place: str) -> None:
    """Where there is room at all, it is memory of the container, or has a size."""
    fill = f"for i in range(700):\n    open('{place}/' + str(i), 'wb').write(bytes(2**20))"
    assert contained.run_cell(fill).status in ("error", "died")
    assert contained.run_cell("1").ok

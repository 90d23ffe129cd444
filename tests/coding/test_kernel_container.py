"""Kernels in containers: how Docker is asked for them, and that they live, halt and die as others.

The program `docker` is one of ours here, whose containers are sandboxes of bubblewrap
(`docker_here.py`); `test_real_engine.py` uses a real one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentkit.coding import folders, footprint
from agentkit.coding.chat_kernel.container import IMAGE, IMAGE_VARIABLE, find_obstacle
from agentkit.coding.chat_kernel.kernel import ChatKernel, is_available
from agentkit.coding.chat_kernel.outputs import Table, Text, Variable
from agentkit.errors import ExecutionError, NoIsolation
from tests.coding.attacks import KEYRING, filtered
from tests.coding.conftest import SMALL

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).with_name("docker_here.py")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stand-in, which comes first on PATH."""
    programs, state = tmp_path / "programs", tmp_path / "state"
    programs.mkdir()
    state.mkdir()
    (state / "images").write_text("ours:1")
    docker = programs / "docker"
    docker.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} {HERE} "$@"\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_HERE_STATE", str(state))
    monkeypatch.setenv(IMAGE_VARIABLE, "ours:1")
    return state


@pytest.fixture
def contained(state: Path, tmp_path: Path) -> Iterator[ChatKernel]:
    with ChatKernel(tmp_path / "work", SMALL, in_container=True) as made:
        yield made
    folders.remove(tmp_path / "work")


def test_a_life_of_a_kernel(contained: ChatKernel, state: Path) -> None:
    assert contained.run_cell("x = 41\nimport pandas as pd").outputs == ()
    assert contained.run_cell("x += 1\nx").outputs == (Text("42\n", "result"),)
    table = contained.run_cell("pd.DataFrame({'a': [x]})").outputs
    assert table == (Table(("a",), ((42,),), 1, 1),)
    assert Variable("x", "int", "") in contained.variables()
    made = contained.run_cell("open('made.txt', 'w').write('here')")
    assert [file.name for file in made.files] == ["made.txt"]
    assert contained.read_file("made.txt") == b"here"
    assert contained.run_cell("import time").ok
    contained.limits = replace(SMALL, seconds=3)
    late = contained.run_cell("print('before', flush=True)\ntime.sleep(600)")
    contained.limits = SMALL
    assert late.status == "timeout"
    assert late.outputs == (Text("before\n", "stdout"),)
    assert contained.run_cell("x").outputs == (Text("42\n", "result"),)
    asked = json.loads((state / "asked.json").read_text())
    assert asked["network"] == "none"
    assert asked["cap_drop"] == "ALL"
    assert asked["security_opt"] == "no-new-privileges"
    assert asked["memory"] == asked["memory_swap"] == "512m"
    assert not asked["user"].startswith("0:")
    contained.end()
    assert not any(state.glob("agentkit-kernel-*"))
    assert contained.run_cell("x").status == "error"


def test_between_cells_everything_is_halted(contained: ChatKernel, state: Path) -> None:
    count = (
        "import os, time\nif not os.fork():\n    n = 0\n    while True:\n"
        "        n += 1\n        open('count', 'w').write(str(n)); time.sleep(0.01)\n"
    )
    assert contained.run_cell(count).ok
    (container,) = state.glob("agentkit-kernel-*")
    first, *others = footprint.read_states(int(container.read_text())).values()
    assert first != "T", "it goes on, to look after the others"
    assert set(others) == {"T"}
    assert len(others) == 2
    counted = "os.remove('count')\nwhile not os.path.exists('count'): time.sleep(0.01)"
    assert contained.run_cell(counted).ok  # what was left behind goes on with the next cell


def test_a_kernel_that_dies_is_told_and_followed_by_another(contained: ChatKernel) -> None:
    died = contained.run_cell("import os; os._exit(3)")
    assert died.status == "died"
    assert died.end is not None
    assert died.end.reason == "exited"
    after = contained.run_cell("1 + 1")
    assert after.outputs == (Text("2\n", "result"),)
    assert after.began_after == died.end


def test_the_first_process_cannot_be_killed_from_inside(contained: ChatKernel) -> None:
    code = "import os, signal\nfor n in (9, 15, 19): os.kill(1, n)\n"
    assert contained.run_cell(code).ok
    assert contained.run_cell("1").ok


FILLING = """
import os, time
kept = []
for i in range(200):
    kept.append(open(str(i), "wb"))
    os.unlink(str(i))
    kept[-1].write(bytes(2**20))
    kept[-1].flush()
    time.sleep(0.02)
time.sleep(60)
"""
HIDING = """
import ctypes, os, time
if not os.fork():
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    time.sleep(60)
time.sleep(60)
"""


@pytest.mark.parametrize("code", [FILLING, HIDING], ids=["deleted files", "a process that hides"])
def test_files_count_that_no_folder_shows(contained: ChatKernel, code: str) -> None:
    died = contained.run_cell(code)
    assert died.end is not None
    assert died.end.reason == "disk"
    assert contained.run_cell("1").ok  # nothing of it counts for the next one


def test_deleted_files_below_the_limit_are_fine(contained: ChatKernel) -> None:
    """Also those in /tmp, which has a limit of its own."""
    few = "range(5)" + FILLING.partition("range(200)")[2].replace("sleep(60)", "sleep(1)")
    begin = FILLING.partition("range(200)")[0]
    assert contained.run_cell(begin + few).ok
    temporary = "import tempfile\nheld = tempfile.TemporaryFile()\n_ = held.write(bytes(9 * 2**20))"
    assert contained.run_cell(f"{temporary}\nheld.flush(); time.sleep(1)").ok


def test_the_first_process_cannot_be_looked_into(contained: ChatKernel) -> None:
    """Else code could tell us in its place what it likes."""
    for file in ("fd/1", "mem", "environ"):
        code = f"try:\n    open('/proc/1/{file}', 'rb+')\nexcept OSError as e: print(e.strerror)"
        assert contained.run_cell(code).text() == "Permission denied\n"


@filtered
def test_calls_are_refused_that_the_engine_lets_through(contained: ChatKernel) -> None:
    told = contained.run_cell("!unshare --user --map-root-user id; true").text()
    assert "not permitted" in told
    assert contained.run_cell(KEYRING).text() == "-1 1\n"


def test_nothing_is_left_when_the_program_dies(state: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom agentkit.coding.chat_kernel.kernel import ChatKernel\n"
        f"kernel = ChatKernel({str(tmp_path / 'work')!r}, in_container=True)\n"
        "print(kernel.run_cell('1 + 1').text(), flush=True)\nos.kill(os.getpid(), 9)"
    )
    program = [sys.executable, "-c", code]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "2\n\n", done.stderr
    deadline = time.monotonic() + 60
    while any(state.glob("agentkit-kernel-*")):
        assert time.monotonic() < deadline, "the container goes on"
        time.sleep(0.05)


def test_an_image_that_is_not_there_is_told_with_the_command(
    state: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert is_available(in_container=True)
    assert find_obstacle() == ""
    monkeypatch.delenv(IMAGE_VARIABLE)
    available = is_available(in_container=True)
    assert not available
    assert f"docker pull {IMAGE}" in available.reason
    assert IMAGE_VARIABLE in available.reason
    with pytest.raises(NoIsolation, match="docker pull"):
        ChatKernel(tmp_path / "work", in_container=True)


def test_a_container_that_does_not_start_says_why(contained: ChatKernel, state: Path) -> None:
    docker = next(Path(place, "docker") for place in os.environ["PATH"].split(os.pathsep))
    docker.write_text("#!/bin/sh\n[ $1 = run ] || exit 0\necho 'no space left' >&2\nexit 125\n")
    with pytest.raises(ExecutionError, match="no space left"):
        contained.run_cell("1")


def test_the_program_of_the_container_runs_nowhere_else() -> None:
    program = ROOT / "agentkit" / "coding" / "chat_kernel" / "in_container.py"
    done = subprocess.run(
        [sys.executable, str(program), "{}", "{}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "first process of a container" in done.stderr

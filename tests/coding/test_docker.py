"""Containers: how Docker is called and what is done about its failures. A script in place of
`docker` runs code right here.
"""

from __future__ import annotations

import gc
import os
import shutil
import threading
from pathlib import Path

import pytest

from agentkit.coding.base import CodeBlock
from agentkit.coding.docker import DockerCommandLineCodeExecutor
from agentkit.coding.engine import engine
from agentkit.coding.isolation import isolated_executor
from agentkit.coding.probe import bubblewrap_works, docker_works
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import ExecutionError, NoIsolation, Stopped

# Writes down how it was called, keeps the running containers as files, and executes in the folder
# that `run` bound.
FAKE = """#!/bin/sh
state={state}
echo "$@" >> $state/calls
case $1 in
info) exit 0;;
run) shift
    while [ $# -gt 0 ]; do case $1 in
        --name) name=$2; shift 2;; --volume) bound=${{2%:/workspace}}; shift 2;;
        slow:image) echo > $state/$name; exec sleep 60;;
        nosuch:image) echo "pull access denied for nosuch" >&2; exit 125;;
        *) shift;; esac; done
    echo "$bound" > $state/$name; echo 0123456789ab;;
exec) [ -e $state/$6 ] || {{ echo "Error: No such container: $6" >&2; exit 1; }}
    cd "$(cat $state/$6)"; shift 6; program=$1; shift; file=${{1#/workspace/}}; shift
    [ $program = python ] && program={python}
    exec $program "$file" "$@";;
inspect) [ -e $state/$4 ] && echo true || exit 1;;
stop) rm -f $state/$4; echo $4;;
restart) [ -e $state/$4 ] || {{ echo "No such container" >&2; exit 1; }};;
esac
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the fake, which comes first on PATH."""
    programs, state = tmp_path / "programs", tmp_path / "state"
    programs.mkdir()
    state.mkdir()
    fake = programs / "docker"
    fake.write_text(FAKE.format(state=state, python=shutil.which("python3")))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return state


def calls(state: Path) -> list[str]:
    return (state / "calls").read_text().splitlines()


def python(code: str) -> list[CodeBlock]:
    return [CodeBlock(code, "python")]


def test_the_container_is_started_with_the_folder_bound(state: Path, tmp_path: Path) -> None:
    with DockerCommandLineCodeExecutor("img:1", "box", work_dir=tmp_path / "w") as executor:
        assert executor.container_name == "box"
        assert executor.bind_dir == executor.work_dir
        started = calls(state)[-1]
    assert (
        started
        == "run --detach --init --name box --entrypoint /bin/sh --workdir /workspace --volume"
        f" {tmp_path / 'w'}:/workspace --rm img:1 -c exec tail -f /dev/null"
    )
    assert calls(state)[-1] == "stop -t 1 box"


def test_options_of_the_container(state: Path, tmp_path: Path) -> None:
    executor = DockerCommandLineCodeExecutor(
        work_dir=tmp_path / "w", bind_dir=tmp_path / "host", auto_remove=False, stop_container=False
    )
    started = calls(state)[-1]
    assert "--rm" not in started
    assert f"--volume {tmp_path / 'host'}:/workspace" in started
    assert " python:3-slim " in started
    del executor
    gc.collect()
    assert calls(state)[-1] == started


def test_a_forgotten_container_is_stopped(state: Path, tmp_path: Path) -> None:
    executor = DockerCommandLineCodeExecutor(container_name="box", work_dir=tmp_path / "w")
    del executor
    gc.collect()
    assert calls(state)[-1] == "stop -t 1 box"


def test_code_is_executed_inside(state: Path, tmp_path: Path) -> None:
    with DockerCommandLineCodeExecutor(container_name="box", work_dir=tmp_path / "w") as executor:
        result = executor.execute_code_blocks(
            [*python("# filename: sub/a.py\nprint('one')"), CodeBlock("echo two; exit 3", "sh")]
        )
    assert (result.exit_code, result.output) == (3, "one\ntwo\n")
    assert result.code_file == str(tmp_path / "w" / "sub" / "a.py")
    assert (
        "exec --workdir /workspace --env PYTHONUNBUFFERED=1 box python /workspace/sub/a.py"
        in calls(state)
    )


def test_a_timeout_restarts_the_container(state: Path, tmp_path: Path) -> None:
    with DockerCommandLineCodeExecutor(
        container_name="box", timeout=6, work_dir=tmp_path / "w"
    ) as executor:  # six seconds: on a busy machine a program needs some to start
        result = executor.execute_code_blocks(
            python("print('begun', flush=True)\nimport time\ntime.sleep(600)")
        )
        assert calls(state)[-1] == "restart -t 0 box"
        assert executor.execute_code_blocks(python("print('again')")).output == "again\n"
    assert result.exit_code == 124
    assert result.output == "begun\n\nTimeout"


def test_a_stop_restarts_the_container(state: Path, tmp_path: Path) -> None:
    signal = StopSignal()
    stopper = threading.Timer(0.5, signal.set)
    with DockerCommandLineCodeExecutor(container_name="box", work_dir=tmp_path / "w") as executor:
        stopper.start()
        with stoppable(signal), pytest.raises(Stopped):
            executor.execute_code_blocks(python("import time\ntime.sleep(60)"))
        assert calls(state)[-1] == "restart -t 0 box"
    stopper.join()


def test_a_container_that_has_gone_is_an_error_that_says_so(state: Path, tmp_path: Path) -> None:
    executor = DockerCommandLineCodeExecutor(container_name="box", work_dir=tmp_path / "w")
    executor.stop()
    with pytest.raises(ExecutionError, match="container box has gone: Error: No such container"):
        executor.execute_code_blocks(python("1"))
    with pytest.raises(ExecutionError, match="does not restart"):
        executor.restart()
    executor.stop()


def test_an_image_that_cannot_be_had(state: Path, tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match="from image nosuch:image: pull access denied"):
        DockerCommandLineCodeExecutor("nosuch:image", work_dir=tmp_path / "w")


def test_a_stop_while_the_image_is_fetched_leaves_no_container(state: Path, tmp_path: Path) -> None:
    signal = StopSignal()
    stopper = threading.Timer(0.5, signal.set)
    stopper.start()
    with stoppable(signal), pytest.raises(Stopped):
        DockerCommandLineCodeExecutor("slow:image", container_name="box", work_dir=tmp_path / "w")
    assert calls(state)[-1] == "stop -t 1 box"
    assert not (state / "box").exists()
    stopper.join()


def test_podman_stands_in(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    (programs / "docker").rename(programs / "podman")
    (programs / "docker").write_text(
        "#!/bin/sh\necho Cannot connect to the Docker daemon >&2\nexit 1\n"
    )
    (programs / "docker").chmod(0o755)
    assert engine() == str(programs / "podman")


def test_without_a_service_it_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A real docker program, if there is one, with a service that does not exist.
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    real = shutil.which("docker")
    monkeypatch.setenv("PATH", str(Path(real).parent) if real else str(tmp_path))
    monkeypatch.setattr("agentkit.coding.probe.bubblewrap_works", lambda: False)
    assert not docker_works()
    with pytest.raises(NoIsolation, match=r"No Docker .*\n.*Get one of them"):
        DockerCommandLineCodeExecutor(work_dir=tmp_path)
    assert issubclass(NoIsolation, RuntimeError)


def test_the_isolated_executor_without_bubblewrap_is_a_container(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    for name in ("sh", "rm", "cat"):
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(programs))
    bubblewrap_works.cache_clear()
    try:
        executor = isolated_executor(timeout=9)
    finally:
        monkeypatch.undo()
        bubblewrap_works.cache_clear()
    assert isinstance(executor, DockerCommandLineCodeExecutor)
    folder = executor.work_dir
    assert folder.is_dir()
    assert folder != Path.cwd()
    del executor
    gc.collect()
    assert not folder.exists()

"""The sandbox: every way out that we know of is tried for real, as root and as a normal user."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.coding.base import CodeBlock
from agentkit.coding.isolation import isolated_executor
from agentkit.coding.probe import bubblewrap_works, how_to_isolate
from agentkit.coding.sandbox import SandboxCommandLineCodeExecutor
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import ExecutionError, NoIsolation, Stopped, WrongArgument
from tests.coding.attacks import (
    KEYRING,
    NASTY,
    OUTSIDE,
    SECRETS,
    SHARED_MEMORY,
    alive,
    connections,
    filtered,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True, scope="module")
def _bubblewrap() -> None:
    assert bubblewrap_works(), f"These tests need a working bubblewrap.\n{how_to_isolate()}"


@pytest.fixture
def sandbox() -> Iterator[SandboxCommandLineCodeExecutor]:
    with SandboxCommandLineCodeExecutor(
        timeout=30, memory_mb=256, processes=32, file_mb=10
    ) as made:
        yield made


def run(
    sandbox: SandboxCommandLineCodeExecutor, code: str, language: str = "python"
) -> tuple[int, str]:
    result = sandbox.execute_code_blocks([CodeBlock(code, language)])
    return result.exit_code, result.output


def cannot(sandbox: SandboxCommandLineCodeExecutor, expression: str, error: str = "") -> None:
    """The expression raises an OSError inside (`error` is in it), while Python itself runs."""
    code, output = run(
        sandbox,
        f"import os\ntry:\n    print('HELD', {expression})\nexcept OSError as e:\n   "
        " print('closed', e)",
    )
    assert code == 0
    assert output.startswith("closed")
    assert error in output


def test_python_with_installed_packages_works(sandbox: SandboxCommandLineCodeExecutor) -> None:
    with SandboxCommandLineCodeExecutor(timeout=60) as roomy:
        code, output = run(roomy, "import pandas\nprint(pandas.DataFrame({'a': [20, 22]}).a.sum())")
    assert (code, output) == (0, "42\n")


def test_shell_and_files_in_the_folder_work(sandbox: SandboxCommandLineCodeExecutor) -> None:
    assert run(sandbox, "echo hello > note.txt; mkdir sub; cat note.txt", "sh") == (0, "hello\n")
    assert run(
        sandbox, "# filename: sub/b.py\nopen('sub/made', 'w').write(open('note.txt').read())"
    ) == (0, "")
    assert (sandbox.work_dir / "sub" / "made").read_text() == "hello\n"


@pytest.mark.parametrize("path", SECRETS)
def test_the_system_s_secrets_are_not_there(
    sandbox: SandboxCommandLineCodeExecutor, path: str
) -> None:
    cannot(sandbox, f"os.stat({path!r})")


def test_the_project_is_not_there(sandbox: SandboxCommandLineCodeExecutor) -> None:
    cannot(sandbox, f"os.stat({str(ROOT / 'README.md')!r})")
    cannot(sandbox, f"os.stat({str(ROOT / 'agentkit')!r})")


def test_the_home_is_not_there(sandbox: SandboxCommandLineCodeExecutor, tmp_path: Path) -> None:
    home = Path.home()
    code, output = run(
        sandbox, f"import os\nprint(os.path.expanduser('~'), os.listdir({str(home)!r}))"
    )
    if code == 0:  # the Python that runs us may lie below it, and is all there is
        python = Path(sys.base_prefix)
        assert python.is_relative_to(home)
        assert output.strip() == f"/tmp {[python.relative_to(home).parts[0]]!r}"
    private = tmp_path / "private"
    private.write_text("secret")
    cannot(sandbox, f"os.stat({str(private)!r})")


def test_our_environment_is_not_passed_on(
    sandbox: SandboxCommandLineCodeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    code, output = run(sandbox, "env; cat /proc/*/environ 2>/dev/null; true", "sh")
    assert code == 0
    assert "HOME=/tmp" in output
    assert "secret" not in output


def test_no_network_not_even_to_this_machine(sandbox: SandboxCommandLineCodeExecutor) -> None:
    with connections() as attempts:
        for attempt in attempts:
            cannot(sandbox, attempt)


def test_abstract_unix_sockets_are_out_of_reach(sandbox: SandboxCommandLineCodeExecutor) -> None:
    name = f"agentkit-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        cannot(sandbox, f"__import__('socket').socket(1).connect('\\0{name}')", "refused")


@pytest.mark.parametrize("folder", OUTSIDE)
def test_nothing_outside_can_be_written(
    sandbox: SandboxCommandLineCodeExecutor, folder: str
) -> None:
    cannot(sandbox, f"open({folder + '/made-by-a-test'!r}, 'w')")
    assert not Path(folder, "made-by-a-test").exists()


def test_tmp_is_private_and_bounded(sandbox: SandboxCommandLineCodeExecutor) -> None:
    cannot(
        sandbox, "[open(f'/tmp/{i}', 'wb').write(bytes(9 * 2**20)) for i in range(3)]", "No space"
    )
    cannot(
        sandbox,
        "[open(f'/dev/shm/{i}', 'wb').write(bytes(9 * 2**20)) for i in range(3)]",
        "No space",
    )
    bound = {
        Path(folder).parts[2]
        for folder in (sys.prefix, sys.base_prefix, sandbox.work_dir)
        if Path(folder).is_relative_to("/tmp")
    }
    assert (
        set(run(sandbox, "ls /tmp", "sh")[1].split()) <= bound
    )  # the working folder, and Python where it lies there


def test_a_link_to_the_outside_is_not_written_through(
    sandbox: SandboxCommandLineCodeExecutor, tmp_path: Path
) -> None:
    victim = tmp_path / "victim.py"
    victim.write_text("untouched")
    run(
        sandbox,
        f"import os\nos.symlink({str(victim)!r}, 'task.py')\nos.symlink({str(tmp_path)!r}, 'out')",
    )
    run(sandbox, "# filename: task.py\nprint('mine')")
    run(sandbox, "# filename: out/victim.py\nprint('mine')")
    assert victim.read_text() == "untouched"


def test_memory_of_a_process_is_bounded(sandbox: SandboxCommandLineCodeExecutor) -> None:
    code, output = run(sandbox, "print('begun')\nbytearray(10**9)")
    assert code == 1
    assert output.startswith("begun")
    assert "MemoryError" in output


def test_memory_of_all_processes_is_bounded(sandbox: SandboxCommandLineCodeExecutor) -> None:
    each = "x = b'x' * (100 * 2**20); time.sleep(60)"
    code, output = run(
        sandbox,
        "import os, time\nfor i in range(8):\n    if not os.fork():\n       "
        f" {each}\ntime.sleep(60)",
    )
    assert code == 137
    assert "256 MB of memory" in output


def test_shared_memory_is_counted_once(sandbox: SandboxCommandLineCodeExecutor) -> None:
    code = (
        "import os, time\nx = b'x' * (100 * 2**20)\nfor i in range(8):\n    if not os.fork():\n    "
        "    break\n"
    )
    assert run(sandbox, f"{code}time.sleep(1)")[0] == 0


def test_a_fork_bomb_fizzles(sandbox: SandboxCommandLineCodeExecutor) -> None:
    bomb = (
        "import os, time\nmade = 0\ntry:\n    while True:\n        if not os.fork():\n           "
        " time.sleep(60)\n        made += 1\nexcept OSError as e:\n    print(made, e)"
    )
    code, output = run(sandbox, bomb)
    assert code == 0
    assert int(output.split()[0]) < 32


def test_a_file_is_bounded(sandbox: SandboxCommandLineCodeExecutor) -> None:
    cannot(sandbox, "open('big', 'wb').write(bytes(20 * 2**20))", "too large")
    assert (sandbox.work_dir / "big").stat().st_size <= 10 * 2**20


@pytest.mark.parametrize("unlink", ["", "; os.unlink(str(i))"], ids=["files", "deleted files"])
def test_all_files_together_are_bounded(
    sandbox: SandboxCommandLineCodeExecutor, unlink: str
) -> None:
    flood = (
        "import os, time\nkept = []\nfor i in range(200):\n    f = open(str(i), 'wb');"
        f" kept.append(f){unlink}\n"
    )
    code, output = run(
        sandbox, flood + "    f.write(bytes(2**20)); f.flush(); time.sleep(0.02)\ntime.sleep(60)"
    )
    assert code == 137
    assert "10 MB into its folder" in output


def test_a_flood_of_output_is_cut(sandbox: SandboxCommandLineCodeExecutor) -> None:
    with SandboxCommandLineCodeExecutor(timeout=1, output_bytes=1000) as brief:
        code, output = run(brief, "yes", "sh")
    assert code == 124
    assert len(output) < 1100
    assert "bytes of output left out" in output


@pytest.mark.parametrize("ending", ["exit", "wait"])
def test_a_process_that_left_the_session_dies_too(ending: str) -> None:
    mark = f"{time.monotonic_ns() % 10**9 + 10**6}"
    with SandboxCommandLineCodeExecutor(timeout=2) as brief:
        code, _ = run(brief, f"setsid sleep {mark} >/dev/null 2>&1 &\nsleep 0.2\n{ending}", "sh")
    assert code == (124 if ending == "wait" else 0)
    assert not alive(mark)


def test_a_stop_kills_all_and_raises(sandbox: SandboxCommandLineCodeExecutor) -> None:
    signal, mark = StopSignal(), f"{time.monotonic_ns() % 10**9 + 10**6}"
    stopper = threading.Timer(0.5, signal.set)
    stopper.start()
    with stoppable(signal), pytest.raises(Stopped) as caught:
        run(sandbox, f"echo begun; setsid sleep {mark} & wait; echo over", "sh")
    assert caught.value.output == "begun\n"
    assert not alive(mark)
    stopper.join()


def test_the_death_of_the_program_is_the_death_of_the_code(tmp_path: Path) -> None:
    mark = f"{time.monotonic_ns() % 10**9 + 10**6}"
    program = (
        "from agentkit.coding import CodeBlock, SandboxCommandLineCodeExecutor as"
        f" S\nS(work_dir={str(tmp_path / 'w')!r}).execute_code_blocks([CodeBlock('setsid sleep"
        f" {mark} & wait', 'sh')])"
    )
    child = subprocess.Popen([sys.executable, "-B", "-c", program], cwd=ROOT)
    end = time.monotonic() + 120
    while not alive(f"sleep\0{mark}") and time.monotonic() < end:
        time.sleep(0.05)
    assert alive(f"sleep\0{mark}")
    child.kill()
    child.wait()
    while alive(f"sleep\0{mark}") and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(f"sleep\0{mark}")


def test_other_processes_are_neither_seen_nor_signalled(
    sandbox: SandboxCommandLineCodeExecutor,
) -> None:
    cannot(sandbox, f"os.kill({os.getpid()}, 0)", "No such process")
    assert int(run(sandbox, "ls -d /proc/[0-9]* | wc -l", "sh")[1]) < 10


@filtered
def test_the_kernel_s_back_doors_are_shut(sandbox: SandboxCommandLineCodeExecutor) -> None:
    assert "not permitted" in run(sandbox, "unshare --user --map-root-user id", "sh")[1]
    cannot(sandbox, "__import__('socket').socket(40)", "not supported")  # AF_VSOCK
    assert run(sandbox, KEYRING) == (0, "-1 1\n")


def test_a_sandbox_that_cannot_be_watched_is_ended(
    sandbox: SandboxCommandLineCodeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int, flags: int = 0) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    with pytest.raises(ExecutionError, match="Too many open files"):
        run(sandbox, "sleep 54.321", "sh")
    assert not alive("sleep\x0054.321")


def test_memory_that_no_process_shows_is_refused(sandbox: SandboxCommandLineCodeExecutor) -> None:
    cannot(sandbox, "os.memfd_create('hidden')", "not permitted")
    assert run(sandbox, SHARED_MEMORY) == (0, "[(-1, -1, -1), 1]\n")


def test_the_first_process_has_the_limits_and_no_more_rights_than_it_needs(
    sandbox: SandboxCommandLineCodeExecutor,
) -> None:
    """A normal user's code may write into its memory."""
    code, output = run(sandbox, "cat /proc/1/limits; grep CapPrm /proc/1/status", "sh")
    limits = {line[:26].strip(): line[26:].split()[:2] for line in output.splitlines()}
    assert (code, limits["Max processes"]) == (0, ["32", "32"])
    assert limits["Max file size"] == [str(10 * 2**20)] * 2
    assert limits["Max address space"] == [str(256 * 2**20)] * 2
    assert (
        int(output.split()[-1], 16) & ~0b1100_0100 == 0
    )  # CAP_DAC_READ_SEARCH, CAP_SETGID, CAP_SETUID


def test_root_inside_is_nobody(sandbox: SandboxCommandLineCodeExecutor) -> None:
    code, output = run(
        sandbox, "grep -E '^(Cap(Eff|Prm)|NoNewPrivs)' /proc/self/status; id -u", "sh"
    )
    assert code == 0
    assert output.split()[:4] == ["CapPrm:", "0" * 16, "CapEff:", "0" * 16]
    assert "NoNewPrivs:\t1" in output
    assert output.split()[-1] != "0"


def test_the_temporary_folder_goes_with_the_executor(tmp_path: Path) -> None:
    executor = SandboxCommandLineCodeExecutor()
    folder = executor.work_dir
    run(executor, "touch a; mkdir b", "sh")
    assert (folder / "a").exists()
    del executor
    gc.collect()
    assert not folder.exists()
    with SandboxCommandLineCodeExecutor(work_dir=tmp_path / "kept") as kept:
        run(kept, "touch a", "sh")
    assert (tmp_path / "kept" / "a").exists()


@pytest.mark.parametrize("code", NASTY.values(), ids=NASTY)
def test_whatever_code_leaves_the_next_runs_and_nothing_remains(
    sandbox: SandboxCommandLineCodeExecutor, code: str
) -> None:
    folder = sandbox.work_dir
    assert run(sandbox, f"import os\n{code}") == (0, "")
    assert run(sandbox, "echo again > said; cat said", "sh") == (0, "again\n")
    sandbox.stop()
    assert not folder.exists()


def test_data_below_any_path_is_bounded(sandbox: SandboxCommandLineCodeExecutor) -> None:
    dig = "import os, time\nfor i in range(30):\n    os.mkdir('n' * 250); os.chdir('n' * 250)\n"
    flood = (
        "for i in range(200):\n    open(str(i), 'wb').write(bytes(2**20));"
        " time.sleep(0.02)\ntime.sleep(60)"
    )
    code, output = run(sandbox, dig + flood)
    assert code == 137
    assert "10 MB into its folder" in output


@pytest.mark.parametrize("folder", [Path("/"), Path.home(), ROOT, Path(sys.prefix)])
def test_a_folder_with_something_precious_is_refused(folder: Path) -> None:
    with pytest.raises(WrongArgument, match="must not change"):
        SandboxCommandLineCodeExecutor(work_dir=folder)


@pytest.mark.parametrize("limit", ["memory_mb", "processes", "output_bytes", "file_mb"])
def test_impossible_limits_are_refused(limit: str) -> None:
    with pytest.raises(WrongArgument, match=f"{limit}=0"):
        SandboxCommandLineCodeExecutor(**{limit: 0})  # type: ignore[arg-type]


def test_functions_can_be_imported(sandbox: SandboxCommandLineCodeExecutor) -> None:
    def double(number: int) -> int:
        """Twice the number."""
        return 2 * number

    with SandboxCommandLineCodeExecutor(functions=[double]) as able:
        assert run(able, "from functions import double\nprint(double(21))") == (0, "42\n")


def test_without_bubblewrap_it_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    bubblewrap_works.cache_clear()
    try:
        with pytest.raises(NoIsolation, match="apt-get install bubblewrap"):
            SandboxCommandLineCodeExecutor()
        with pytest.raises(NoIsolation, match="dnf install"):
            isolated_executor()
    finally:
        bubblewrap_works.cache_clear()


def test_a_bubblewrap_that_the_system_refuses_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(
        "#!/bin/sh\necho 'bwrap: Creating new namespace failed: Operation not permitted'; exit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    bubblewrap_works.cache_clear()
    try:
        assert not bubblewrap_works()
    finally:
        monkeypatch.undo()
        bubblewrap_works.cache_clear()


def test_the_isolated_executor_is_the_sandbox_here() -> None:
    executor = isolated_executor(timeout=5)
    assert isinstance(executor, SandboxCommandLineCodeExecutor)
    assert executor.timeout == 5

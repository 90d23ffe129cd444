"""The executor without isolation: files, languages, refused commands, and processes that do not
outlive their block.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentkit.coding import CodeBlock, CommandLineCodeResult, LocalCommandLineCodeExecutor
from agentkit.coding.command_line import file_name_in, silence_pip, write_file
from agentkit.coding.legacy import create_virtual_env
from agentkit.coding.process import CappedOutput, run_command
from agentkit.core.bus import listening
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import ExecutionError, Stopped, WrongArgument, WrongType
from agentkit.events import Event, Noted
from tests.coding.unconfined import local


@pytest.fixture
def executor(tmp_path: Path) -> LocalCommandLineCodeExecutor:
    return local(tmp_path, 10)


def run(
    executor: LocalCommandLineCodeExecutor, code: str, language: str = "python"
) -> CommandLineCodeResult:
    return executor.execute_code_blocks([CodeBlock(code, language)])


def test_it_says_that_nothing_isolates_the_code(executor: LocalCommandLineCodeExecutor) -> None:
    events: list[Event] = []
    with listening(events.append):
        run(executor, "1")
    assert [type(event) for event in events] == [Noted]
    assert "without isolation" in str(events[0])


def test_lines_of_both_streams_keep_their_order(executor: LocalCommandLineCodeExecutor) -> None:
    code = "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')\nsys.exit(3)"
    result = run(executor, code)
    assert (result.exit_code, result.output) == (3, "a\nb\nc\n")


def test_bytes_that_are_no_text_are_replaced(executor: LocalCommandLineCodeExecutor) -> None:
    assert run(executor, r"printf 'a\377b\r\n'", "sh").output == "a\ufffdb\n"


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("py", "print(7)"),
        ("PYTHON", "print(7)"),
        ("python3", "print(7)"),
        ("bash", "echo $((3+4))"),
        ("shell", "echo 7"),
    ],
)
def test_languages_have_other_names(
    executor: LocalCommandLineCodeExecutor, language: str, code: str
) -> None:
    assert run(executor, code, language).output == "7\n"


def test_a_language_whose_program_is_missing_is_a_failure(
    executor: LocalCommandLineCodeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = run(executor, "echo 1", "pwsh")
    assert result.exit_code == 127
    assert "pwsh was not found" in result.output


def test_policies_say_what_is_run(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="isolation"):
        executor = LocalCommandLineCodeExecutor(
            work_dir=tmp_path, execution_policies={"python": False}
        )
    result = run(executor, "print(1)")
    assert result.code_file is not None
    assert result.output == f"Code saved to {result.code_file}\n"
    assert Path(result.code_file).read_text() == "print(1)"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"timeout": 0}, WrongArgument, "greater than or equal to 1"),
        ({"timeout": "x"}, WrongType, "not a number"),
        ({"timeout": float("inf")}, WrongArgument, "at most 31,536,000 seconds"),
        ({"timeout": float("nan")}, WrongArgument, "at most 31,536,000 seconds"),
        ({"execution_policies": {"cobol": True}}, WrongArgument, "cobol"),
        ({"work_dir": "/dev/null/x"}, WrongArgument, "cannot be made"),
    ],
)
def test_impossible_arguments_are_refused(
    options: dict[str, object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        LocalCommandLineCodeExecutor(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("# filename: a/b c.py", "a/b c.py"),
        ("# filename:x.py", "x.py"),
        ("# x.py", "x.py"),
        ("// q.js", "q.js"),
        ("/* filename: q.css */", "q.css"),
        ("<!-- filename: q.html -->", "q.html"),
        ("# hello world", None),
        ("# sales.csv", None),
        ("# data/a.json", None),
        ("# filename:", None),
        ("#!/bin/bash", None),
        ("# see https://example.org/x.py", None),
        ("x = 1", None),
    ],
)
def test_a_name_is_stated_in_the_first_line(line: str, name: str | None) -> None:
    assert file_name_in(f"{line}\nrest") == name


def test_names_that_cannot_be_written_are_failures(
    executor: LocalCommandLineCodeExecutor, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("folder", "x" * 300, "a\x00b", "."):
        result = run(executor, f"# filename: {name}\nprint(1)")
        assert result.exit_code == 1
        assert "ile" in result.output


def test_a_link_out_of_the_folder_is_not_written_through(
    executor: LocalCommandLineCodeExecutor, tmp_path: Path
) -> None:
    victim = tmp_path.parent / "victim.py"
    (tmp_path / "x.py").symlink_to(victim)
    assert run(executor, "# filename: x.py\nprint(1)").exit_code == 1
    assert not victim.exists()


def test_a_pipe_in_the_place_of_the_file_does_not_block(
    executor: LocalCommandLineCodeExecutor, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "x.py")
    assert run(executor, "# filename: x.py\nprint(1)").output == "1\n"


DESTRUCTIVE = [
    "rm -rf /",
    "sudo rm -fr .",
    "rm -r -f x",
    "rm --recursive --force x",
    "echo a; rm  -rf x",
    "mv x /dev/null",
    "dd if=/dev/zero of=x",
    "echo > /dev/sda",
    "cat x >/dev/nvme0n1",
    ":(){ :|:& };:",
    "b() { b|b& };b",
    "mkfs.ext4 /dev/x",
]


@pytest.mark.parametrize("command", DESTRUCTIVE)
def test_destructive_commands_are_refused_before_anything_runs(
    executor: LocalCommandLineCodeExecutor, tmp_path: Path, command: str
) -> None:
    with pytest.raises(ValueError, match="Potentially dangerous command detected"):
        executor.execute_code_blocks([CodeBlock("touch ran", "sh"), CodeBlock(command, "bash")])
    assert not (tmp_path / "ran").exists()
    LocalCommandLineCodeExecutor.sanitize_command("python", command)


@pytest.mark.parametrize(
    "command",
    ["rm x", "rm -r x", "git add of=x", "mv a b; ls /dev/null", "echo 1 >/dev/null", "confirm -rf"],
)
def test_other_commands_pass(command: str) -> None:
    LocalCommandLineCodeExecutor.sanitize_command("sh", command)


def test_pip_is_told_to_be_quiet() -> None:
    assert silence_pip("ls\npip install a b", "sh") == "ls\npip install -qqq a b"
    assert silence_pip("python -m pip install a", "bash") == "python -m pip install -qqq a"
    assert (
        silence_pip("!pip install a\nx = 'pip install b'", "python")
        == "!pip install -qqq a\nx = 'pip install b'"
    )
    assert silence_pip("pip install -q a", "sh") == "pip install -q a"


def test_a_virtual_environment_comes_first(tmp_path: Path) -> None:
    context = create_virtual_env(tmp_path / "env", with_pip=False)
    with pytest.warns(UserWarning, match="isolation"):
        executor = LocalCommandLineCodeExecutor(virtual_env_context=context, work_dir=tmp_path)
    assert run(executor, "import sys\nprint(sys.prefix)").output.strip() == str(tmp_path / "env")
    assert run(executor, "command -v python", "sh").output.strip() == str(
        tmp_path / "env" / "bin" / "python"
    )


# The grandchild's command line holds a text that only this test knows.
ESCAPES = {
    "background": "sh -c 'sleep 60; : {mark}' & echo begun; wait",
    "orphan": "(sh -c 'sleep 60; : {mark}' &) ; echo begun; sleep 60",
    "session": "setsid sh -c 'sleep 60; : {mark}' & echo begun; wait",
    "daemon": "(setsid sh -c 'sleep 60; : {mark}' &) ; echo begun; sleep 60",
    "no environment": "env -i setsid sh -c '/bin/sleep 60; : {mark}' & echo begun; wait",
    "left behind": "(setsid sh -c 'sleep 60; : {mark}' &) ; echo begun",
}


def alive(mark: str) -> list[str]:
    commands = []
    for folder in Path("/proc").iterdir():
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in command and folder.name != str(os.getpid()):
            commands.append(command)
    return commands


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are only listed under /proc")
@pytest.mark.parametrize("escape", ESCAPES)
def test_a_timeout_kills_all_descendants(tmp_path: Path, escape: str) -> None:
    mark = uuid.uuid4().hex
    result = run(local(tmp_path, 1), ESCAPES[escape].format(mark=mark), "sh")
    assert (result.exit_code, result.output) == (124, "begun\n\nTimeout")
    assert alive(mark) == []


def test_a_stop_carries_what_there_was_of_the_output(
    executor: LocalCommandLineCodeExecutor, tmp_path: Path
) -> None:
    begun, signal = tmp_path / "begun", StopSignal()

    def stop_when_begun() -> None:
        while not begun.exists():
            time.sleep(0.02)
        signal.set()

    stopper = threading.Thread(target=stop_when_begun)
    stopper.start()
    blocks = [CodeBlock("echo one", "sh"), CodeBlock(f"echo two; touch {begun}; sleep 600", "sh")]
    with stoppable(signal), pytest.raises(Stopped) as caught:
        executor.execute_code_blocks(blocks)
    stopper.join()
    assert caught.value.output == "one\ntwo\n"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are only listed under /proc")
def test_a_stop_kills_all_descendants(executor: LocalCommandLineCodeExecutor) -> None:
    mark, signal = uuid.uuid4().hex, StopSignal()

    def stop_when_begun() -> None:
        while not alive(mark):
            time.sleep(0.02)
        signal.set()

    stopper = threading.Thread(target=stop_when_begun)
    stopper.start()
    with stoppable(signal), pytest.raises(Stopped):
        run(executor, ESCAPES["daemon"].format(mark=mark), "sh")
    stopper.join()
    assert alive(mark) == []


def test_code_that_closes_its_output_still_times_out(tmp_path: Path) -> None:
    code = "import os, time\nos.close(1)\nos.close(2)\ntime.sleep(60)"
    assert run_command([sys.executable, "-c", code], tmp_path, 1) == (124, "\nTimeout")


def test_no_folder_and_no_right_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match="no folder"):
        run_command(["true"], tmp_path / "gone", 1)
    (tmp_path / "plain").write_text("text")
    with pytest.raises(ExecutionError, match="could not start"):
        run_command([str(tmp_path / "plain")], tmp_path, 1)


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_output_keeps_its_first_and_last_half(piece: int) -> None:
    output, everything = CappedOutput(100), bytes(range(32, 127)) * 10
    for at in range(0, len(everything), piece):
        output.add(everything[at : at + piece])
    text = everything.decode()
    assert output.text() == f"{text[:50]}\n[... 850 bytes of output left out ...]\n{text[-50:]}"


def test_output_within_the_limit_is_whole() -> None:
    output = CappedOutput(100)
    output.add(b"a" * 60)
    output.add(b"b" * 40)
    assert output.text() == "a" * 60 + "b" * 40


SWAP = """
import os, shutil
os.chdir("work")
os.mkdir("folder")
os.symlink("../outside", "link")
print("begun", flush=True)
while True:
    for name in ("folder", "link"):
        try:
            os.rename(name, "a")
            os.rename("a", name)
        except OSError:
            shutil.rmtree("a", ignore_errors=True)
"""


@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="no way to hold a folder here")
def test_a_link_put_in_a_folder_s_place_meanwhile_is_not_followed(tmp_path: Path) -> None:
    """As code could that goes on in a container, whose files are ours too."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    swapping = subprocess.Popen([sys.executable, "-c", SWAP], cwd=tmp_path, stdout=subprocess.PIPE)
    try:
        assert swapping.stdout is not None
        swapping.stdout.readline()
        for _ in range(2000):
            with suppress(WrongArgument):
                write_file(work, "a/x.py", "pass")
        assert list(outside.iterdir()) == []
    finally:
        swapping.kill()
        swapping.communicate()


@pytest.mark.filterwarnings("ignore:LocalCommandLineCodeExecutor")
def test_a_relative_virtual_environment_is_found_from_the_folder_of_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    home = Path("env/bin")
    home.mkdir(parents=True)
    (home / "python").symlink_to(sys.executable)
    context = SimpleNamespace(env_dir="env", env_exe="env/bin/python", bin_path="env/bin")
    executor = LocalCommandLineCodeExecutor(virtual_env_context=context, work_dir=tmp_path / "work")
    result = executor.execute_code_blocks(
        [CodeBlock("import os; print(os.environ['VIRTUAL_ENV'])", "python")]
    )
    assert (result.exit_code, result.output.strip()) == (0, str(tmp_path / "env"))

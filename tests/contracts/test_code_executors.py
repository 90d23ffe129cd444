"""One suite for every code executor: whoever runs blocks keeps these promises."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from agentkit.coding import (
    CodeBlock,
    CodeExecutor,
    JupyterCodeExecutor,
    SandboxCommandLineCodeExecutor,
)
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import Stopped
from tests.coding.unconfined import local

Factory = Callable[[Path, float], CodeExecutor]


def sandbox(folder: Path, timeout: float) -> CodeExecutor:
    return SandboxCommandLineCodeExecutor(timeout=timeout, work_dir=folder)


def jupyter(folder: Path, timeout: float) -> CodeExecutor:
    with pytest.warns(UserWarning, match="without isolation"):
        return JupyterCodeExecutor(timeout=timeout, output_dir=folder)


# Add an executor here: a function of a folder for its files and the seconds of a block.
FACTORIES: dict[str, Factory] = {"local": local, "sandbox": sandbox, "jupyter": jupyter}
# Those that run files by a program of the language; the others only know Python.
COMMAND_LINES = {"local", "sandbox", "docker"}


@pytest.fixture(params=FACTORIES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def executor(kind: str, tmp_path: Path) -> Iterator[CodeExecutor]:
    made = FACTORIES[kind](tmp_path, 20)
    closing: AbstractContextManager[object] = (
        made if isinstance(made, AbstractContextManager) else nullcontext()
    )
    with closing:
        yield made


def python(*codes: str) -> list[CodeBlock]:
    return [CodeBlock(code, "python") for code in codes]


def test_it_is_an_executor(executor: CodeExecutor) -> None:
    assert isinstance(executor, CodeExecutor)
    assert executor.code_extractor.extract_code_blocks("```python\n1\n```") == [
        CodeBlock("1", "python")
    ]


def test_output_of_all_blocks_in_order(executor: CodeExecutor) -> None:
    result = executor.execute_code_blocks(python("print('one')", "print('two ü')"))
    assert result.exit_code == 0
    assert result.output.split() == ["one", "two", "ü"]


def test_no_blocks_are_no_failure(executor: CodeExecutor) -> None:
    result = executor.execute_code_blocks([])
    assert (result.exit_code, result.output) == (0, "")


def test_the_first_failure_ends_it_and_output_is_kept(executor: CodeExecutor) -> None:
    result = executor.execute_code_blocks(
        python("print('before')\nraise ValueError('broken')", "print('after')")
    )
    assert result.exit_code != 0
    assert "before" in result.output
    assert "ValueError: broken" in result.output
    assert "after" not in result.output


def test_there_is_no_input_to_wait_for(executor: CodeExecutor) -> None:
    assert executor.execute_code_blocks(python("input()")).exit_code != 0


def test_an_unknown_language_is_a_failure_that_names_it(executor: CodeExecutor) -> None:
    result = executor.execute_code_blocks([CodeBlock("x", "cobol")])
    assert result.exit_code == 1
    assert "cobol" in result.output


def test_a_timeout_is_a_result_with_the_output_so_far(kind: str, tmp_path: Path) -> None:
    executor = FACTORIES[kind](tmp_path, 3)
    result = executor.execute_code_blocks(
        python("print('begun', flush=True)\nimport time\ntime.sleep(60)\nprint('over')")
    )
    assert result.exit_code == 124
    assert "begun" in result.output
    assert "over" not in result.output
    assert "Timeout" in result.output


def test_a_stop_ends_the_code(executor: CodeExecutor) -> None:
    signal = StopSignal()
    stopper = threading.Timer(1, signal.set)
    stopper.start()
    with stoppable(signal), pytest.raises(Stopped) as stopped:
        executor.execute_code_blocks(python("import time\ntime.sleep(60)\nprint('over')"))
    stopper.join()
    assert "over" not in stopped.value.output


def test_it_works_again_after_a_restart(executor: CodeExecutor) -> None:
    executor.execute_code_blocks(python("x = 1"))
    executor.restart()
    assert executor.execute_code_blocks(python("print('x' in globals())")).output.strip() == "False"


def test_a_stated_name_becomes_the_file(kind: str, executor: CodeExecutor, tmp_path: Path) -> None:
    if kind not in COMMAND_LINES:
        return
    result = executor.execute_code_blocks(python("# filename: sub/task.py\nprint('ran')"))
    assert result.output.strip() == "ran"
    assert (tmp_path / "sub" / "task.py").is_file()


@pytest.mark.parametrize("name", ["../out.py", "/tmp/out.py", "a/../../out.py"])
def test_a_name_outside_of_the_folder_is_refused(
    kind: str, executor: CodeExecutor, tmp_path: Path, name: str
) -> None:
    if kind not in COMMAND_LINES:
        return
    result = executor.execute_code_blocks(python(f"# filename: {name}\nprint('ran')"))
    assert result.exit_code == 1
    assert result.output == "Filename is not in the workspace"
    assert not (tmp_path.parent / "out.py").exists()


def test_shell_blocks_run_and_html_is_only_saved(kind: str, executor: CodeExecutor) -> None:
    if kind not in COMMAND_LINES:
        return
    result = executor.execute_code_blocks(
        [CodeBlock("<b>", "html"), CodeBlock("echo one; echo two >&2", "sh")]
    )
    assert result.exit_code == 0
    assert result.output.startswith("Code saved to ")
    assert result.output.endswith("one\ntwo\n")


def test_a_flood_of_output_is_cut_and_says_so(kind: str, executor: CodeExecutor) -> None:
    if kind not in COMMAND_LINES:
        return
    result = executor.execute_code_blocks(
        python("print('first')\nprint('x' * 5_000_000)\nprint('last')")
    )
    assert result.output.startswith("first")
    assert result.output.endswith("last\n")
    assert "bytes of output left out" in result.output
    assert len(result.output) < 1_100_000

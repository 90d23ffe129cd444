"""The Jupyter kernel, run for real: state, what it shows, its ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentkit.coding.base import CodeBlock, IPythonCodeResult
from agentkit.coding.jupyter import EmbeddedIPythonCodeExecutor, JupyterCodeExecutor
from agentkit.core.bus import listening
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import Stopped, WrongArgument
from agentkit.events import Event, Noted

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[JupyterCodeExecutor]:
    with pytest.warns(
        UserWarning, match="JupyterCodeExecutor: code runs on this machine without isolation"
    ):
        executor = JupyterCodeExecutor(timeout=20, output_dir=tmp_path)
    with executor:
        yield executor


def run(executor: JupyterCodeExecutor, *codes: str) -> IPythonCodeResult:
    return executor.execute_code_blocks([CodeBlock(code, "python") for code in codes])


def brief(tmp_path: Path, timeout: float) -> JupyterCodeExecutor:
    with pytest.warns(UserWarning, match="EmbeddedIPythonCodeExecutor"):
        return EmbeddedIPythonCodeExecutor(timeout=timeout, output_dir=tmp_path)


def test_state_stays_until_a_restart(kernel: JupyterCodeExecutor) -> None:
    assert run(kernel, "x = 41").exit_code == 0
    assert run(kernel, "x += 1", "x").output == "42\n"
    kernel.restart()
    gone = run(kernel, "x")
    assert gone.exit_code == 1
    assert "NameError" in gone.output


def test_printed_and_shown_texts_come_in_order(kernel: JupyterCodeExecutor) -> None:
    code = (
        "import sys\nprint('one', end='')\ndisplay({'two': 2})\nprint('three',"
        " file=sys.stderr)\n'four'"
    )
    assert run(kernel, code).output == "one\n{'two': 2}\nthree\n'four'\n"


def test_an_error_keeps_the_output_and_shows_a_plain_traceback(kernel: JupyterCodeExecutor) -> None:
    result = run(kernel, "print('before')\n1 / 0", "print('after')")
    assert result.exit_code == 1
    assert result.output.startswith("before\nERROR: ZeroDivisionError: division by zero\n")
    assert "----> 2 1 / 0" in result.output
    assert "\x1b" not in result.output
    assert "after" not in result.output


def test_pictures_and_html_become_files(kernel: JupyterCodeExecutor, tmp_path: Path) -> None:
    picture = (
        "import base64\nfrom IPython.display import HTML, SVG,"
        f" Image\ndisplay(Image(base64.b64decode('{PIXEL}')))\n"
    )
    result = run(
        kernel,
        picture + "display(HTML('<b>ü</b>'))\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')",
    )
    assert result.exit_code == 0
    files = [Path(name) for name in result.output_files]
    assert [file.suffix for file in files] == [".png", ".html", ".svg"]
    assert all(file.parent == tmp_path for file in files)
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert files[1].read_text(encoding="utf-8") == "<b>ü</b>"
    assert f"Image data saved to {files[0]}" in result.output
    assert f"HTML data saved to {files[1]}" in result.output


def test_shell_lines_work_and_colours_go(kernel: JupyterCodeExecutor) -> None:
    assert run(kernel, "!printf '\\033[31mred\\033[0m\\n'").output == "red\n"


def test_a_timeout_interrupts_and_keeps_the_state(tmp_path: Path) -> None:
    with brief(tmp_path, 2) as executor:
        run(executor, "x = 1")
        result = run(executor, "print('begun')\nimport time\ntime.sleep(60)", "print('after')")
        assert result.exit_code == 124
        assert result.output == "begun\nTimeout\n"
        assert run(executor, "x").output == "1\n"


def test_code_that_ignores_the_interrupt_is_killed(tmp_path: Path) -> None:
    stubborn = (
        "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except"
        " KeyboardInterrupt:\n        pass"
    )
    with brief(tmp_path, 1) as executor:
        assert run(executor, stubborn).exit_code == 124
        assert run(executor, "1 + 1").output == "2\n"


@pytest.mark.parametrize(
    "end", ["import os; os._exit(3)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
)
def test_a_kernel_that_dies_says_so_and_is_replaced(kernel: JupyterCodeExecutor, end: str) -> None:
    result = run(kernel, end)
    assert result.exit_code == 1
    assert "The kernel died" in result.output
    assert run(kernel, "1 + 1").output == "2\n"


def _alive(mark: str) -> bool:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if f"sleep\0{mark}".encode() in Path("/proc", pid, "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


def _set_when_shown(signal: StopSignal, folder: Path) -> None:
    """Set it when the HTML that the code shows has come."""
    while not list(folder.glob("*.html")):
        time.sleep(0.02)
    signal.set()


def test_a_stop_kills_the_kernel_and_what_it_started(kernel: JupyterCodeExecutor) -> None:
    signal, mark = StopSignal(), f"{time.monotonic_ns() % 10**9 + 10**6}"
    run(
        kernel,
        f"import subprocess\np = subprocess.Popen(['setsid', 'sleep', '{mark}'])\nimport"
        " time\ntime.sleep(0.2)",
    )
    assert _alive(mark)
    code = "from IPython.display import HTML, display\nprint('begun')\ndisplay(HTML('<p>'))"
    stopper = threading.Thread(target=_set_when_shown, args=(signal, kernel.output_dir))
    stopper.start()
    with stoppable(signal), pytest.raises(Stopped) as caught:
        run(kernel, f"{code}\ntime.sleep(600)")
    stopper.join()
    assert caught.value.output.startswith("begun\n")
    assert not _alive(mark)
    assert run(kernel, "1 + 1").output == "2\n"


def test_the_end_of_the_executor_leaves_nothing(tmp_path: Path) -> None:
    with brief(tmp_path, 20) as executor:
        pid = int(run(executor, "import os\nprint(os.getpid())").output)
        assert Path("/proc", str(pid)).exists()
    assert not Path("/proc", str(pid)).exists()
    executor.stop()


def test_other_threads_may_use_it(kernel: JupyterCodeExecutor) -> None:
    run(kernel, "x = 5")
    outputs: list[str] = []
    thread = threading.Thread(target=lambda: outputs.append(run(kernel, "x").output))
    thread.start()
    thread.join()
    assert outputs == ["5\n"]


def test_several_threads_take_turns(kernel: JupyterCodeExecutor) -> None:
    with ThreadPoolExecutor(3) as threads:
        outputs = threads.map(
            lambda number: run(kernel, f"import time\ntime.sleep(0.2)\nprint({number})").output,
            range(3),
        )
    assert list(outputs) == ["0\n", "1\n", "2\n"]


def test_watchers_are_told_that_nothing_isolates(kernel: JupyterCodeExecutor) -> None:
    heard: list[Event] = []
    with listening(heard.append):
        run(kernel)
    assert [type(event) for event in heard] == [Noted]


def test_impossible_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongArgument, match=r"Kernel nosuch is not installed; there is .*python3"):
        JupyterCodeExecutor(kernel_name="nosuch", output_dir=tmp_path)
    with pytest.raises(WrongArgument, match="timeout"):
        JupyterCodeExecutor(timeout=0, output_dir=tmp_path)
    with pytest.raises(WrongArgument, match="only local kernels"):
        JupyterCodeExecutor("http://localhost:8888", output_dir=tmp_path)  # type: ignore[arg-type]


def test_without_jupyter_it_says_what_to_install() -> None:
    program = (
        "import sys\nsys.modules['ipykernel'] = None\nfrom agentkit.coding import"
        " JupyterCodeExecutor\nfrom agentkit.errors import ExecutionError\ntry:\n   "
        " JupyterCodeExecutor()\nexcept ExecutionError as e:\n    print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert "pip install jupyter_client ipykernel" in done.stdout

"""A kernel of a chat, run for real: state, typed outputs, files, timeouts, stops, deaths."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agentkit.coding.chat_kernel.kernel import (
    CellResult,
    ChatKernel,
    find_packages,
    is_available,
)
from agentkit.coding.chat_kernel.made_files import MadeFile
from agentkit.coding.chat_kernel.outputs import (
    CellError,
    Chart,
    LeftOut,
    Output,
    Picture,
    Table,
    Text,
    Variable,
)
from agentkit.coding.probe import bubblewrap_works
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import ExecutionError, NoIsolation, NotFound, Stopped, WrongArgument
from tests.coding.attacks import alive
from tests.coding.conftest import SMALL

ROOT = Path(__file__).parents[2]
STUBBORN = "while True:\n    try:\n        time.sleep(60)\n    except BaseException: pass"
OTHER_FORMS = "class Many:\n    def _repr_html_(self): return '<script>'\n"


def value(kernel: ChatKernel, code: str) -> str:
    """The value of the last line, as text."""
    result = kernel.run_cell(code)
    assert result.ok, result
    return result.text().strip()


def brief(kernel: ChatKernel, seconds: float) -> None:
    """Let its next cells have less time."""
    kernel.limits = replace(kernel.limits, seconds=seconds)


def test_state_lives_from_cell_to_cell(chat_kernel: ChatKernel) -> None:
    assert not chat_kernel.alive
    assert chat_kernel.run_cell("x = 41").outputs == ()
    assert chat_kernel.run_cell("x += 1\nx").outputs == (Text("42\n", "result"),)
    chat_kernel.end()
    gone = chat_kernel.run_cell("x")
    assert gone.status == "error"
    assert gone.began_after is not None
    assert gone.began_after.reason == "ended"


def test_two_kernels_are_apart(tmp_path: Path) -> None:
    with ChatKernel(tmp_path / "a", SMALL) as one, ChatKernel(tmp_path / "b", SMALL) as other:
        assert one.run_cell("x = 1; open('of-one', 'w').close()").ok
        assert other.run_cell("x").status == "error"
        assert value(other, "import os; os.listdir()") == "[]"
        assert value(one, "x") == "1"


def test_printed_text_comes_in_order_and_as_it_is_printed(chat_kernel: ChatKernel) -> None:
    came: list[Output] = []
    code = (
        "import sys\nprint('a')\nprint('b', file=sys.stderr, flush=True)\nprint('\\x1b[1mc')\n'd'"
    )
    result = chat_kernel.run_cell(code, came.append)
    texts = {
        stream: "".join(t.text for t in came if isinstance(t, Text) and t.stream == stream)
        for stream in ("stdout", "stderr", "result")
    }
    assert texts == {"stdout": "a\nc\n", "stderr": "b\n", "result": "'d'\n"}
    assert sorted(result.text().split()) == ["'d'", "a", "b", "c"]


def test_many_small_prints_come_whole(chat_kernel: ChatKernel) -> None:
    code = "for n in range(6_000):\n    print(n % 10, end='', flush=True)"
    for _ in range(3):
        assert chat_kernel.run_cell(code).outputs == (Text("0123456789" * 600),)


def test_what_was_put_out_takes_no_memory(chat_kernel: ChatKernel) -> None:
    code = "import numpy as np\nfor _ in range(1_000):\n    print('y' * 1_000_000)"
    assert chat_kernel.run_cell(code).ok
    for _ in range(12):
        assert chat_kernel.run_cell("np.ones(10_000_000)").ok


def test_a_bar_of_progress_is_told_as_it_ends(chat_kernel: ChatKernel) -> None:
    result = chat_kernel.run_cell("for i in range(3): print(f'\\r{i} of 2', end='')\nprint()")
    assert result.outputs == (Text("2 of 2\n"),)


def test_output_of_programs_is_taken_too(chat_kernel: ChatKernel) -> None:
    result = chat_kernel.run_cell("import subprocess\n_ = subprocess.run(['echo', 'from echo'])")
    assert result.text() == "from echo\n"


def test_an_error_has_a_traceback_that_names_no_place_of_this_machine(
    chat_kernel: ChatKernel,
) -> None:
    result = chat_kernel.run_cell("import json\n\njson.loads('{')")
    assert result.status == "error"
    (error,) = result.outputs
    assert isinstance(error, CellError)
    assert error.name == "JSONDecodeError"
    assert "line 3" in error.traceback
    assert "json/decoder.py" in error.traceback
    assert not [p for p in (sys.prefix, sys.base_prefix, str(ROOT)) if p in error.traceback]


def test_pictures_are_told_as_their_bytes(chat_kernel: ChatKernel) -> None:
    result = chat_kernel.run_cell("from PIL import Image\nImage.new('RGB', (30, 20))")
    (picture,) = result.outputs
    assert isinstance(picture, Picture)
    assert picture.mime == "image/png"
    assert picture.data.startswith(b"\x89PNG")


def test_a_plot_is_a_picture(chat_kernel: ChatKernel) -> None:
    code = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])"
    result = chat_kernel.run_cell(code)
    if find_packages()["matplotlib"]:
        assert [type(output) for output in result.outputs] == [Picture]
    else:
        (error,) = result.outputs
        assert isinstance(error, CellError)
        assert error.message == "No module named 'matplotlib'"


def test_a_picture_that_is_too_large_is_told(chat_kernel: ChatKernel) -> None:
    result = chat_kernel.run_cell("display({'image/png': 'A' * 10_000_000}, raw=True)\nprint('on')")
    assert result.outputs[0] == LeftOut("picture", 10_000_000, "it is too large")
    assert result.outputs[1:] == (Text("on\n"),)


def test_a_dataframe_is_a_table(chat_kernel: ChatKernel) -> None:
    code = "import pandas as pd\nd = pd.DataFrame({'a': [1, 2.5, None], 'b': list('xyz')})\nd"
    assert chat_kernel.run_cell(code).outputs == (
        Table(("a", "b"), ((1.0, "x"), (2.5, "y"), (None, "z")), 3, 2),
    )
    (grouped,) = chat_kernel.run_cell("d.groupby('b').a.sum().head(2)").outputs
    assert grouped == Table(("b", "a"), (("x", 1.0), ("y", 2.5)), 2, 2)


def test_a_long_and_wide_table_is_cut_and_says_how_large_it_is(chat_kernel: ChatKernel) -> None:
    code = "import pandas as pd\npd.DataFrame([range(150)] * 5_000)"
    (table,) = chat_kernel.run_cell(code).outputs
    assert isinstance(table, Table)
    assert (len(table.rows), len(table.columns)) == (1_000, 100)
    assert (table.total_rows, table.total_columns) == (5_000, 150)
    (table,) = chat_kernel.run_cell("pd.DataFrame({'long': ['x' * 3_000] * 1_500})").outputs
    assert isinstance(table, Table)
    assert {len(str(row[0])) for row in table.rows} == {1_000}
    assert (len(table.rows), table.total_rows) == (1_000, 1_500)


def test_a_chart_is_its_specification(chat_kernel: ChatKernel) -> None:
    code = "import altair as alt, pandas as pd\nd = pd.DataFrame({'a': [1, 2], 'url': [3, 4]})\n"
    drawn = "alt.Chart(d).mark_bar().encode(x='a', y='url')"
    (chart,) = chat_kernel.run_cell(code + drawn).outputs
    assert isinstance(chart, Chart)
    assert chart.spec["mark"] == {"type": "bar"}
    for outward in ("alt.Chart('https://a.test/x.csv').mark_bar()", "alt.Chart(d).mark_image()"):
        (left_out,) = chat_kernel.run_cell(outward).outputs
        assert isinstance(left_out, LeftOut)
        assert "from elsewhere" in left_out.why


def test_nothing_comes_as_html(chat_kernel: ChatKernel) -> None:
    result = chat_kernel.run_cell(f"{OTHER_FORMS}display(Many())\nMany()")
    assert "script" not in str(result.outputs)
    assert all(isinstance(output, Text) for output in result.outputs)


def test_files_made_and_changed_are_told(chat_kernel: ChatKernel) -> None:
    made = chat_kernel.run_cell("import os\nos.mkdir('s')\nopen('s/a.csv', 'w').write('1,2')")
    assert made.files == (MadeFile("s/a.csv", 3),)
    assert chat_kernel.read_file("s/a.csv") == b"1,2"
    changed = chat_kernel.run_cell("open('s/a.csv', 'a').write('3')\nopen('b', 'w').close()")
    assert changed.files == (MadeFile("b", 0), MadeFile("s/a.csv", 4, changed=True))
    assert chat_kernel.run_cell("1").files == ()


def test_links_and_specials_are_no_files(chat_kernel: ChatKernel, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    code = (
        f"import os\nos.symlink({str(secret)!r}, 'link')\nos.symlink({str(tmp_path)!r}, 'out')\n"
        "os.mkfifo('pipe')\nos.symlink('/dev/zero', 'zero')\n"
    )
    assert chat_kernel.run_cell(code).files == ()
    for name in ("link", "out/secret", "pipe", "zero", "../secret", str(secret), "", "no", "a\0"):
        with pytest.raises(NotFound):
            chat_kernel.read_file(name)


def test_a_timeout_keeps_the_state(chat_kernel: ChatKernel) -> None:
    assert chat_kernel.run_cell("x = 7").ok
    brief(chat_kernel, 0.5)
    result = chat_kernel.run_cell("import time\nprint('begun')\ntime.sleep(100)")
    assert (result.status, result.end) == ("timeout", None)
    assert result.outputs == (Text("begun\n"),)
    brief(chat_kernel, 60)
    assert value(chat_kernel, "x") == "7"


def test_who_ignores_the_interrupt_is_killed_and_told(chat_kernel: ChatKernel) -> None:
    assert chat_kernel.run_cell("import time").ok
    brief(chat_kernel, 0.5)
    result = chat_kernel.run_cell(STUBBORN)
    assert result.status == "died"
    assert result.end is not None
    assert result.end.reason == "timeout"
    brief(chat_kernel, 60)
    after = chat_kernel.run_cell("'time' in dir()")
    assert after.outputs == (Text("False\n", "result"),)
    assert after.began_after == result.end
    assert chat_kernel.run_cell("1").began_after is None


def test_a_kernel_that_dies_is_told_and_the_next_cell_has_a_new_one(
    chat_kernel: ChatKernel,
) -> None:
    result = chat_kernel.run_cell("import os\nprint('last', flush=True)\nos._exit(3)")
    assert (result.status, chat_kernel.alive) == ("died", False)
    assert result.end is not None
    assert result.end.reason == "exited"
    assert "with it all variables" in result.text()
    assert chat_kernel.run_cell("1").began_after == result.end


def test_a_stop_ends_the_cell_and_keeps_the_state(chat_kernel: ChatKernel) -> None:
    assert chat_kernel.run_cell("x = 7").ok
    signal = StopSignal()

    def stop(output: Output) -> None:
        signal.set()

    with stoppable(signal), pytest.raises(Stopped) as caught:
        chat_kernel.run_cell("import time\nprint('begun', flush=True)\ntime.sleep(1000)", stop)
    assert caught.value.output == "begun\n"
    assert value(chat_kernel, "x") == "7"


def test_a_stop_kills_who_does_not_obey(chat_kernel: ChatKernel) -> None:
    signal = StopSignal()
    # It tells that it runs where it is stubborn already.
    working = "print(1, flush=True); time.sleep(60)"
    code = f"import time\nwhile True:\n    try: {working}\n    except BaseException: pass"
    with stoppable(signal), pytest.raises(Stopped):
        chat_kernel.run_cell(code, lambda _: signal.set())
    assert not chat_kernel.alive
    after = chat_kernel.run_cell("1")
    assert after.began_after is not None
    assert after.began_after.reason == "stopped"


def test_who_waits_for_its_turn_obeys_a_stop(chat_kernel: ChatKernel) -> None:
    begun, signal = threading.Event(), StopSignal()
    code = "print('begun', flush=True)\nimport time\ntime.sleep(1000)"
    results: list[CellResult] = []
    first = threading.Thread(
        target=lambda: results.append(chat_kernel.run_cell(code, lambda _: begun.set()))
    )
    first.start()
    assert begun.wait(60)
    stopper = threading.Timer(0.2, signal.set)
    stopper.start()
    with stoppable(signal), pytest.raises(Stopped):
        chat_kernel.run_cell("1")
    stopper.join()
    chat_kernel.end()
    first.join(60)
    assert [(one.status, one.end and one.end.reason) for one in results] == [("died", "ended")]


def test_nothing_is_computed_between_cells(chat_kernel: ChatKernel) -> None:
    grow = "def grow():\n    global n\n    while True: n += 1\n"
    code = f"import threading, time, os\nn = 0\n{grow}threading.Thread(target=grow).start()\n"
    child = "if not os.fork():\n    while True: open('ticks', 'a').write('x'); time.sleep(.001)\n"
    assert chat_kernel.run_cell(code + child + "time.sleep(.2)").ok
    ticks = (chat_kernel.folder / "ticks").stat().st_size
    before = chat_kernel.run_cell("n").outputs
    assert before != (Text("0\n", "result"),)
    halted = (chat_kernel.folder / "ticks").stat().st_size
    assert halted >= ticks > 0
    time.sleep(0.3)
    assert (chat_kernel.folder / "ticks").stat().st_size == halted


def test_variables_are_listed_with_type_and_size(chat_kernel: ChatKernel) -> None:
    assert chat_kernel.variables() == ()
    assert not chat_kernel.alive
    code = "import pandas as pd\nd = pd.DataFrame({'a': [1, 2]})\nwords = ['x'] * 1_200\n_own = 1"
    assert chat_kernel.run_cell(code).ok
    assert chat_kernel.variables() == (
        Variable("d", "DataFrame", "2 × 1"),
        Variable("pd", "module", ""),
        Variable("words", "list", "1,200 items"),
    )


def test_cells_run_in_order_until_one_fails(chat_kernel: ChatKernel) -> None:
    results = chat_kernel.run_cells(["x = 1", "x += 1", "print(x)\n1 / 0", "x = 'never'"])
    assert [result.status for result in results] == ["ok", "ok", "error"]
    assert value(chat_kernel, "x") == "2"


def test_it_outlives_the_thread_that_began_it(chat_kernel: ChatKernel) -> None:
    starter = threading.Thread(target=chat_kernel.run_cell, args=("x = 1",))
    starter.start()
    starter.join()
    assert value(chat_kernel, "x") == "1"


def test_the_death_of_the_program_is_the_death_of_the_kernel(tmp_path: Path) -> None:
    mark = f"{time.monotonic_ns() % 10**9 + 10**6}"
    program = (
        "import time\nfrom agentkit.coding.chat_kernel.kernel import ChatKernel\n"
        f"kernel = ChatKernel({str(tmp_path / 'w')!r})\n"
        f"kernel.run_cell(\"import subprocess; p = subprocess.Popen(['sleep', '{mark}'])\")\n"
        "print('begun', flush=True)\ntime.sleep(600)"
    )
    child = subprocess.Popen(
        [sys.executable, "-B", "-c", program], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"begun\n"
    assert alive(f"sleep\0{mark}")
    child.kill()
    child.wait()
    end = time.monotonic() + 120
    while alive(f"sleep\0{mark}") and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(f"sleep\0{mark}")


def test_code_that_is_too_long_is_refused(chat_kernel: ChatKernel) -> None:
    with pytest.raises(WrongArgument, match="1,048,576 bytes"):
        chat_kernel.run_cell("x" * 2**21)
    assert value(chat_kernel, f"x = {'1' * 1000}; y = '{'z' * 10**6}'; len(y)") == "1000000"


def test_a_closed_kernel_runs_nothing(chat_kernel: ChatKernel) -> None:
    chat_kernel.close()
    with pytest.raises(ExecutionError, match="closed"):
        chat_kernel.run_cell("1")


def test_the_home_is_no_folder_for_it() -> None:
    with pytest.raises(WrongArgument, match="must not change"):
        ChatKernel(Path.home())


def test_without_bubblewrap_code_stays_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    bubblewrap_works.cache_clear()
    try:
        found = is_available()
        assert not found
        assert "apt-get install bubblewrap" in found.reason
        with pytest.raises(NoIsolation, match="Kernels need bubblewrap"):
            ChatKernel(tmp_path / "work")
    finally:
        bubblewrap_works.cache_clear()


def test_packages_that_are_missing_are_known() -> None:
    assert find_packages() == {
        name: importlib.util.find_spec(name) is not None
        for name in ("pandas", "numpy", "matplotlib", "altair")
    }
    assert find_packages()["pandas"]

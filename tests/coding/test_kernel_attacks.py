"""What code in a kernel tries in order to get out, or to take more than it may have."""

from __future__ import annotations

import os
import resource
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agentkit.coding.chat_kernel.kernel import CellResult, ChatKernel
from agentkit.coding.chat_kernel.outputs import CellError, LeftOut, Text
from tests.coding.attacks import (
    KEYRING,
    NASTY,
    OF_CONTAINERS,
    OUTSIDE,
    SECRETS,
    SHARED_MEMORY,
    connections,
    filtered,
)
from tests.coding.conftest import IN_CONTAINERS, SMALL

ROOT = Path(__file__).parents[2]
MIB = 2**20


def said(kernel: ChatKernel, code: str) -> str:
    """What a cell prints that runs to its end."""
    result = kernel.run_cell(code)
    assert result.ok, result
    return result.text()


def cannot(kernel: ChatKernel, expression: str, error: str = "") -> None:
    """The expression raises an OSError inside (`error` is in it), while Python itself runs."""
    told = said(
        kernel,
        f"import os\ntry:\n    print('HELD', {expression})\nexcept OSError as e:\n   "
        " print('closed', e)",
    )
    assert told.startswith("closed")
    assert error in told


def ended_by(result: CellResult) -> str:
    """Why the kernel is gone."""
    assert result.status == "died", result
    assert result.end is not None
    return result.end.reason


def ways_out() -> list[str]:
    """The system's secrets, without what an engine makes anew in each of its containers."""
    made = OF_CONTAINERS if IN_CONTAINERS else ()
    return [path for path in SECRETS if path not in made]


@pytest.mark.parametrize("path", ways_out())
def test_the_system_s_secrets_are_not_there(lasting_kernel: ChatKernel, path: str) -> None:
    cannot(lasting_kernel, f"os.stat({path!r})")


def test_our_files_are_not_there(lasting_kernel: ChatKernel, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.write_text("secret")
    for path in (private, lasting_kernel.folder, ROOT / "README.md", ROOT / "agentkit"):
        cannot(lasting_kernel, f"os.stat({str(path)!r})", "No such file")


@pytest.mark.parametrize("folder", OUTSIDE)
def test_nothing_outside_can_be_written(lasting_kernel: ChatKernel, folder: str) -> None:
    cannot(lasting_kernel, f"open({folder + '/made-by-a-test'!r}, 'w')")
    assert not Path(folder, "made-by-a-test").exists()


def test_our_environment_is_not_passed_on(
    chat_kernel: ChatKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    told = said(chat_kernel, "!env; cat /proc/*/environ 2>/dev/null; cat /proc/*/cmdline; true")
    assert "HOME=/tmp" in told
    assert "secret" not in told


def test_no_network_not_even_to_this_machine(lasting_kernel: ChatKernel) -> None:
    with connections() as attempts:
        for attempt in attempts:
            cannot(lasting_kernel, attempt)


def test_sockets_of_others_are_out_of_reach(lasting_kernel: ChatKernel, tmp_path: Path) -> None:
    name = f"agentkit-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as named:
        abstract.bind(f"\0{name}")
        abstract.listen()
        named.bind(str(tmp_path / "socket"))
        named.listen()
        connect = "__import__('socket').socket(1).connect"
        cannot(lasting_kernel, f"{connect}('\\0{name}')", "refused")
        cannot(lasting_kernel, f"{connect}({str(tmp_path / 'socket')!r})", "No such file")


def test_a_kernel_sees_no_sockets_but_its_own(
    lasting_kernel: ChatKernel, chat_kernel: ChatKernel
) -> None:
    listing = "import os\nprint(sorted(os.listdir('/sockets')))"
    own = [f"kernel-{port}" for port in range(1, 6)]
    assert said(chat_kernel, listing) == f"{['connection.json', *own]}\n"
    key = "import json\nprint(json.load(open('/sockets/connection.json'))['key'])"
    assert said(chat_kernel, key) != said(lasting_kernel, key)
    assert said(chat_kernel, "open('/sockets/planted', 'w').close()") == ""
    assert "planted" not in said(lasting_kernel, listing)


def test_links_in_place_of_the_sockets_lead_nobody_anywhere(
    chat_kernel: ChatKernel, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as named:
        named.bind(str(tmp_path / "socket"))
        named.listen()
        named.settimeout(0.5)
        swap = (
            "import os, glob\nfor path in glob.glob('/sockets/*'):\n    os.unlink(path)\n"
            f"    os.symlink({str(tmp_path / 'socket')!r}, path)\nx = 5"
        )
        said(chat_kernel, swap)
        assert said(chat_kernel, "x") == "5\n"
        with pytest.raises(TimeoutError):
            named.accept()


def test_other_processes_are_neither_seen_nor_signalled(lasting_kernel: ChatKernel) -> None:
    cannot(lasting_kernel, f"os.kill({os.getpid()}, 0)", "No such process")
    told = said(lasting_kernel, "print(len([p for p in os.listdir('/proc') if p.isdigit()]))")
    assert int(told) < 5


@filtered
def test_the_system_s_back_doors_are_shut(lasting_kernel: ChatKernel) -> None:
    assert "not permitted" in said(lasting_kernel, "!unshare --user --map-root-user id; true")
    cannot(lasting_kernel, "__import__('socket').socket(40)", "not supported")  # AF_VSOCK
    cannot(lasting_kernel, "os.memfd_create('hidden')", "not permitted")
    assert said(lasting_kernel, KEYRING) == "-1 1\n"
    assert said(lasting_kernel, SHARED_MEMORY) == "[(-1, -1, -1), 1]\n"


def test_root_inside_is_nobody(lasting_kernel: ChatKernel) -> None:
    told = said(lasting_kernel, "!grep -E '^(CapPrm|CapEff|NoNew)' /proc/self/status; id -u")
    assert told.split() == [
        "CapPrm:",
        "0" * 16,
        "CapEff:",
        "0" * 16,
        "NoNewPrivs:",
        "1",
        *told.split()[-1:],
    ]
    assert told.split()[-1] != "0"


def test_memory_of_a_process_is_bounded_and_the_state_kept(chat_kernel: ChatKernel) -> None:
    result = chat_kernel.run_cell("x = 7\nbytearray(3 * 10**9)")
    assert result.status == "error"
    assert isinstance(result.outputs[0], CellError)
    assert result.outputs[0].name == "MemoryError"
    assert said(chat_kernel, "x") == "7\n"


def test_who_eats_memory_dies_and_is_told(chat_kernel: ChatKernel) -> None:
    each = "x = b'x' * (100 * 2**20); time.sleep(60)"
    code = f"import os, time\nfor i in range(8):\n    if not os.fork():\n        {each}\n"
    result = chat_kernel.run_cell(f"{code}time.sleep(60)")
    assert ended_by(result) == "memory"
    assert "512 MB of memory" in result.text()
    assert chat_kernel.run_cell("1").ok


def test_a_fork_bomb_fizzles(chat_kernel: ChatKernel) -> None:
    bomb = (
        "import os, time\nmade = 0\ntry:\n    while True:\n        if not os.fork():\n           "
        " time.sleep(60)\n        made += 1\nexcept OSError as e:\n    print(made)"
    )
    assert 0 < int(said(chat_kernel, bomb)) < SMALL.processes + 40


def test_who_forks_for_ever_is_ended(chat_kernel: ChatKernel) -> None:
    """Each of its processes lives too short to be found, and leaves another one."""
    hop = "import os\ndef hop():\n    while True:\n        if os.fork(): os._exit(0)\n"
    chat_kernel.run_cell(f"{hop}if not os.fork():\n    hop()")
    chat_kernel.end()
    assert not chat_kernel.alive


@pytest.mark.parametrize("unlink", ["", "; os.unlink(str(i))"], ids=["files", "deleted files"])
def test_who_fills_the_disk_is_ended_and_what_it_wrote_goes(
    chat_kernel: ChatKernel, unlink: str
) -> None:
    said(chat_kernel, "open('kept', 'w').write('before')")
    flood = (
        "import os, time\nkept = []\nfor i in range(200):\n    f = open(str(i), 'wb');"
        f" kept.append(f){unlink}\n    f.write(bytes(2**20)); f.flush(); time.sleep(0.02)\n"
    )
    result = chat_kernel.run_cell(flood + "time.sleep(60)")
    assert ended_by(result) == "disk"
    assert [path.name for path in chat_kernel.folder.iterdir()] == ["kept"]
    assert chat_kernel.run_cell("open('kept').read()").ok


def test_the_folder_of_sockets_is_no_place_for_data(chat_kernel: ChatKernel) -> None:
    flood = "for i in range(40): open(f'/sockets/{i}', 'wb').write(bytes(2**20))\n"
    result = chat_kernel.run_cell(f"{flood}import time; time.sleep(60)")
    if IN_CONTAINERS:  # there they have a space of their own, which is full
        assert "No space left" in result.text()
    else:
        assert ended_by(result) == "disk"


TOO_LARGE = """
import os
try:
    print("HELD", open("big", "wb").write(bytes(20 * 2**20)))
except OSError as error:
    os.remove("big")  # else a busy machine has the time to see a full folder, which ends a kernel
    print("closed", error)
"""


def test_a_file_is_bounded(chat_kernel: ChatKernel) -> None:
    told = said(chat_kernel, TOO_LARGE)
    assert told.startswith("closed")
    assert "too large" in told
    cannot(
        chat_kernel, "[open(f'/tmp/{i}', 'wb').write(bytes(9 * 2**20)) for i in (1, 2)]", "No space"
    )


@pytest.mark.parametrize("code", NASTY.values(), ids=NASTY)
def test_whatever_code_leaves_the_next_cell_and_the_next_kernel_run(
    chat_kernel: ChatKernel, code: str
) -> None:
    assert chat_kernel.run_cell(f"import os\n{code}").ok
    assert chat_kernel.run_cell("1").ok
    chat_kernel.end()
    assert chat_kernel.run_cell("open('made', 'w').close()").ok
    assert chat_kernel.folder.joinpath("made").exists()


def test_what_lies_in_the_folder_is_no_part_of_the_kernel(chat_kernel: ChatKernel) -> None:
    planted = "raise SystemExit('planted')"
    for name in ("ipykernel.py", "zmq.py", "sitecustomize.py", "ipython_kernel_config.py"):
        chat_kernel.folder.joinpath(name).write_text(planted)
    assert said(chat_kernel, "print(1)") == "1\n"


def _grown(before: int) -> int:
    """By how many bytes our memory has been larger than then, at its most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before


def test_a_gigabyte_of_output_is_cut_and_our_memory_stays(chat_kernel: ChatKernel) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    line = "y" * 10_000
    result = chat_kernel.run_cell(f"for i in range(100_000): print('{line}')")
    assert result.ok
    text, told = result.outputs
    assert isinstance(text, Text)
    assert len(text.text) == SMALL.output_bytes
    assert told == LeftOut("text", 100_000 * 10_001 - 10_000, told.why)  # type: ignore[union-attr]
    assert _grown(before) < 100 * MIB


@pytest.mark.parametrize(
    "flood",
    [
        "while True: os.write(1, b'y' * 10**6)",
        "while True: display('y' * 10**6)",
        "while True: display({'image/png': 'A' * 6 * 10**6}, raw=True)",
        "s = get_ipython().kernel.iopub_thread.socket\nwhile True: s.send(b'y' * 10**6, 2)",
        "s = get_ipython().kernel.iopub_thread.socket\nwhile True: s.send_multipart([b'y'] * 9)",
    ],
    ids=["file descriptor", "values", "pictures", "one endless message", "no messages"],
)
def test_floods_end_and_our_memory_stays(chat_kernel: ChatKernel, flood: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    chat_kernel.limits = replace(SMALL, seconds=3)
    assert chat_kernel.run_cell("import os").ok
    result = chat_kernel.run_cell(flood)
    assert result.status in ("timeout", "died", "error")
    assert len(result.text()) < 200_000
    assert _grown(before) < 150 * MIB
    after = chat_kernel.run_cell("print('on')")
    if after.status == "ok":
        assert after.text().endswith("on\n")
    else:
        assert chat_kernel.run_cell("print('on')").text().endswith("on\n")


def test_a_flood_of_values_is_cut(chat_kernel: ChatKernel) -> None:
    code = "from PIL import Image\nfor i in range(250): display(Image.new('RGB', (2, 2)))"
    result = chat_kernel.run_cell(code)
    assert len(result.outputs) == 201
    assert "a cell shows 200 at most" in result.text()


def test_the_python_of_the_kernel_is_ours(lasting_kernel: ChatKernel) -> None:
    assert said(lasting_kernel, "import sys\nprint(sys.version)") == f"{sys.version}\n"

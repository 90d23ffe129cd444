"""A reader that a hostile file has taken over: what it tries from inside of the sandbox, and what
it answers.
"""

from __future__ import annotations

import ast
import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentkit.core import confinement
from agentkit.documents import DocumentText, Jail, Limits, Section, child, wire
from agentkit.documents.starting import Process, confinement_works
from agentkit.errors import DamagedDocument
from tests.documents.test_jail import SLOW

ROOT = Path(__file__).parents[2]
PROBE = """
import json, os, socket, sys
from agentkit.documents import child
child.confine(1_000, int(sys.argv[1]))
found = {}
for attempt in json.loads(sys.argv[2]):
    try:
        found[attempt] = repr(eval(attempt))
    except Exception as error:
        found[attempt] = f"closed: {error}"
sys.stdout.write(json.dumps(found))
"""


@pytest.fixture(autouse=True, scope="module")
def _confinement() -> None:
    assert confinement_works(), "These tests need a working bubblewrap."


def tried(*attempts: str) -> dict[str, str]:
    """What each expression gives in a process that is confined as a reader is."""
    user = confinement.find_unused_user()
    process = Process(
        ["-c", PROBE, str(-1 if user is None else user), json.dumps(attempts)], confined=True
    )
    try:
        found: dict[str, str] = json.loads(process.replies.read())
    finally:
        process.bury()
    return found


def closed(*attempts: str) -> None:
    held = {
        attempt: what
        for attempt, what in tried(*attempts).items()
        if not what.startswith("closed: ")
    }
    assert not held


def test_no_socket_of_any_kind_can_be_made() -> None:
    closed(*(f"socket.socket({family})" for family in range(1, 46)))
    closed(
        "socket.create_connection(('127.0.0.1', 80), 1)", "socket.getaddrinfo('example.com', 80)"
    )


def test_files_are_not_there(tmp_path: Path) -> None:
    private = tmp_path / "data" / "agentkit.duckdb"
    private.parent.mkdir()
    private.write_text("secret")
    system = (
        "/etc/passwd",
        "/etc/shadow",
        "/etc/hostname",
        "/var",
        "/run",
        "/sys",
        "/boot",
        "/proc/self",
        "/dev/shm",
    )
    ours = (
        private,
        private.parent,
        ROOT / "README.md",
        ROOT / "tests",
        ROOT / "data",
        ROOT / ".git",
    )
    closed(*(f"os.stat({str(path)!r})" for path in (*system, *ours)))


def test_nothing_of_the_home_but_the_python_that_runs_us() -> None:
    found = tried(f"os.listdir({str(Path.home())!r})").popitem()[1]
    if not found.startswith("closed: "):
        assert Path(sys.base_prefix).is_relative_to(Path.home())
        assert found == repr([Path(sys.base_prefix).relative_to(Path.home()).parts[0]])


def test_nothing_can_be_written() -> None:
    places = (
        "/",
        "/tmp",
        "/source",
        "/source/agentkit",
        "/usr",
        "/dev",
        sys.prefix,
        sys.base_prefix,
    )
    closed(*(f"open({place + '/made-by-a-test'!r}, 'w')" for place in places))
    closed(
        "os.chmod('/source/agentkit/errors.py', 0o777)",
        "os.mkdir('/made')",
        "os.memfd_create('hidden')",
    )


def test_no_other_process_can_be_made_or_reached() -> None:
    closed("os.fork()", f"os.kill({os.getpid()}, 0)", "os.system('true') and 1 / 0")
    assert tried("os.getppid()").popitem()[1] == "1"


def test_it_is_nobody_and_knows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    found = tried(
        "os.getuid()",
        "dict(os.environ)",
        "os.setuid(0) and 1 / 0" if os.geteuid() == 0 else "1 / 0",
    )
    assert found.pop("os.getuid()") != "0"
    assert "secret" not in found.pop("dict(os.environ)")
    assert found.popitem()[1].startswith("closed: ")


def test_the_libraries_that_are_looked_for_are_those_that_readers_import() -> None:
    imported = set()
    for file in (ROOT / "agentkit" / "documents").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            imported |= {name.partition(".")[0] for name in names}
    assert imported - sys.stdlib_module_names - {"agentkit"} <= set(child.LIBRARIES)


READ = """
import sys
from pathlib import Path
from agentkit.documents import Jail, Limits
from agentkit.documents.starting import confinement_works
from agentkit.errors import AgentkitError
def read(path, **limits):
    try:
        with Jail(Limits(**limits)) as jail:
            print(jail.read(Path(path), "a").text)
    except AgentkitError as error:
        print(type(error).__name__, error)
"""


def in_a_new_program(code: str, *arguments: Path, path: str) -> list[str]:
    """The lines that it writes; PATH is what it has as such."""
    command = [sys.executable, "-c", READ + code, *map(str, arguments)]
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.fixture
def refusing(tmp_path: Path) -> str:
    """A folder with a bubblewrap that the system lets make no sandbox."""
    folder = tmp_path / "refusing"
    folder.mkdir()
    (folder / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2; exit 1\n"
    )
    (folder / "bwrap").chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("kind", ["refusing", "missing"])
def test_without_a_sandbox_files_are_read_within_the_same_limits(
    kind: str, refusing: str, text_file: Path, tmp_path: Path
) -> None:
    slow = tmp_path / "slow.html"
    slow.write_bytes(SLOW)
    code = "read(sys.argv[1]); read(sys.argv[2], timeout_s=0.4); read(sys.argv[2], memory_mb=160)\n"
    code += "print(confinement_works())"
    path = f"{refusing}:/usr/bin:/bin" if kind == "refusing" else str(tmp_path)
    text, late, large, works = in_a_new_program(code, text_file, slow, path=path)
    assert text == "Hello there."
    assert late.startswith("ReadingTimedOut")
    assert large.startswith("DocumentTooLarge")
    assert works == "False"


def test_a_sandbox_that_worked_once_is_not_done_without(refusing: str, text_file: Path) -> None:
    code = (
        f"import os\nread(sys.argv[1]); os.environ['PATH'] = '{refusing}:/usr/bin:/bin';"
        " read(sys.argv[1])"
    )
    first, then = in_a_new_program(code, text_file, path=os.environ["PATH"])
    assert first == "Hello there."
    assert "could not start" in then


def readers() -> list[int]:
    """Processes that read for us inside of a sandbox: Python, not bubblewrap."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            session = os.getsid(int(entry.name))
            ours = f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{session}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if (
            ours
            and b"agentkit.documents.child" in command
            and command[0] == sys.executable.encode()
        ):
            found.append(int(entry.name))
    return found


def test_a_reader_that_crashes_inside_is_told_as_one(tmp_path: Path, text_file: Path) -> None:
    slow = tmp_path / "slow.html"
    slow.write_bytes(SLOW)
    with Jail(Limits()) as jail:
        jail.read(text_file, "a.txt")
        (reader,) = readers()
        timer = threading.Timer(0.5, os.kill, (reader, signal.SIGSEGV))
        timer.start()
        with pytest.raises(DamagedDocument, match="makes its reader crash"):
            jail.read(slow, "slow.html")
        timer.join()
        assert jail.read(text_file, "a.txt").text == "Hello there."
    assert readers() == []


def test_a_reader_outlives_the_thread_that_started_it(text_file: Path) -> None:
    with Jail(Limits()) as jail:
        thread = threading.Thread(target=jail.read, args=(text_file, "a.txt"))
        thread.start()
        thread.join()
        before = readers()
        assert jail.read(text_file, "a.txt").text == "Hello there."
        assert readers() == before != []


def test_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with Jail(Limits()) as jail:
        for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
            with pytest.raises(DamagedDocument, match="is not a file"):
                jail.read(path, "a.txt")
        with pytest.raises(DamagedDocument, match="cannot be opened"):
            jail.read(Path("a\0b"), "a.txt")


DOCUMENT = DocumentText(
    "one\n\ntwo", (Section("one", 0, 3, "A", 1, "x"), Section("two", 5, 8)), "text/plain", "T", None
)


def test_what_is_packed_is_unpacked() -> None:
    assert wire.unpack(*wire.pack(DOCUMENT)) == DOCUMENT


@pytest.mark.parametrize(
    "change",
    [
        {"title": None},
        {"title": 3},
        {"title": "\ud800"},
        {"title": "a\0b"},
        {"media_type": []},
        {"pages": "3"},
        {"pages": True},
        {"sections": None},
        {"sections": [1]},
        {"sections": [[0, 3]]},
        {"sections": [[0, 99, "", None, ""]]},
        {"sections": [[-3, 3, "", None, ""]]},
        {"sections": [[0, 3.0, "", None, ""]]},
        {"sections": [[0, 3, None, None, ""]]},
        {"sections": [[0, 3, "", "1", ""]]},
        {"sections": [[0, 3, "", None, {}]]},
    ],
)
def test_an_answer_that_is_no_document_is_refused(change: dict[str, object]) -> None:
    header, body = wire.pack(DOCUMENT)
    with pytest.raises(ValueError):
        wire.unpack({**header, **change}, body)
    del header["sections"]
    with pytest.raises(ValueError):
        wire.unpack(header, body)


@pytest.mark.parametrize("body", [b"\xff", b"a\0b", b"a\r\nb"])
def test_a_text_that_is_not_clean_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        wire.unpack({**wire.pack(DOCUMENT)[0], "sections": []}, body)


@pytest.mark.parametrize(
    "header", [b"[]", b"7", b"{", b"[" * 100_000, b'{"a": 1' + b"0" * 5_000 + b"}"]
)
def test_a_message_that_is_none_is_refused(header: bytes) -> None:
    with pytest.raises(ValueError):
        wire.receive(io.BytesIO(len(header).to_bytes(8, "big") + bytes(8) + header))


def test_a_message_may_not_be_larger_than_was_agreed() -> None:
    for lengths in ((1_001, 0), (0, 1_001), (2**63, 2**63)):
        with pytest.raises(ValueError, match="more than 1,000"):
            wire.receive(
                io.BytesIO(b"".join(length.to_bytes(8, "big") for length in lengths)), 1_000
            )

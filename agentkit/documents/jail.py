"""Reading in a child process with limits: a bomb or a hang costs one file, never the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from agentkit import errors
from agentkit.documents import wire
from agentkit.documents.document import DocumentText, Limits
from agentkit.documents.refusals import AGAIN
from agentkit.errors import AgentkitError, DamagedDocument, DocumentTooLarge, ReadingTimedOut, Stopped

_FILES_PER_CHILD = 200
_ROOT = Path(__file__).resolve().parents[2]
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")


class Jail:
    """A child process that reads one file after the other; started when needed, replaced when it dies or gets old."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._using = threading.Lock()
        self._changing = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._served = 0
        self._stopped = False

    def read(self, path: Path, name: str) -> DocumentText:
        """Read the file at `path`, called `name` in messages; raises a DocumentError, or Stopped after `stop`."""
        return wire.unpack(*self._ask({"do": "read", "path": str(Path(path).absolute()), "name": name}, name))

    def render(self, path: Path, name: str, page: int, highlight: tuple[int, int] | None = None, width: int = 1_000) -> bytes:
        """PNG of a PDF's page (from 1), `width` pixels wide; `highlight` is a span of that page's section text."""
        request: dict[str, Any] = {"do": "render", "path": str(Path(path).absolute()), "name": name}
        request |= {"page": page, "highlight": highlight, "width": width}
        return self._ask(request, name)[1]

    def stop(self) -> None:
        """Kill the child, from any thread; a read under way and all later ones raise Stopped."""
        self._stopped = True
        self._kill()

    def close(self) -> None:
        """End the child; the next read would start another."""
        with self._using:
            self._retire()

    def __enter__(self) -> Jail:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: dict[str, Any], name: str) -> tuple[dict[str, Any], bytes]:
        with self._using:
            child = self._ready_child()
            late = threading.Event()
            timer = threading.Timer(self.limits.timeout_s, self._expire, (late,))
            timer.daemon = True
            timer.start()
            try:
                header, body = _exchange(child, {**request, "limits": asdict(self.limits)})
            except (EOFError, OSError, ValueError) as error:
                raise self._death(name, late.is_set()) from error
            finally:
                timer.cancel()
                timer.join()  # from here on it either has killed the child or never will
            if late.is_set() or header.get("error") == "MemoryError":
                self._retire()
        if "error" in header:
            raise _error(header, name, self.limits)
        return header, body

    def _ready_child(self) -> subprocess.Popen[bytes]:
        if self._served >= _FILES_PER_CHILD or (self._child and self._child.poll() is not None):
            self._retire()
        with self._changing:
            if self._stopped:
                raise Stopped("reading was stopped")
            if self._child is None:
                self._child = _start(self.limits)
                self._served = 0
        self._served += 1
        return self._child

    def _expire(self, late: threading.Event) -> None:
        late.set()
        self._kill()

    def _kill(self) -> None:
        with self._changing:
            if self._child is not None and self._child.poll() is None:
                _kill_group(self._child)

    def _death(self, name: str, late: bool) -> AgentkitError:
        """The child has gone in the middle of a request: why, in the user's words."""
        code = self._retire()
        if self._stopped:
            return Stopped("reading was stopped")
        if late or code == -getattr(signal, "SIGXCPU", 0):
            return ReadingTimedOut(
                f"{name} was not read within {self.limits.timeout_s:g} s."
                " Split it into smaller files, or raise AGENTKIT_READ_TIMEOUT_S."
            )
        if code in {-getattr(signal, "SIGSEGV", 11), -getattr(signal, "SIGBUS", 7)}:
            return DamagedDocument(f"{name} makes its reader crash, so it is probably damaged. {AGAIN}")
        return _out_of_memory(name, self.limits)

    def _retire(self) -> int | None:
        """End the child, if there is one, and give its exit code."""
        with self._changing:
            child, self._child = self._child, None
        if child is None:
            return None
        return _bury(child)


def read_document(path: Path, name: str, limits: Limits) -> DocumentText:
    """Read one file in a jail of its own; for several files use one Jail."""
    with Jail(limits) as jail:
        return jail.read(path, name)


def render_page(
    path: Path, name: str, page: int, highlight: tuple[int, int] | None = None, limits: Limits | None = None, width: int = 1_000
) -> bytes:
    """PNG of a PDF's page (from 1) with the characters of `highlight`, a span of that page's section text, marked."""
    with Jail(limits or Limits()) as jail:
        return jail.render(path, name, page, highlight, width)


def _start(limits: Limits) -> subprocess.Popen[bytes]:
    """Start a child and wait for its hello. It gets no secrets: only a few harmless variables are passed on."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {"PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-W", "ignore", "-m", "agentkit.documents.child", str(limits.memory_mb)]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    assert child.stdout is not None
    try:
        wire.receive(child.stdout)
    except (EOFError, ValueError) as error:
        code = _bury(child)
        raise AgentkitError(
            f"The reading process could not start (exit code {code}, {limits.memory_mb} MB of memory allowed)."
            f" Raise AGENTKIT_READ_MEMORY_MB, or run `python -m agentkit.documents.child {limits.memory_mb}`"
            " in agentkit's folder to see why."
        ) from error
    return child


def _exchange(child: subprocess.Popen[bytes], request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    assert child.stdin is not None
    assert child.stdout is not None
    wire.send(child.stdin, request)
    return wire.receive(child.stdout)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        child.kill()
    else:
        os.killpg(child.pid, signal.SIGKILL)


def _bury(child: subprocess.Popen[bytes]) -> int:
    """Let the child end by itself when it sees its pipes closed, else kill it; give its exit code."""
    for stream in (child.stdin, child.stdout):
        _close(stream)
    try:
        return child.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        _kill_group(child)
        return child.wait()


def _close(stream: IO[bytes] | None) -> None:
    try:
        if stream is not None:
            stream.close()
    except OSError:  # what was still buffered for a dead child cannot be written
        return


def _error(header: dict[str, Any], name: str, limits: Limits) -> AgentkitError:
    kind = getattr(errors, str(header["error"]), None)
    if header["error"] == "MemoryError" or not (isinstance(kind, type) and issubclass(kind, AgentkitError)):
        return _out_of_memory(name, limits)
    return kind(header.get("message", ""))


def _out_of_memory(name: str, limits: Limits) -> DocumentTooLarge:
    return DocumentTooLarge(
        f"{name} needs more memory to be read than the {limits.memory_mb:,} MB allowed, or is damaged."
        " Split it into smaller files, save it again, or raise AGENTKIT_READ_MEMORY_MB."
    )

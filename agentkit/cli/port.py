"""`port`: scripts and notebooks for AutoGen, AgentScope or Lagent, changed to import agentkit
instead.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
import tokenize
from itertools import filterfalse
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.output import note, put

if TYPE_CHECKING:
    from agentkit.cli.imports import Finding


def port(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Scripts (.py) and notebooks (.ipynb).")
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Say what would change, and write nothing.")
    ] = False,
) -> None:
    """Let scripts and notebooks import agentkit in place of AutoGen 0.2, AgentScope 0.1 or Lagent
    0.2.

    Only imports change. What cannot be ported is told with its line; exit code 1 then, and with
    --check also when anything would change. A file that cannot be read as Python stays as it is.
    """
    changed, left = 0, 0
    for file in files:
        try:
            done, open_places = _port(file, check)
        except (OSError, ValueError, SyntaxError) as error:
            done, open_places = False, 1
            note(f"{file}: left as it is: {_explain(error)}")
        changed += done
        left += open_places
    what = "changed"
    if check:
        what = "would change"
    put(f"Files that {what}: {changed} of {len(files)}. Places left to you: {left}.")
    if left or (check and changed):
        raise typer.Exit(1)


def _port(file: Path, check: bool) -> tuple[bool, int]:
    """Whether the file changes, and how many places are left; raises as reading, parsing and
    writing do.
    """
    if file.suffix not in _PORTERS:
        raise ValueError("it is neither a .py nor an .ipynb file")
    before = file.read_bytes()
    after, findings = _PORTERS[file.suffix](before)
    if after != before and not check:
        _write(file, after)
    for found in findings:
        put(f"{file}:{found.place}: {'' if found.done else 'not ported: '}{found.message}")
    left = list(filterfalse(attrgetter("done"), findings))
    return after != before, len(left)


def _port_script(data: bytes) -> tuple[bytes, list[Finding]]:
    from agentkit.cli.imports import apply_edits, port_source

    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    source = data.decode(encoding)
    if source.encode(encoding) != data:
        raise ValueError(f"its encoding, {encoding}, cannot write it as it is")
    ported = port_source(source)
    return apply_edits(source, ported.edits).encode(encoding), ported.findings


def _port_notebook(data: bytes) -> tuple[bytes, list[Finding]]:
    from agentkit.cli.notebooks import port_notebook

    text, findings = port_notebook(data.decode("utf-8"))
    return text.encode("utf-8"), findings


_PORTERS = {".py": _port_script, ".ipynb": _port_notebook}


def _write(file: Path, data: bytes) -> None:
    """Put the data in place of the file's at once, with the same rights; raises OSError."""
    target = file.resolve()  # a link stays one
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{file} may not be written")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        shutil.copymode(target, temporary)
        owner = target.stat()
        with contextlib.suppress(PermissionError):
            os.chown(temporary, owner.st_uid, owner.st_gid)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _explain(error: OSError | ValueError | SyntaxError) -> str:
    if isinstance(error, SyntaxError):
        line = ""
        if error.lineno:
            line = f" (line {error.lineno})"
        return f"it is not Python{line}: {error.msg}"
    reason = None
    if isinstance(error, OSError):
        reason = error.strerror
    return reason or str(error)

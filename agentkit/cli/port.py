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
from pathlib import Path
from typing import Annotated

import typer

from agentkit.cli.output import note, put


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
            note(f"{file}: left as it is: {_why(error)}")
        changed += done
        left += open_places
    what = "would change" if check else "changed"
    put(f"Files that {what}: {changed} of {len(files)}. Places left to you: {left}.")
    if left or (check and changed):
        raise typer.Exit(1)


def _port(file: Path, check: bool) -> tuple[bool, int]:
    """Whether the file changes, and how many places are left; raises as reading, parsing and
    writing do.
    """
    if file.suffix not in (".py", ".ipynb"):
        raise ValueError("it is neither a .py nor an .ipynb file")
    before = file.read_bytes()
    after, told = _notebook(before) if file.suffix == ".ipynb" else _script(before)
    if after != before and not check:
        _write(file, after)
    for where, what, done in told:
        put(f"{file}:{where}: {what if done else f'not ported: {what}'}")
    return after != before, sum(not done for _, _, done in told)


def _script(data: bytes) -> tuple[bytes, list[tuple[str, str, bool]]]:
    from agentkit.cli.imports import applied, ported

    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    source = data.decode(encoding)
    if source.encode(encoding) != data:
        raise ValueError(f"its encoding, {encoding}, cannot write it as it is")
    found = ported(source)
    told = [(str(each.line), each.told, each.done) for each in found.findings]
    return applied(source, found.edits).encode(encoding), told


def _notebook(data: bytes) -> tuple[bytes, list[tuple[str, str, bool]]]:
    from agentkit.cli.notebooks import ported_notebook

    text, found = ported_notebook(data.decode("utf-8"))
    told = [(f"cell {each.cell}, line {each.line}", each.told, each.done) for each in found]
    return text.encode("utf-8"), told


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


def _why(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        line = f" (line {error.lineno})" if error.lineno else ""
        return f"it is no Python{line}: {error.msg}"
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)

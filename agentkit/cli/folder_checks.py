"""What `doctor` says of the data folder: who can read it, what is left of the database, backups."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentkit import private
from agentkit.cli.checks import Check, attempt
from agentkit.database import Survey, backups, rescue, survey
from agentkit.errors import DatabaseDamaged
from agentkit.settings import Settings

_COUNTED = {
    "chats": "chats",
    "messages": "messages",
    "documents": "documents",
    "chunks": "chunks",
    "runs": "runs",
    "llm_calls": "calls",
}
"""Tables whose rows people know, and how they call them."""


def folder(settings: Settings) -> Check:
    """Whether the data folder can be written, and has room."""
    place = settings.data.resolve()
    try:
        private.make_folder(place)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"written")
    except OSError as error:
        advice = "Correct its permissions, or name another folder with AGENTKIT_DATA."
        detail = f"{place} cannot be written ({error.strerror})"
        return Check("data folder", False, detail, advice)
    free = shutil.disk_usage(place).free / 2**30
    low = "Little space is left; make room, or name another folder with AGENTKIT_DATA."
    return Check(
        "data folder", free >= 1, f"{place}, {free:,.1f} GiB free", low if free < 1 else ""
    )


def privacy(settings: Settings) -> Check:
    """Whether others who use this machine can read what is in the data folder."""
    place = settings.data.resolve()
    private.take(place)
    found = private.open_to_others(place)
    if not found:
        return Check("privacy", True, "only you can read the data folder")
    if not private.keeps_modes(place):
        detail = (
            f"the file system of {place} keeps no permissions, so others may read what is there"
        )
        return Check("privacy", True, detail, "Name a folder on another disk with AGENTKIT_DATA.")
    detail = f"others may read or change {len(found):,} files and folders, such as {found[0]}"
    advice = f"Run `chmod -R go= {place}`, as their owner."
    return Check("privacy", False, detail, advice)


def database(settings: Settings, save: bool) -> Iterator[Check]:
    """What is wrong with the database file; nothing when all of it can be read.

    With `save`, what can be read of a damaged one is copied into a new file.
    """
    if not settings.database.is_file():
        return
    found = survey(settings.database)
    if found.is_whole:
        return
    yield _damage(settings, found, save)
    if save:
        yield attempt("rescue", lambda: _rescued(settings))


def backup_files(settings: Settings) -> Check:
    """Which backups there are."""
    found = backups(settings.database)
    if not found:
        return Check(
            "backups", True, "none yet; an update makes one before it changes the database"
        )
    newest = found[-1]
    total = sum(backup.bytes for backup in found) / 2**20
    return Check(
        "backups",
        True,
        f"{len(found)}, {total:,.1f} MB in all; the newest, {newest.path}, is as of "
        f"{newest.changed_at:%Y-%m-%d %H:%M} UTC",
    )


def _damage(settings: Settings, found: Survey, saving: bool) -> Check:
    file = settings.database
    if found.problem:
        detail = f"it does not open: nothing of {file} can be read ({found.problem})"
    else:
        broken = [table for table in found.tables if table.problem]
        lost = "; ".join(f"{table.name} ({table.problem})" for table in broken)
        detail = f"{file} is damaged. Can be read: {_readable(found)}."
        detail += f" Damaged: {lost}." if broken else ""
        detail += (
            f" Its newest changes are lost ({found.log_problem})." if found.log_problem else ""
        )
    return Check("database", False, detail, " ".join(_ways_out(settings, found, saving)))


def _readable(found: Survey) -> str:
    whole = sum(not table.problem for table in found.tables)
    parts = [f"{whole} of {len(found.tables)} tables whole"]
    tables = {table.name: table for table in found.tables}
    for name, called in _COUNTED.items():
        if name in tables:
            rows = tables[name].rows
            of = "an unknown number of" if rows is None else f"{rows:,}"
            parts.append(f"{tables[name].readable:,} of {of} {called}")
    return ", ".join(parts)


def _ways_out(settings: Settings, found: Survey, saving: bool) -> Iterator[str]:
    file = settings.database
    yield "Stop the app, and copy the data folder before you change anything."
    if found.log_problem and not any(table.problem for table in found.tables):
        yield f"Move {file}.wal away: without it the database opens."
    if copies := backups(file):
        newest = copies[-1]
        yield (
            f"A backup as of {newest.changed_at:%Y-%m-%d %H:%M} UTC: copy {newest.path} over "
            f"{file}, and remove {file}.wal if it is there."
        )
    if not found.problem and not saving:
        yield "`python -m agentkit doctor --rescue` copies what can be read into a new file."
    originals = _originals(settings.data / "files")
    if originals:
        yield (
            f"The originals, {originals:,} files, are still in {settings.data / 'files'}, named by "
            f"their content: if nothing else helps, move {file} away and take them in again."
        )


def _rescued(settings: Settings) -> Check:
    file = settings.database
    target = file.with_name(f"{file.stem}.rescued{file.suffix}")
    try:
        found = rescue(file, target)
    except DatabaseDamaged as error:
        return Check("rescue", False, "nothing was copied", str(error))
    private.close_to_others(target)
    return Check(
        "rescue",
        True,
        f"copied into {target}: {_readable(found)}",
        f"To go on with it, stop the app, move {file} and {file}.wal away, and name it "
        f"{file.name}. Documents whose text or chunks are lost are to be taken in again.",
    )


def _originals(files: Path) -> int:
    return sum(1 for one in files.glob("*/*") if one.is_file()) if files.is_dir() else 0

"""What `doctor` says of the data folder: who can read it, what is left of the database, backups."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from agentkit import private
from agentkit.cli.checks import Check, attempt, judge
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


def check_folder(settings: Settings) -> Check:
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
    return judge("data folder", free >= 1, f"{place}, {free:,.1f} GiB free", low)


def check_privacy(settings: Settings) -> Check:
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


def check_database(settings: Settings, save: bool) -> Iterator[Check]:
    """What is wrong with the database file; nothing when all of it can be read.

    With `save`, what can be read of a damaged one is copied into a new file.
    """
    if not settings.database.is_file():
        return
    found = survey(settings.database)
    if found.is_whole:
        return
    yield _describe_damage(settings, found, save)
    if save:
        yield attempt("rescue", lambda: _rescue(settings))


def check_backups(settings: Settings) -> Check:
    """Which backups there are."""
    found = backups(settings.database)
    if not found:
        return Check(
            "backups", True, "none yet; an update makes one before it changes the database"
        )
    newest = found[-1]
    total = sum(map(attrgetter("bytes"), found)) / 2**20
    return Check(
        "backups",
        True,
        f"{len(found)}, {total:,.1f} MB in all; the newest, {newest.path}, is as of "
        f"{newest.changed_at:%Y-%m-%d %H:%M} UTC",
    )


def _describe_damage(settings: Settings, found: Survey, saving: bool) -> Check:
    file = settings.database
    if found.problem:
        detail = f"it does not open: nothing of {file} can be read ({found.problem})"
    else:
        detail = f"{file} is damaged. Can be read: {_describe_rest(found)}."
        if broken := _find_broken(found):
            detail += f" Damaged: {'; '.join(broken)}."
        if found.log_problem:
            detail += f" Its newest changes are lost ({found.log_problem})."
    return Check("database", False, detail, " ".join(_advise(settings, found, saving)))


def _describe_rest(found: Survey) -> str:
    whole = len(found.tables) - len(_find_broken(found))
    parts = [f"{whole} of {len(found.tables)} tables whole"]
    tables = {table.name: table for table in found.tables}
    for name, called in _COUNTED.items():
        if name in tables:
            rows = tables[name].rows
            of = "an unknown number of"
            if rows is not None:
                of = f"{rows:,}"
            parts.append(f"{tables[name].readable:,} of {of} {called}")
    return ", ".join(parts)


def _find_broken(found: Survey) -> list[str]:
    """The tables that cannot be read to the end, each with its problem."""
    return [f"{table.name} ({table.problem})" for table in found.tables if table.problem]


def _advise(settings: Settings, found: Survey, saving: bool) -> Iterator[str]:
    file = settings.database
    yield "Stop the app, and copy the data folder before you change anything."
    if found.log_problem and not _find_broken(found):
        yield f"Move {file}.wal away: without it the database opens."
    if copies := backups(file):
        newest = copies[-1]
        yield (
            f"A backup as of {newest.changed_at:%Y-%m-%d %H:%M} UTC: copy {newest.path} over "
            f"{file}, and remove {file}.wal if it is there."
        )
    if not found.problem and not saving:
        yield "`python -m agentkit doctor --rescue` copies what can be read into a new file."
    originals = _count_originals(settings.data / "files")
    if originals:
        yield (
            f"The originals, {originals:,} files, are still in {settings.data / 'files'}, named by "
            f"their content: if nothing else helps, move {file} away and take them in again."
        )


def _rescue(settings: Settings) -> Check:
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
        f"copied into {target}: {_describe_rest(found)}",
        f"To go on with it, stop the app, move {file} and {file}.wal away, and name it "
        f"{file.name}. Documents whose text or chunks are lost are to be taken in again.",
    )


def _count_originals(files: Path) -> int:
    return sum(map(Path.is_file, files.glob("*/*")))

"""How chats are kept in order: pinned, in folders, archived, deleted for a while."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from agentkit.database import Database, Row
from agentkit.errors import WrongArgument
from agentkit.ledger.message_search import FOLDED_MESSAGE, FOLDED_TITLE, has_terms, read_terms

Shelf = Literal["open", "archived", "deleted"]
"""Where a chat is listed."""
LONGEST_FOLDER = 60
_WHICH: dict[Shelf, str] = {
    "open": "deleted_at is null and not coalesce(archived, false)",
    "archived": "deleted_at is null and coalesce(archived, false)",
    "deleted": "deleted_at is not null",
}
_PLAIN = """c.id, c.owner, c.title, c.team, c.model, c.collection, c.head_id, c.created_at,
    c.updated_at, coalesce(c.folder, '') as folder, coalesce(c.pinned, false) as pinned,
    coalesce(c.archived, false) as archived, c.deleted_at"""


def find_chat(database: Database, owner: str, chat_id: str, *, deleted: bool) -> Row | None:
    """The row of a chat, with `deleted` also of one that was deleted a while ago."""
    return database.row(
        f"select {_PLAIN} from chats c where owner = ? and id = ? and (? or deleted_at is null)",
        [owner, chat_id, deleted],
    )


def search_chats(
    database: Database, owner: str, search: str, limit: int, offset: int, *, in_title: bool
) -> list[Row]:
    """The chats that have the words, newest first."""
    where, values = _make_condition(search, in_title)
    return database.rows(
        f"""select {_PLAIN} from chats c where c.owner = ? and c.deleted_at is null and {where}
        order by c.updated_at desc, c.id desc limit ? offset ?""",
        [owner, *values, limit, offset],
    )


def count_found(database: Database, owner: str, search: str) -> int:
    """How many chats have the words."""
    where, values = _make_condition(search, in_title=False)
    sql = f"select count(*) from chats c where c.owner = ? and c.deleted_at is null and {where}"
    return int(database.value(sql, [owner, *values]))


def _make_condition(search: str, in_title: bool) -> tuple[str, list[Any]]:
    """The condition that a chat has all the words in its title, or in one of its messages."""
    terms = read_terms(search)
    of_title = has_terms(FOLDED_TITLE, terms)
    if in_title or not terms:
        return of_title, [*terms]
    of_message = has_terms(FOLDED_MESSAGE, terms)
    said = f"c.id in (select m.chat_id from messages m where {of_message})"
    return f"({of_title} or {said})", [*terms, *terms]


def read_shelf(database: Database, owner: str, shelf: Shelf, folder: str, limit: int) -> list[Row]:
    """The chats there, of one folder or of all; pinned ones first, then the newest."""
    return database.rows(
        f"""select {_PLAIN} from chats c where owner = ? and {_WHICH[shelf]}
        and (? = '' or folder = ?)
        order by deleted_at desc nulls last,
        coalesce(pinned, false) and not coalesce(archived, false) desc,
        updated_at desc, id desc limit ?""",
        [owner, folder, folder, limit],
    )


def count_shelf(database: Database, owner: str, shelf: Shelf, folder: str) -> int:
    """How many chats are there."""
    sql = f"select count(*) from chats where owner = ? and {_WHICH[shelf]}"
    return int(database.value(f"{sql} and (? = '' or folder = ?)", [owner, folder, folder]))


def list_folders(database: Database, owner: str) -> list[str]:
    """The folders that have chats, by name."""
    rows = database.rows(
        f"""select distinct folder from chats where owner = ? and {_WHICH["open"]}
        and folder <> '' order by lower(folder), folder""",
        [owner],
    )
    return [row["folder"] for row in rows]


def check_folder(name: str) -> str:
    """The name in one line; raises WrongArgument for an empty or a long one."""
    line = " ".join(name.split())
    if not line:
        raise WrongArgument("The name of the folder is empty; type one.")
    if len(line) > LONGEST_FOLDER:
        raise WrongArgument(
            f"The name of the folder has {len(line):,} letters; {LONGEST_FOLDER} is the most."
        )
    return line


def change(database: Database, owner: str, chat_ids: Sequence[str], changes: Row) -> list[str]:
    """Set columns of those chats that are there, and not deleted; returns their ids."""
    return _set(database, owner, chat_ids, "deleted_at is null", changes)


def discard(database: Database, owner: str, chat_ids: Sequence[str], at: datetime) -> list[str]:
    """Mark chats as deleted; returns the ids of those that were not."""
    return _set(database, owner, chat_ids, "deleted_at is null", {"deleted_at": at})


def bring_back(database: Database, owner: str, chat_ids: Sequence[str]) -> list[str]:
    """Take that mark away; returns the ids of those that had it."""
    return _set(database, owner, chat_ids, "deleted_at is not null", {"deleted_at": None})


def _set(
    database: Database, owner: str, chat_ids: Sequence[str], which: str, changes: Row
) -> list[str]:
    where = f"owner = ? and list_contains(?, id) and {which}"
    assignments = ", ".join(f"{name} = ?" for name in changes)
    with database.transaction():
        rows = database.rows(f"select id from chats where {where}", [owner, list(chat_ids)])
        known = [row["id"] for row in rows]
        if known:
            database.execute(
                f"update chats set {assignments} where owner = ? and list_contains(?, id)",
                [*changes.values(), owner, known],
            )
    return known


def list_discarded(database: Database, moment: datetime) -> list[Row]:
    """The chats of all owners that were deleted before then."""
    return database.rows(f"select {_PLAIN} from chats c where deleted_at < ?", [moment])

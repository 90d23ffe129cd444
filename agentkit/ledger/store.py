"""Chats and their message trees. Every method takes the owner and sees nothing of others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from agentkit.core.given import list_missing, pick_given
from agentkit.database import Database, Row
from agentkit.errors import NotFound
from agentkit.events import Recorded, Thinking, TokenDelta
from agentkit.ledger import listing, message_search, requests, rows, run_documents
from agentkit.ledger.listing import Shelf
from agentkit.ledger.message_search import FoundMessage
from agentkit.ledger.requests import Request
from agentkit.ledger.rows import RunKey
from agentkit.ledger.schema import MIGRATIONS
from agentkit.ledger.spending import Spending
from agentkit.messages import new_id


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat and what it is set to; times are UTC without zone."""

    id: str
    owner: str
    title: str
    team: str
    model: str
    collection: str
    head_id: str | None
    """The message at which the shown branch ends."""
    created_at: datetime
    updated_at: datetime
    folder: str = ""
    """Where it is kept; empty for no folder."""
    pinned: bool = False
    archived: bool = False
    deleted_at: datetime | None = None
    """When it was deleted; it is removed for good some days later."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message in the tree of its chat."""

    id: str
    chat_id: str
    parent_id: str | None
    run_id: str | None
    sender: str
    recipient: str
    role: str
    content: str
    status: str
    extra: dict[str, Any]
    created_at: datetime
    thinking: Thinking | None = None
    """What its model thought before."""


class Ledger:
    """What was said and what it took, in the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._remember = database.remembered.read
        self.spending = Spending(database)
        self._written = rows.Written(self.spending)
        database.migrate("ledger", MIGRATIONS)

    def create_chat(self, owner: str, title: str, team: str, model: str, collection: str) -> Chat:
        """A new, empty chat."""
        now = utc_now()
        chat = Chat(new_id(), owner, title, team, model, collection, None, now, now)
        with self.database.transaction():
            self.database.insert(
                "chats", {name: getattr(chat, name) for name in Chat.__dataclass_fields__}
            )
        return chat

    def chat(self, owner: str, chat_id: str, *, deleted: bool = False) -> Chat:
        """The chat; raises NotFound. With `deleted` also one that was deleted a while ago."""
        find = partial(listing.find_chat, self.database, owner, chat_id, deleted=deleted)
        row = self._remember(_CHATS, ("chat", owner, chat_id, deleted), find)
        if row is None:
            raise NotFound(
                f"There is no chat {chat_id!r}; it may have been deleted. Open another from the"
                " list."
            )
        return Chat(**row)

    def chats(
        self,
        owner: str,
        search: str = "",
        limit: int = 20,
        offset: int = 0,
        *,
        in_title: bool = False,
    ) -> list[Chat]:
        """The owner's chats but deleted ones, newest first.

        The words of `search` are looked for in titles, and in what was said unless `in_title`:
        all of them, in any order, without regard to capitals and accents; quotes keep a phrase
        together.
        """
        asked = owner, search, limit, offset
        find = partial(listing.search_chats, self.database, *asked, in_title=in_title)
        return [Chat(**row) for row in self._remember(_SAID, ("found", *asked, in_title), find)]

    def count_chats(self, owner: str, search: str = "") -> int:
        """How many chats `chats` would list without a limit."""
        return listing.count_found(self.database, owner, search)

    def shelf(
        self, owner: str, shelf: Shelf = "open", folder: str = "", limit: int = 50
    ) -> list[Chat]:
        """The open, archived or deleted chats, of one folder or of all: pinned ones, then the
        newest.
        """

        def read() -> list[Chat]:
            rows = listing.read_shelf(self.database, owner, shelf, folder, limit)
            return [Chat(**row) for row in rows]

        return list(self._remember(_CHATS, ("shelf", owner, shelf, folder, limit), read))

    def count_shelf(self, owner: str, shelf: Shelf = "open", folder: str = "") -> int:
        """How many chats `shelf` would give without a limit."""
        count = partial(listing.count_shelf, self.database, owner, shelf, folder)
        return self._remember(_CHATS, ("count", owner, shelf, folder), count)

    def folders(self, owner: str) -> list[str]:
        """The folders that have chats which are not archived, by name."""
        read = partial(listing.list_folders, self.database, owner)
        return list(self._remember(_CHATS, ("folders", owner), read))

    def arrange_chats(
        self,
        owner: str,
        chat_ids: Sequence[str],
        *,
        folder: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[str]:
        """Put chats into a folder (empty: into none), pin or archive them; what is None stays.

        Chats that are gone are passed over; returns the ids of the others. Raises WrongArgument
        for a name that no folder can have.
        """
        kept = listing.check_folder(folder) if folder else folder
        given = {"folder": kept, "pinned": pinned, "archived": archived}
        changes = pick_given(given)
        if changes:
            return listing.change(self.database, owner, chat_ids, changes)
        return []

    def discard_chats(self, owner: str, chat_ids: Sequence[str]) -> list[str]:
        """Delete chats so that they can be brought back; returns the ids of those that were
        there.
        """
        return listing.discard(self.database, owner, chat_ids, utc_now())

    def bring_back_chats(self, owner: str, chat_ids: Sequence[str]) -> list[str]:
        """Undo `discard_chats`; returns the ids of those that could be brought back."""
        return listing.bring_back(self.database, owner, chat_ids)

    def list_discarded(self, moment: datetime) -> list[Chat]:
        """The chats of all owners that were discarded before then (UTC without zone)."""
        return [Chat(**row) for row in listing.list_discarded(self.database, moment)]

    def find_messages(
        self, owner: str, words: str, chat_id: str = "", limit: int = 30
    ) -> list[FoundMessage]:
        """The messages that have all the words, as `chats` looks for them, newest first: of one
        chat, or at most three of each.
        """
        return message_search.find_messages(self.database, owner, words, chat_id, limit)

    def show_message(self, owner: str, chat_id: str, message_id: str) -> Chat:
        """Let the chat show a branch that has this message; the one shown stays if it has it.

        Raises NotFound.
        """
        chat = self.chat(owner, chat_id)
        sql = "select id, parent_id from messages where chat_id = ? order by created_at, rowid"
        messages = self.database.rows(sql, [chat_id])
        head = message_search.find_head(messages, chat.head_id, message_id)
        if head is None:
            raise NotFound("This message was deleted meanwhile. Search once more.")
        if head != chat.head_id:
            with self.database.transaction():
                self.database.execute("update chats set head_id = ? where id = ?", [head, chat_id])
        return replace(chat, head_id=head)

    def update_chat(
        self,
        owner: str,
        chat_id: str,
        *,
        title: str | None = None,
        team: str | None = None,
        model: str | None = None,
        collection: str | None = None,
    ) -> Chat:
        """Change what is given; raises NotFound."""
        self.chat(owner, chat_id)
        given = {"title": title, "team": team, "model": model, "collection": collection}
        changes = pick_given(given)
        if changes:
            assignments = ", ".join(f"{name} = ?" for name in changes)
            with self.database.transaction():
                self.database.execute(
                    f"update chats set {assignments} where owner = ? and id = ?",
                    [*changes.values(), owner, chat_id],
                )
        return self.chat(owner, chat_id)

    def settings(self, owner: str, chat_id: str) -> dict[str, Any]:
        """What is set in a chat, JSON values by name; an empty id means the owner's next new chat.

        They are for whoever shows the chat, such as what its next question is narrowed to.
        """
        sql = "select name, value from chat_settings where owner = ? and chat_id = ?"

        def read() -> dict[str, Any]:
            rows = self.database.rows(sql, [owner, chat_id])
            return {row["name"]: json.loads(row["value"]) for row in rows}

        return dict(self._remember(_SETTINGS, (owner, chat_id), read))

    def set(self, owner: str, chat_id: str, name: str, value: object) -> None:
        """Set a value in a chat, None to remove it; raises NotFound."""
        if chat_id:
            self.chat(owner, chat_id)
        with self.database.transaction():
            self._set(owner, chat_id, name, value)

    def exchange(self, owner: str, chat_id: str, name: str, before: object, after: object) -> bool:
        """Set a value in place of another; False when it is no longer the one that it was.

        Of several that want to take the same thing out of a chat, such as a waiting question,
        one has it.
        """
        with self.database.transaction():
            found = self.database.value(
                "select value from chat_settings where owner = ? and chat_id = ? and name = ?",
                [owner, chat_id, name],
            )
            if (None if found is None else json.loads(found)) != before:
                return False
            self._set(owner, chat_id, name, after)
            return True

    def _set(self, owner: str, chat_id: str, name: str, value: object) -> None:
        self.database.execute(
            "delete from chat_settings where owner = ? and chat_id = ? and name = ?",
            [owner, chat_id, name],
        )
        if value is not None:
            self.database.insert(
                "chat_settings",
                {
                    "owner": owner,
                    "chat_id": chat_id,
                    "name": name,
                    "value": json.dumps(value, ensure_ascii=False),
                },
            )

    def delete_chat(self, owner: str, chat_id: str) -> None:
        """Remove the chat with its messages and events; its model calls stay, since they were paid
        for. Raises NotFound.
        """
        self.chat(owner, chat_id, deleted=True)
        with self.database.transaction():
            requests.forget(self.database, chat_id)
            self._written.lists.forget(chat_id)
            self.database.execute(
                "delete from events where run_id in (select id from runs where chat_id = ? and"
                " owner = ?)",
                [chat_id, owner],
            )
            run_documents.forget_chat(self.database, owner, chat_id)
            self.database.execute(
                "update runs set title = 'deleted chat' where chat_id = ? and owner = ?",
                [chat_id, owner],
            )
            self.database.execute(
                "delete from feedback where message_id in (select id from messages where"
                " chat_id = ?)",
                [chat_id],
            )
            self.database.execute("delete from messages where chat_id = ?", [chat_id])
            self.database.execute(
                "delete from chat_settings where owner = ? and chat_id = ?", [owner, chat_id]
            )
            self.database.execute("delete from chats where owner = ? and id = ?", [owner, chat_id])

    def forget_requests(self, chat_id: str) -> None:
        """Let the next request of a chat stand for itself, as some of those before it are gone."""
        self._written.lists.forget(chat_id)

    def thread(self, owner: str, chat_id: str, head_id: str | None = None) -> list[StoredMessage]:
        """The branch that ends at `head_id` (default: the chat's head), first message first; raises
        NotFound.
        """
        read = partial(self.read_thread, owner, chat_id, head_id, {})
        return list(self._remember(_SAID, ("thread", owner, chat_id, head_id), read))

    def read_thread(
        self, owner: str, chat_id: str, head_id: str | None, known: Mapping[str, StoredMessage]
    ) -> list[StoredMessage]:
        """The same; messages that are `known`, by their ids, are not read again: none ever
        changes.
        """
        chat = self.chat(owner, chat_id)
        sql = "select id, parent_id from messages where chat_id = ?"
        rows = self.database.rows(sql, [chat_id])
        before = {row["id"]: row["parent_id"] for row in rows}
        if head_id and head_id not in before:
            raise NotFound(
                f"There is no message {head_id!r} in chat {chat_id!r}; open the chat again to see"
                " its messages."
            )
        branch: list[str] = []
        at = head_id or chat.head_id
        while at is not None and at in before:
            branch.append(at)
            at = before.pop(at)
        read = {**known, **self._messages(list_missing(branch, known))}
        return [read[one] for one in reversed(branch)]

    def _messages(self, ids: Sequence[str]) -> dict[str, StoredMessage]:
        if not ids:
            return {}
        sql = "select * exclude (folded) from messages where list_contains(?, id)"
        return {row["id"]: _message(row) for row in self.database.rows(sql, [list(ids)])}

    def find_run_messages(self, owner: str, run_id: str) -> list[StoredMessage]:
        """The messages of a run, oldest first; none for a run of somebody else."""
        rows = self.database.rows(
            """select m.* exclude (folded) from messages m join runs r on r.id = m.run_id
            where r.owner = ? and r.id = ? order by m.created_at""",
            [owner, run_id],
        )
        return [_message(row) for row in rows]

    def keep(self, run: RunKey, events: Sequence[Recorded], again: bool = False) -> None:
        """Store events of a run and what follows from them: the run, its messages, its calls.

        They are kept all together or not at all; `again` passes over those that are there already.
        Raises StoreError.
        """
        rows.insert(self.database, run, events, self._written, again)

    def request_of(self, owner: str, call_id: str) -> Request:
        """What was sent for a model call, at its last attempt; raises NotFound."""
        found = requests.of_call(self.database, owner, call_id)
        if found is None:
            raise NotFound(
                f"No request of the call {call_id!r} is kept: its chat was deleted, it belonged to"
                " no run, or texts were sent to an embedding model."
            )
        return found

    def keep_call(self, owner: str, call: Recorded) -> None:
        """Store a ModelReplied that belongs to no run, such as of a search in the lab.

        Raises StoreError, and WrongArgument for another event.
        """
        rows.insert_call(self.database, owner, call, self.spending)

    def open_runs(self) -> list[RunKey]:
        """The runs of all owners that have not ended; after opening, a dead process left them."""
        sql = "select id, owner, chat_id, message_id from runs where state = 'running'"
        return [RunKey(**row) for row in self.database.rows(f"{sql} order by started_at")]

    def begun(self, run_id: str) -> list[Recorded]:
        """What there is of replies that have not come to their end, one TokenDelta for each."""
        rows = self.database.rows(
            """select call_id, any_value(agent) as agent, string_agg(text, '' order by seq) as text,
            max(seq) as seq, max(happened_at) as at from streamed s where run_id = ?
            and not exists (from events e where e.run_id = s.run_id and e.seq > s.seq
                and e.kind = 'ModelReplied' and e.data->>'call_id' = s.call_id)
            group by call_id order by seq""",
            [run_id],
        )
        return [
            Recorded(
                row["seq"],
                row["at"].replace(tzinfo=UTC).timestamp(),
                TokenDelta(row["text"], row["agent"], row["call_id"]),
            )
            for row in rows
        ]

    def interrupt(self, run_id: str, state: str = "interrupted") -> None:
        """Mark a run whose process has died, if it has not ended before; `waiting` when it waits
        for a person. It ended with the last that is known of it.
        """
        with self.database.transaction():
            last = self.database.value(_LAST, [run_id, run_id])
            self.database.execute(
                "update runs set state = ?, reason = 'the process ended',"
                " finished_at = ? where id = ? and state in ('running', 'waiting')",
                [state, last or utc_now(), run_id],
            )
            self.database.execute("delete from streamed where run_id = ?", [run_id])

    def replace_run(self, before: RunKey, after: RunKey) -> None:
        """Let a run stand for one that broke off, whose calls become its own.

        Messages of the other go, unless somebody else's follow them.
        """
        with self.database.transaction():
            self.database.execute(
                "update runs set state = 'continued', reason = ? where id = ?",
                [after.id, before.id],
            )
            self.database.execute(
                "update llm_calls set run_id = ?, message_id = ? where run_id = ?",
                [after.id, after.message_id, before.id],
            )
            # What had been completed is told again by the run that goes on.
            self.database.execute("delete from steps where run_id = ?", [before.id])
            self._remove_messages(before)

    def take_back(self, run: RunKey, head_id: str | None) -> None:
        """Remove what a run said, and let its chat end at `head_id` again."""
        with self.database.transaction():
            self._remove_messages(run)
            self.database.execute(
                "update chats set head_id = ? where id = ? and owner = ?",
                [head_id, run.chat_id, run.owner],
            )

    def _remove_messages(self, run: RunKey) -> None:
        self.database.execute(
            """delete from messages where run_id = ? and not exists (from messages m
            join messages o on m.parent_id = o.id where o.run_id = ? and m.run_id <> ?)""",
            [run.id, run.id, run.id],
        )


def utc_now() -> datetime:
    """Now, in UTC without zone, as the tables hold it."""
    return datetime.now(UTC).replace(tzinfo=None)


def _message(row: Row) -> StoredMessage:
    row.pop("folded", None)  # for searching alone
    thinking = None
    if row["thinking"]:
        thinking = Thinking(**json.loads(row["thinking"]))
    return StoredMessage(**{**row, "extra": json.loads(row["extra"]), "thinking": thinking})


_CHATS, _SAID, _SETTINGS = ("chats",), ("chats", "messages"), ("chat_settings",)
"""What is read of these tables is remembered until one of them changes."""
_LAST = """select max(happened_at) from (select happened_at from events where run_id = ?
    union all select happened_at from streamed where run_id = ?)"""
"""When a run was heard of last."""
_MESSAGES = "select * exclude (folded) from messages where chat_id = ?"

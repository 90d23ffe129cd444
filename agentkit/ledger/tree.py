"""The tree of a chat's messages: its branches, where they part, and what goes when one is deleted.

A question that is edited or asked again stands beside the first one, after the same message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from agentkit.core.given import list_missing
from agentkit.errors import NotFound
from agentkit.ledger import requests, run_documents
from agentkit.ledger.store import Ledger


@dataclass(frozen=True, slots=True)
class Node:
    """A message by its place in the tree, without what it says."""

    id: str
    parent_id: str | None
    run_id: str | None
    is_question: bool
    """Whether the person asks it, and no agent among agents."""
    created_at: datetime


class Tree:
    """The messages of a chat; those after the same message stand in the order of their time."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = {node.id: node for node in sorted(nodes, key=lambda one: one.created_at)}
        self._after: dict[str | None, list[Node]] = {}
        for node in self.nodes.values():
            self._after.setdefault(node.parent_id, []).append(node)

    def siblings(self, question_id: str) -> list[str]:
        """The ids of the questions that stand after the same message as this one, which is among
        them; none for one that is not there.
        """
        if question_id not in self.nodes:
            return []
        beside = self._after[self.nodes[question_id].parent_id]
        return [one.id for one in beside if one.is_question]

    def below(self, message_id: str) -> list[Node]:
        """A message, if it is there, and all that follow it on any branch."""
        found = []
        if message_id in self.nodes:
            found = [self.nodes[message_id]]
        for node in found:  # grows meanwhile
            found += self._after.get(node.id, ())
        return found

    def newest_end(self, message_id: str) -> str:
        """The message at which the newest branch through this one ends; raises NotFound."""
        ends = [one for one in self.below(message_id) if one.id not in self._after]
        if not ends:
            raise _make_not_found(message_id)
        return max(ends, key=lambda one: one.created_at).id

    def above(self, message_id: str | None) -> Iterator[str]:
        """The ids of a message and of those that it follows, back to the first."""
        while message_id in self.nodes:
            yield message_id
            message_id = self.nodes[message_id].parent_id

    def count_questions(self, message_id: str) -> int:
        """How many questions a message and what follows it have, on all branches."""
        return sum(one.is_question for one in self.below(message_id))

    def count_later(self, message_id: str) -> int:
        """How many questions follow a message, on all branches."""
        return sum(one.is_question for one in self.below(message_id)[1:])


def read_tree(ledger: Ledger, owner: str, chat_id: str) -> Tree:
    """The tree of an owner's chat; empty for one that is not there."""
    rows = ledger.database.rows(
        """select m.id, m.parent_id, m.run_id, m.created_at, m.role = 'user'
        and coalesce(m.extra->>'inner', '') <> 'true' as is_question
        from messages m join chats c on c.id = m.chat_id where c.id = ? and c.owner = ?""",
        [chat_id, owner],
    )
    return Tree(Node(**row) for row in rows)


def read_stamp(ledger: Ledger, chat_id: str) -> tuple[int, datetime | None]:
    """What is another one whenever the tree of a chat has changed: how many messages there are, and
    when the last one came.
    """
    sql = "select count(*) as messages, max(created_at) as latest from messages where chat_id = ?"
    row = ledger.database.remembered.rows(("messages",), sql, [chat_id])[0]
    return row["messages"], row["latest"]


def has_message(ledger: Ledger, owner: str, chat_id: str, message_id: str) -> bool:
    """Whether the message is in the chat, on whichever branch."""
    return message_id in read_tree(ledger, owner, chat_id).nodes


def is_shown(ledger: Ledger, owner: str, chat_id: str, message_id: str | None) -> bool:
    """Whether the branch that a chat shows has this message, as all have None; raises NotFound."""
    head = ledger.chat(owner, chat_id).head_id
    if message_id in (None, head):
        return True
    return message_id in read_tree(ledger, owner, chat_id).above(head)


def choose_head(ledger: Ledger, owner: str, chat_id: str, message_id: str) -> None:
    """Let the chat go on after this message; raises NotFound for one that is not in it."""
    with ledger.database.transaction():
        if not has_message(ledger, owner, chat_id, message_id):
            raise _make_not_found(message_id)
        _set_head(ledger, owner, chat_id, message_id)


def delete_branch(ledger: Ledger, owner: str, chat_id: str, question_id: str) -> None:
    """Remove a question with all that follows it; model calls stay, since they were paid for.

    A chat that showed it shows the newest branch beside it then, or what stands before it.
    Raises NotFound.
    """
    with ledger.database.transaction():
        tree = read_tree(ledger, owner, chat_id)
        below = list(tree.below(question_id))
        if not below:
            raise _make_not_found(question_id)
        gone = [one.id for one in below]
        if ledger.chat(owner, chat_id).head_id in gone:
            _set_head(ledger, owner, chat_id, _find_beside(tree, question_id))
        run_ids = {one.run_id for one in below if one.run_id}
        _delete_runs(ledger, owner, chat_id, run_ids)
        for table, column in (("feedback", "message_id"), ("messages", "id")):
            sql = f"delete from {table} where list_contains(?, {column})"
            ledger.database.execute(sql, [gone])


def _find_beside(tree: Tree, question_id: str) -> str | None:
    """Where a chat ends that showed this question, once it is gone; None for a chat without any."""
    beside = list_missing(tree.siblings(question_id), [question_id])
    if not beside:
        return tree.nodes[question_id].parent_id
    ends = map(tree.newest_end, beside)
    return max(ends, key=lambda one: tree.nodes[one].created_at)


def _set_head(ledger: Ledger, owner: str, chat_id: str, message_id: str | None) -> None:
    ledger.database.execute(
        "update chats set head_id = ? where id = ? and owner = ?", [message_id, chat_id, owner]
    )


def _delete_runs(ledger: Ledger, owner: str, chat_id: str, run_ids: set[str]) -> None:
    """Remove what these runs, and those that they went on with, have said and sent.

    That they asked models is still told: later requests refer to the order of earlier ones.
    """
    database, every = ledger.database, list(run_ids)
    for run_id in every:  # grows meanwhile
        rows = database.rows(
            """select r.id from runs r where r.chat_id = ? and r.owner = ?
            and ((r.state = 'continued' and r.reason = ?) or exists (from events e where
            e.run_id = r.id and e.kind = 'RunStarted' and e.data->>'resumes' = ?))""",
            [chat_id, owner, run_id, run_id],
        )
        every += [row["id"] for row in rows if row["id"] not in every]
    requests.forget_runs(database, chat_id, every)
    ledger.forget_requests(chat_id)
    database.execute(
        "delete from events where list_contains(?, run_id) and kind <> 'ModelCalled'", [every]
    )
    run_documents.forget_runs(database, every)
    database.execute(
        "update runs set title = 'deleted branch' where list_contains(?, id) and owner = ?",
        [every, owner],
    )


def _make_not_found(message_id: str) -> NotFound:
    return NotFound(
        f"The message {message_id!r} is no longer in this chat; it may have been deleted in another"
        " tab."
    )

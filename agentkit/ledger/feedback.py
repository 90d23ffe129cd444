"""What people think of answers: up or down, with a comment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from agentkit.errors import NotFound
from agentkit.ledger.store import Ledger, utc_now

Thumb = Literal["up", "down"]
_ALL = "select message_id, value, comment, rated_at from feedback where owner = ?"


@dataclass(frozen=True, slots=True)
class Rating:
    """What somebody thinks of an answer."""

    message_id: str
    value: Thumb
    comment: str
    rated_at: datetime
    """UTC without zone."""


def rate(
    ledger: Ledger, owner: str, message_id: str, value: Thumb | None, comment: str = ""
) -> None:
    """Keep it in place of what the owner thought before, None for nothing; raises NotFound for a
    message that is not theirs.
    """
    known = ledger.database.value(
        """select count(*) from messages m join chats c on c.id = m.chat_id
        where m.id = ? and c.owner = ?""",
        [message_id, owner],
    )
    if not known:
        raise NotFound("This answer is no longer there; it may have been deleted in another tab.")
    with ledger.database.transaction():
        ledger.database.execute(
            "delete from feedback where message_id = ? and owner = ?", [message_id, owner]
        )
        if value is None:
            return
        row = {"message_id": message_id, "owner": owner, "value": value}
        ledger.database.insert("feedback", {**row, "comment": comment, "rated_at": utc_now()})


def find_ratings(ledger: Ledger, owner: str, message_ids: Sequence[str]) -> dict[str, Rating]:
    """What the owner thinks of these messages, by their ids, but for those without a rating."""
    if not message_ids:
        return {}
    sql = f"{_ALL} and list_contains(?, message_id)"
    values = [owner, list(message_ids)]
    rows = ledger.database.remembered.rows(("feedback",), sql, values)
    return {row["message_id"]: _read(row) for row in rows}


def _read(row: dict[str, object]) -> Rating:
    return Rating(
        str(row["message_id"]),
        cast(Thumb, row["value"]),
        str(row["comment"]),
        cast(datetime, row["rated_at"]),
    )

"""The requests to models: each message is kept once, by its hash, and a call as the list of its own.

A list tells what it has in common with an earlier one, its base, by places: `[[0, 40], "4be1..."]`
are the first 41 messages of that and one that is new. So a chat's log grows with what is new in it.
"""

from __future__ import annotations

import json
import threading
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from agentkit.database import Database, Row
from agentkit.events import ModelCalled

T = TypeVar("T")
Key = tuple[str, str, str]
"""A chat (or a run outside of chats), an agent, and the hash of the first message or nothing."""
Item = str | list[int]
"""A message by its hash, or the first and last place of a row of them in the base."""
_LONGEST_WAY = 100  # lists from one to another until one stands for itself
_REMEMBERED = 128
_AT_ONCE = 200  # rows of one statement
_TOOLS = ("tools", "functions")


@dataclass(frozen=True, slots=True)
class Request:
    """What was sent to a model."""

    messages: list[dict[str, Any]]
    around: dict[str, Any]
    """The rest, in its order, with None where the messages stand; empty for older versions' calls."""

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The definitions of tools, and of functions in the older form."""
        return [one for name in _TOOLS for one in self.around.get(name) or ()]

    @property
    def parameters(self) -> dict[str, Any]:
        """All but messages and tools, by name; the model is among them."""
        return {name: value for name, value in self.around.items() if name not in (*_TOOLS, "messages")}

    @property
    def json(self) -> str:
        """The JSON object as it was sent, without line breaks."""
        has_messages = "messages" in self.around or not self.around
        return _compact({**self.around, "messages": self.messages} if has_messages else self.around)


@dataclass(frozen=True, slots=True)
class Listed:
    """The list of a request that is kept, from which the next one may be told."""

    run_id: str
    seq: int
    hashes: list[str]
    kept: frozenset[str]
    """What need not be kept once more: the messages, and what stands around them."""
    way: int
    """Lists from one that stands for itself to this one."""


Told = ChainMap[Key, Listed]
"""The lists that a transaction can tell its own by; what it adds stands in front."""


class Lists:
    """The last lists of each agent, of requests that are committed; those of long ago are forgotten."""

    def __init__(self) -> None:
        self._last: dict[Key, Listed] = {}
        self._lock = threading.Lock()

    def with_new(self) -> Told:
        """A view to which a transaction can add its own."""
        with self._lock:
            return ChainMap({}, dict(self._last))

    def settle(self, view: Told) -> None:
        """Take over what was added to the view, now that it is committed."""
        with self._lock:
            for key, listed in view.maps[0].items():
                self._last.pop(key, None)
                self._last[key] = listed
            for key in list(self._last)[:-_REMEMBERED]:
                del self._last[key]

    def forget(self, scope: str) -> None:
        """Tell nothing more from the lists of this chat."""
        with self._lock:
            self._last = {key: one for key, one in self._last.items() if key[0] != scope}


def keep(
    database: Database,
    run_id: str,
    scope: str,
    seq: int,
    event: ModelCalled,
    lists: Told,
) -> None:
    """Store a request within the transaction that stores its event; `lists` learn of it."""
    if not (event.messages or event.request):
        return  # of texts to embed or to rank, which are kept as chunks
    bodies = [_compact(one) for one in event.messages]
    hashes = [_hash(body) for body in bodies]
    parts = dict(zip(hashes, bodies, strict=True))
    tools = {name: event.request[name] for name in _TOOLS if event.request.get(name)}
    around = {name: None if name in tools else value for name, value in event.request.items()}
    frame = _part(around, parts)
    tools_hash = _part(tools, parts)
    keys: list[Key] = [(scope, event.agent, one) for one in (hashes[0] if hashes else "", "")]
    base = next((lists[key] for key in keys if key in lists), None)
    new = {one: parts[one] for one in parts if base is None or one not in base.kept}
    _insert(database, "request_parts", ("hash", "body"), list(new.items()))
    _insert(database, "request_uses", ("scope", "hash"), [(scope, one) for one in new])
    if base is not None and base.way >= max(_LONGEST_WAY, len(hashes)):
        base = None
    items = _told_by(hashes, base.hashes if base else [])
    database.insert("requests", {
        "run_id": run_id, "seq": seq, "call_id": event.call_id, "scope": scope,
        "base_run": base and base.run_id, "base_seq": base and base.seq,
        "list": _compact(items), "frame": frame, "tools": tools_hash,
    })  # fmt: skip
    listed = Listed(run_id, seq, hashes, frozenset(parts), base.way + 1 if base else 0)
    lists.update(dict.fromkeys(keys, listed))


def of_run(database: Database, run_id: str) -> dict[int, Request]:
    """The requests of a run by the place of their events."""
    rows = _rows_beside(database, run_id)
    return _read(database, rows, [key for key in rows if key[0] == run_id])


def of_call(database: Database, owner: str, call_id: str) -> Request | None:
    """The last request of an owner's call, which may have had several attempts; None when there is none."""
    found = database.row(
        """select q.run_id, q.seq from requests q join runs r on r.id = q.run_id
        where q.call_id = ? and r.owner = ? order by q.seq desc limit 1""",
        [call_id, owner],
    )
    if found is None:
        return None
    rows = _rows_beside(database, found["run_id"])
    return _read(database, rows, [(found["run_id"], found["seq"])])[found["seq"]]


def forget(database: Database, scope: str) -> None:
    """Remove the requests of a chat, with what no other one needs, within a transaction."""
    database.execute(
        """delete from request_parts where hash in (select hash from request_uses where scope = ?)
        and hash not in (select hash from request_uses where scope <> ?)""",
        [scope, scope],
    )
    database.execute("delete from request_uses where scope = ?", [scope])
    database.execute("delete from requests where scope = ?", [scope])


def _part(value: Mapping[str, Any], parts: dict[str, str]) -> str | None:
    """The hash of a value that becomes one of the parts; None when it is empty."""
    if not value:
        return None
    body = _compact(value)
    parts[_hash(body)] = body
    return _hash(body)


def _told_by(hashes: Sequence[str], base: Sequence[str]) -> list[Item]:
    """A list by what it has in common with the base."""
    places = {one: place for place, one in reversed(list(enumerate(base)))}
    items: list[Item] = []
    following = len(base)
    for one in hashes:
        last = items[-1] if items else None
        if isinstance(last, list) and following < len(base) and base[following] == one:
            last[1] = following
        elif one in places:
            following = places[one]
            items.append([following, following])
        else:
            items.append(one)
        following += 1
    return items


def _read(
    database: Database, rows: Mapping[tuple[str, int], Row], wanted: Collection[tuple[str, int]]
) -> dict[int, Request]:
    """These requests by `seq`."""
    lists: dict[tuple[str, int], list[str]] = {}
    for key in wanted:
        _resolve(rows, key, lists)
    asked = {key: rows[key] for key in wanted}
    hashes = {one for key in asked for one in lists[key]}
    hashes |= {row[name] for row in asked.values() for name in ("frame", "tools") if row[name]}
    parts = _parts(database, hashes)
    return {
        row["seq"]: Request(
            [json.loads(parts[one]) for one in lists[key]],
            _opened(row["frame"], parts) | _opened(row["tools"], parts),
        )
        for key, row in asked.items()
    }


def _opened(part: str | None, parts: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(parts[part]) if part else {}
    return found


def _resolve(
    rows: Mapping[tuple[str, int], Row], key: tuple[str, int], lists: dict[tuple[str, int], list[str]]
) -> None:
    """Put the list of this request, and those it is told by, into `lists`."""
    way = []
    at: tuple[str, int] | None = key
    while at is not None and at not in lists:
        way.append(at)
        row = rows[at]
        at = None if row["base_run"] is None else (row["base_run"], row["base_seq"])
    for one in reversed(way):
        row = rows[one]
        base = [] if row["base_run"] is None else lists[row["base_run"], row["base_seq"]]
        lists[one] = list(_hashes(json.loads(row["list"]), base))


def _hashes(items: Iterable[Item], base: Sequence[str]) -> Iterator[str]:
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            yield from base[item[0] : item[1] + 1]


def _rows_beside(database: Database, run_id: str) -> dict[tuple[str, int], Row]:
    """The rows of all requests of the chat that the run is in."""
    found = database.rows(
        """select run_id, seq, base_run, base_seq, list, frame, tools from requests
        where scope in (select scope from requests where run_id = ?) order by run_id, seq""",
        [run_id],
    )
    return {(row["run_id"], row["seq"]): row for row in found}


def _parts(database: Database, hashes: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for some in _each(sorted(hashes)):
        marks = ", ".join("?" for _ in some)
        sql = f"select hash, body from request_parts where hash in ({marks})"
        found |= {row["hash"]: row["body"] for row in database.rows(sql, some)}
    return found


def _insert(
    database: Database, table: str, columns: tuple[str, str], rows: Sequence[tuple[str, str]]
) -> None:
    """Those rows that are not there yet."""
    for some in _each(rows):
        marks = ", ".join("(?, ?)" for _ in some)
        database.execute(
            f"insert into {table} ({', '.join(columns)}) values {marks} on conflict do nothing",
            [value for row in some for value in row],
        )


def _each(things: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(things), _AT_ONCE):
        yield things[start : start + _AT_ONCE]


def _compact(value: object) -> str:
    """As the SDK writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which no file could hold
        return json.dumps(value, separators=(",", ":"))
    return text


def _hash(body: str) -> str:
    return sha256(body.encode()).hexdigest()[:40]

"""The requests to models: each message is kept once, by its hash, a call as a list of its own.

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
Place = tuple[str, int]
"""A run and the `seq` of the event within it."""
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
    """The rest, in its order, with None where the messages stand; empty for old calls."""

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The definitions of tools, and of functions in the older form."""
        return [one for name in _TOOLS for one in self.around.get(name) or ()]

    @property
    def parameters(self) -> dict[str, Any]:
        """All but messages and tools, by name; the model is among them."""
        apart = (*_TOOLS, "messages")
        return {name: value for name, value in self.around.items() if name not in apart}

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
    """The last lists of each agent, of committed requests; those of long ago are forgotten."""

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
    database: Database, run_id: str, scope: str, seq: int, event: ModelCalled, lists: Told
) -> Row | None:
    """Store what is new in a request, within the transaction that stores its event.

    Gives what the event's row says of it; None where nothing is kept, as of texts to embed.
    """
    if not (event.messages or event.request):
        return None
    bodies = list(map(_compact, event.messages))
    hashes = list(map(_hash, bodies))
    parts = dict(zip(hashes, bodies, strict=True))
    frame, tools = _frame_and_tools(event.request, parts)
    first = hashes[0] if hashes else ""
    keys: list[Key] = [(scope, event.agent, first), (scope, event.agent, "")]
    base = next((lists[key] for key in keys if key in lists), None)
    kept = base.kept if base else frozenset()
    _add(database, scope, {one: body for one, body in parts.items() if one not in kept})
    if base and base.way >= max(_LONGEST_WAY, len(hashes)):
        base = None
    way = base.way + 1 if base else 0
    lists.update(dict.fromkeys(keys, Listed(run_id, seq, hashes, frozenset(parts), way)))
    return {
        "base": [base.run_id, base.seq] if base else None,
        "list": _told_by(hashes, base.hashes if base else []),
        "frame": frame,
        "tools": tools,
    }


def _frame_and_tools(
    request: Mapping[str, Any], parts: dict[str, str]
) -> tuple[str | None, str | None]:
    """The hashes of what was sent beside the messages, and of the tools; both go into parts."""
    tools = {name: request[name] for name in _TOOLS if request.get(name)}
    around = {name: None if name in tools else value for name, value in request.items()}
    return _part(around, parts), _part(tools, parts)


def of_run(database: Database, run_id: str) -> dict[int, Request]:
    """The requests of a run by the place of their events."""
    sent = _beside(database, run_id)
    return _read(database, sent, [place for place in sent if place[0] == run_id])


def of_call(database: Database, owner: str, call_id: str) -> Request | None:
    """The request of the last attempt of an owner's call; None when there is none."""
    found = database.row(
        """select e.run_id, e.seq from events e join runs r on r.id = e.run_id
        where r.owner = ? and e.kind = 'ModelCalled' and e.data->>'call_id' = ?
        order by e.seq desc limit 1""",
        [owner, call_id],
    )
    if found is None:
        return None
    place = (found["run_id"], found["seq"])
    beside = _beside(database, place[0])
    return _read(database, beside, [place]).get(place[1]) if place in beside else None


def forget(database: Database, scope: str) -> None:
    """Remove the requests of a chat, with what no other one needs, within a transaction."""
    database.execute(
        """update request_parts set body = (
            select max(o.body) from request_parts o where o.hash = request_parts.hash)
        where hash in (select hash from request_parts where scope = ? and body is not null)
        and scope = (
            select min(o.scope) from request_parts o
            where o.hash = request_parts.hash and o.scope <> ?)""",
        [scope, scope],
    )
    database.execute("delete from request_parts where scope = ?", [scope])


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
    database: Database, sent: Mapping[Place, Row], wanted: Collection[Place]
) -> dict[int, Request]:
    """These requests by `seq`, but for those of which something was lost with a damaged file."""
    lists: dict[Place, list[str]] = {}
    for place in wanted:
        _resolve(sent, place, lists)
    around = {place: [sent[place][name] for name in ("frame", "tools")] for place in wanted}
    needed = {place: {*lists[place], *around[place]} - {None} for place in wanted if place in lists}
    parts = _parts(database, {one for some in needed.values() for one in some})
    return {
        place[1]: Request(
            [json.loads(parts[one]) for one in lists[place]],
            _joined(json.loads(parts[one]) for one in around[place] if one),
        )
        for place, some in needed.items()
        if some <= parts.keys()
    }


def _joined(objects: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {name: value for one in objects for name, value in one.items()}


def _resolve(sent: Mapping[Place, Row], place: Place, lists: dict[Place, list[str]]) -> None:
    """Put the list of this request, and those it is told by, into `lists`."""
    way = []
    at: Place | None = place
    while at is not None and at not in lists:
        if at not in sent:
            return
        way.append(at)
        at = _base(sent[at])
    for one in reversed(way):
        base = _base(sent[one])
        lists[one] = list(_hashes(sent[one]["list"], lists[base] if base else []))


def _base(sent: Row) -> Place | None:
    return tuple(sent["base"]) if sent["base"] else None


def _hashes(items: Iterable[Item], base: Sequence[str]) -> Iterator[str]:
    for item in items:
        yield from [item] if isinstance(item, str) else base[item[0] : item[1] + 1]


def _beside(database: Database, run_id: str) -> dict[Place, Row]:
    """What is told of all requests of the chat that the run is in."""
    found = database.rows(
        """select run_id, seq, data from events where kind = 'ModelCalled' and (run_id = ?
        or run_id in (select o.id from runs r join runs o on o.chat_id = r.chat_id where r.id = ?))
        order by run_id, seq""",
        [run_id, run_id],
    )
    told = {(row["run_id"], row["seq"]): json.loads(row["data"]).get("sent") for row in found}
    return {place: sent for place, sent in told.items() if sent}


def _parts(database: Database, hashes: Collection[str]) -> dict[str, str]:
    sql = "select hash, body from request_parts where body is not null and"
    found = _among(database, sql, list(hashes))
    return {row["hash"]: row["body"] for row in found}


def _add(database: Database, scope: str, parts: Mapping[str, str]) -> None:
    """Keep those parts that are not there yet; of what another chat has, who needs it too."""
    there: dict[str, set[str]] = {}
    for row in _among(database, "select hash, scope from request_parts where", list(parts)):
        there.setdefault(row["hash"], set()).add(row["scope"])
    new = [
        (one, scope, None if one in there else body)
        for one, body in parts.items()
        if scope not in there.get(one, ())
    ]
    for some in _each(new):
        marks = ", ".join("(?, ?, ?)" for _ in some)
        database.execute(
            f"insert into request_parts (hash, scope, body) values {marks}",
            [value for row in some for value in row],
        )


def _among(database: Database, sql: str, hashes: Sequence[str]) -> Iterator[Row]:
    for some in _each(hashes):
        marks = ", ".join("?" for _ in some)
        yield from database.rows(f"{sql} hash in ({marks})", some)


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

"""The requests to models: each message is kept once, by its hash, a call as a list of its own.

A list says what it has in common with an earlier one, its base, by places: `[[0, 40], "4be1..."]`
are the first 41 messages of that and one that is new. So a chat's log grows with what is new in it.
"""

from __future__ import annotations

import json
import threading
from collections import ChainMap, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Any, TypeVar

from agentkit.core.given import list_known
from agentkit.database import Database, Row
from agentkit.events import ModelCalled
from agentkit.messages import without_keys

T = TypeVar("T")
Key = tuple[str, str, str]
"""A chat (or a run outside of chats), an agent, and the hash of the first message or nothing."""
Place = tuple[str, int]
"""A run and the `seq` of the event within it."""
Item = str | list[int]
"""A message by its hash, or the first and last place of a row of them in the base."""
_NO_BASE: Place = ("", 0)
"""The base of a list that stands for itself."""
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
        tools: list[dict[str, Any]] = []
        for name in _TOOLS:
            tools += self.around.get(name) or ()
        return tools

    @property
    def parameters(self) -> dict[str, Any]:
        """All but messages and tools, by name; the model is among them."""
        apart = (*_TOOLS, "messages")
        return {name: value for name, value in self.around.items() if name not in apart}

    @property
    def json(self) -> str:
        """The JSON object as it was sent, without line breaks."""
        if self.around and "messages" not in self.around:
            return _compact(self.around)
        return _compact({**self.around, "messages": self.messages})


@dataclass(frozen=True, slots=True)
class Listed:
    """The list of a request that is kept, which the next one may refer to."""

    place: Place | None
    """Where it is kept."""
    hashes: list[str]
    kept: frozenset[str]
    """What need not be kept once more: the messages, and what stands around them."""
    way: int
    """Lists from one that stands for itself to this one."""


_NOTHING_LISTED = Listed(None, [], frozenset(), -1)
LastLists = ChainMap[Key, Listed]
"""The lists that a transaction can refer to; what it adds stands in front."""


class Lists:
    """The last lists of each agent, of committed requests; those of long ago are forgotten."""

    def __init__(self) -> None:
        self._last: dict[Key, Listed] = {}
        self._lock = threading.Lock()

    def with_new(self) -> LastLists:
        """A view to which a transaction can add its own."""
        with self._lock:
            return ChainMap({}, dict(self._last))

    def settle(self, view: LastLists) -> None:
        """Take over what was added to the view, now that it is committed."""
        with self._lock:
            for key, listed in view.maps[0].items():
                self._last.pop(key, None)
                self._last[key] = listed
            for key in list(self._last)[:-_REMEMBERED]:
                del self._last[key]

    def forget(self, scope: str) -> None:
        """Refer no more to the lists of this chat."""
        with self._lock:
            self._last = {key: one for key, one in self._last.items() if key[0] != scope}


def keep(
    database: Database, run_id: str, scope: str, seq: int, event: ModelCalled, lists: LastLists
) -> Row | None:
    """Store what is new in a request, within the transaction that stores its event.

    Gives what the event's row says of it; None where nothing is kept, as of texts to embed.
    """
    if not (event.messages or event.request):
        return None
    parts: dict[str, str] = {}
    hashes = [_add_part(message, parts) for message in event.messages]
    frame, tools = _add_frame_and_tools(event.request, parts)

    first = next(iter(hashes), "")
    same_start, same_agent = (scope, event.agent, first), (scope, event.agent, "")
    base = lists.get(same_start) or lists.get(same_agent) or _NOTHING_LISTED
    _store_parts(database, scope, without_keys(parts, base.kept))

    if base.way >= max(_LONGEST_WAY, len(hashes)):
        base = _NOTHING_LISTED
    listed = Listed((run_id, seq), hashes, frozenset(parts), base.way + 1)
    lists[same_start] = lists[same_agent] = listed
    return {
        "base": base.place,
        "list": _shorten(hashes, base.hashes),
        "frame": frame,
        "tools": tools,
    }


def _add_frame_and_tools(
    request: Mapping[str, Any], parts: dict[str, str]
) -> tuple[str | None, str | None]:
    """The hashes of what was sent beside the messages, and of the tools, each None when there is
    nothing; both go into parts.
    """
    tools = {name: request[name] for name in _TOOLS if request.get(name)}
    around = {name: None if name in tools else value for name, value in request.items()}
    return _add_optional(around, parts), _add_optional(tools, parts)


def of_run(database: Database, run_id: str) -> dict[int, Request]:
    """The requests of a run by the place of their events."""
    sent = _read_lists(database, run_id)
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
    sent = _read_lists(database, place[0])
    return _read(database, sent, [place]).get(place[1])


def of_places(
    database: Database, owner: str, run_id: str, seqs: Collection[int]
) -> dict[int, Request]:
    """The requests of some of an owner's run's calls, by the `seq` of their events."""
    sql = "select count(*) from runs where id = ? and owner = ?"
    if not database.value(sql, [run_id, owner]):
        return {}
    sent = _read_lists(database, run_id)
    return _read(database, sent, [place for seq in seqs if (place := (run_id, seq)) in sent])


def forget(database: Database, scope: str) -> None:
    """Remove the requests of a chat, with what no other one needs, within a transaction."""
    _forget_parts(database, scope, _find_parts(database, scope))


def forget_runs(database: Database, chat_id: str, run_ids: Collection[str]) -> None:
    """Remove what requests of these runs of a chat alone had, within a transaction."""
    chat_runs = database.rows("select id from runs where chat_id = ? limit 1", [chat_id])
    sent = {}
    if chat_runs:
        sent = _read_lists(database, chat_runs[0]["id"])
    kept = [place for place in sent if place[0] not in run_ids]
    lists: dict[Place, list[str]] = {_NO_BASE: []}
    needed: set[str] = set()
    for place in kept:
        _resolve(sent, place, lists)
        needed.update(lists.get(place, ()), _around(sent[place]))
    _forget_parts(database, chat_id, _find_parts(database, chat_id) - needed)


def _find_parts(database: Database, scope: str) -> set[str]:
    """The hashes of all that a chat keeps."""
    rows = database.rows("select hash from request_parts where scope = ?", [scope])
    return {row["hash"] for row in rows}


def _forget_parts(database: Database, scope: str, hashes: Collection[str]) -> None:
    """Remove these parts from a chat; what another one needs becomes that one's."""
    gone = list(hashes)
    database.execute(
        """update request_parts set body = (
            select max(o.body) from request_parts o where o.hash = request_parts.hash)
        where hash in (select hash from request_parts where scope = ? and body is not null)
        and list_contains(?, hash) and scope = (
            select min(o.scope) from request_parts o
            where o.hash = request_parts.hash and o.scope <> ?)""",
        [scope, gone, scope],
    )
    sql = "delete from request_parts where scope = ? and list_contains(?, hash)"
    database.execute(sql, [scope, gone])


def read_scope(database: Database, scope: str) -> dict[str, str]:
    """The parts of all requests of a chat, by their hash."""
    rows = database.rows(
        """select hash, max(body) as body from request_parts where body is not null and hash in (
            select hash from request_parts where scope = ?) group by hash order by hash""",
        [scope],
    )
    return {row["hash"]: row["body"] for row in rows}


def add_parts(database: Database, scope: str, parts: Mapping[str, str]) -> None:
    """Store parts of requests for a chat, within a transaction; each under its right hash."""
    _store_parts(database, scope, parts)


def is_hash_of(key: str, body: str) -> bool:
    """Whether a part of a request is the one that this hash stands for."""
    return _hash(body) == key


def _add_part(value: Mapping[str, Any], parts: dict[str, str]) -> str:
    """The hash of a value, which becomes one of the parts."""
    body = _compact(value)
    key = _hash(body)
    parts[key] = body
    return key


def _add_optional(value: Mapping[str, Any], parts: dict[str, str]) -> str | None:
    """The same; None for an empty one, which is not kept."""
    return _add_part(value, parts) if value else None


def _shorten(hashes: Sequence[str], base: Sequence[str]) -> list[Item]:
    """A list by what it has in common with the base."""
    places = {one: place for place, one in reversed(list(enumerate(base)))}
    following = [*base[1:], ""]
    items: list[Item] = []
    row: list[int] = []  # where in the base the last messages stand; empty if they are new
    for one in hashes:
        if row and following[row[1]] == one:
            row[1] += 1
        elif one in places:
            row = [places[one], places[one]]
            items.append(row)
        else:
            row = []
            items.append(one)
    return items


def _read(
    database: Database, sent: Mapping[Place, Row], wanted: Collection[Place]
) -> dict[int, Request]:
    """These requests by `seq`, but for those of which something was lost with a damaged file."""
    lists: dict[Place, list[str]] = {_NO_BASE: []}
    for place in wanted:
        _resolve(sent, place, lists)
    whole = list_known(wanted, lists)

    needed = {place: {*lists[place], *_around(sent[place])} for place in whole}
    parts = _read_parts(database, set().union(*needed.values()))
    return {
        place[1]: _assemble(sent[place], lists[place], parts)
        for place in whole
        if needed[place] <= parts.keys()
    }


def _assemble(sent: Row, hashes: Sequence[str], parts: Mapping[str, str]) -> Request:
    around: dict[str, Any] = {}
    for one in _around(sent):
        around |= json.loads(parts[one])
    return Request([json.loads(parts[one]) for one in hashes], around)


def _around(sent: Row) -> list[str]:
    """The hashes of what was sent beside the messages."""
    return list(filter(None, (sent["frame"], sent["tools"])))


def _resolve(sent: Mapping[Place, Row], place: Place, lists: dict[Place, list[str]]) -> None:
    """Put the list of this request, and those it refers to, into `lists`; nothing when one of them
    is lost.
    """
    way: list[Place] = []
    while place not in lists:
        if place not in sent:
            return
        way.append(place)
        place = _base(sent[place])

    for one in reversed(way):
        base = lists[_base(sent[one])]
        lists[one] = list(_expand(sent[one]["list"], base))


def _base(sent: Row) -> Place:
    run_id, seq = sent["base"] or _NO_BASE
    return run_id, seq


def _expand(items: Iterable[Item], base: Sequence[str]) -> Iterator[str]:
    """The hashes that `_shorten` told by places in the base."""
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            first, last = item
            yield from base[first : last + 1]


def _read_lists(database: Database, run_id: str) -> dict[Place, Row]:
    """What `keep` gave for all requests of the chat that the run is in."""
    rows = database.rows(
        """select run_id, seq, data from events where kind = 'ModelCalled' and (run_id = ?
        or run_id in (select o.id from runs r join runs o on o.chat_id = r.chat_id where r.id = ?))
        order by run_id, seq""",
        [run_id, run_id],
    )
    found: dict[Place, Row] = {}
    for row in rows:
        sent = json.loads(row["data"]).get("sent")
        if sent:
            found[row["run_id"], row["seq"]] = sent
    return found


def _read_parts(database: Database, hashes: Collection[str]) -> dict[str, str]:
    sql = "select hash, body from request_parts where body is not null and"
    rows = _select(database, sql, list(hashes))
    return {row["hash"]: row["body"] for row in rows}


def _store_parts(database: Database, scope: str, parts: Mapping[str, str]) -> None:
    """Keep those parts that are not there yet; of what another chat has, who needs it too."""
    scopes: dict[str, set[str]] = defaultdict(set)
    for row in _select(database, "select hash, scope from request_parts where", list(parts)):
        scopes[row["hash"]].add(row["scope"])

    rows: list[tuple[str, str, str | None]] = []
    for one, body in parts.items():
        if one not in scopes:
            rows.append((one, scope, body))
        elif scope not in scopes[one]:
            rows.append((one, scope, None))

    for some in _batches(rows):
        marks = ", ".join(["(?, ?, ?)"] * len(some))
        database.execute(
            f"insert into request_parts (hash, scope, body) values {marks}",
            list(chain.from_iterable(some)),
        )


def _select(database: Database, sql: str, hashes: Sequence[str]) -> Iterator[Row]:
    for some in _batches(hashes):
        marks = ", ".join("?" * len(some))
        yield from database.rows(f"{sql} hash in ({marks})", some)


def _batches(things: Sequence[T]) -> Iterator[Sequence[T]]:
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
    return sha256(body.encode("utf-8", "replace")).hexdigest()[:40]

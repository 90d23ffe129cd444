"""Chats as files: what comes back is what went out, and a file that is not a whole chat is
refused.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from agentkit.database import Database
from agentkit.errors import AgentkitError, DamagedDocument, DocumentTooLarge, NotFound
from agentkit.events import ModelCalled, ModelReplied, RunStarted
from agentkit.ledger import Chat, Ledger, queries
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.whole import WholeChat, read_whole, store_whole
from agentkit.messages import new_id
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.settings import Settings
from agentkit.teams import Question
from agentkit.workspace import Workspace, kernels
from agentkit.workspace.sharing import form, reading
from agentkit.workspace.sharing.sharing import Sharing

OWNER = "me"
SCHEMA = Path(__file__).parents[1] / "docs" / "chat-file.schema.json"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).replace(tzinfo=None)
ID = re.compile(r"\b[0-9a-f]{32}\b")
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def workspace(settings: Settings, tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(settings, FakeEmbedder())
    tea = tmp_path / "tea.txt"
    tea.write_text("Green tea is steeped at 80 degrees.")
    opened.ingest(OWNER, "Kitchen", [Source("tea.txt", tea, str(tea))]).result()
    yield opened
    opened.close()


@pytest.fixture
def chat(workspace: Workspace) -> Chat:
    """A chat with two branches, an attached file and a picture of a cell."""
    told = "How hot is green tea?"
    run = workspace.ask(OWNER, told, collection="Kitchen")
    run.result()
    chat_id = run.chat_id or ""
    question = workspace.ledger.thread(OWNER, chat_id)[0]
    workspace.ask_again(OWNER, chat_id, question.id).result()
    workspace.ask(OWNER, "And how is it steeped?", collection="Kitchen", chat_id=chat_id).result()
    workspace.ledger.set(OWNER, chat_id, "level", "everything")
    workspace.ledger.set(OWNER, chat_id, "draft", "half a")
    return workspace.ledger.chat(OWNER, chat_id)


def named_by_order(text: str) -> str:
    """The text with each id replaced by the place where it comes first."""
    order: dict[str, str] = {}
    return ID.sub(lambda match: order.setdefault(match[0], f"id {len(order)}"), text)


def there_and_back(sharing: Sharing, chat_id: str, folder: Path) -> tuple[str, str]:
    """A chat as it goes out, and as it goes out again once it has come back."""
    first = sharing.export(OWNER, chat_id, folder / "first.json")
    copy = sharing.load(OWNER, first)
    second = sharing.export(OWNER, copy.id, folder / "second.json")
    return first.read_text(), second.read_text()


def test_nothing_is_lost_on_the_way_there_and_back(
    workspace: Workspace, chat: Chat, tmp_path: Path
) -> None:
    first, second = there_and_back(workspace.sharing, chat.id, tmp_path)
    assert named_by_order(second) == named_by_order(first)
    assert not set(ID.findall(first)) & {one.id for one in workspace.ledger.chats(OWNER)[:1]}
    told = json.loads(first)
    assert len(told["messages"]) == 6
    assert told["chat"]["settings"] == {"level": "everything"}
    assert {one["parent_id"] for one in told["messages"]} >= {None}
    # It ships no types.
    importlib.import_module("jsonschema").validate(told, json.loads(SCHEMA.read_text()))


def test_the_copy_is_a_chat_like_the_first_one(
    workspace: Workspace, chat: Chat, tmp_path: Path
) -> None:
    path = workspace.sharing.export(OWNER, chat.id, tmp_path / "chat.json")
    copy = workspace.sharing.load(OWNER, path)
    assert (copy.title, copy.updated_at) == (chat.title, chat.updated_at)
    ledger = workspace.ledger
    said, said_then = ledger.thread(OWNER, copy.id), ledger.thread(OWNER, chat.id)
    assert [one.content for one in said] == [one.content for one in said_then]
    took = queries.of_messages(ledger, OWNER, [said[-1].id])[said[-1].id]
    assert took.prompt_tokens > 0
    runs = [one.run_id or "" for one in said]
    requests = [
        one.event.messages
        for one in queries.events(ledger, OWNER, runs[-1])
        if isinstance(one.event, ModelCalled)
    ]
    assert any("How hot is green tea?" in str(sent) for sent in requests)
    workspace.ask(OWNER, "And white tea?", collection="Kitchen", chat_id=copy.id).result()
    assert len(ledger.thread(OWNER, copy.id)) == len(said) + 2
    workspace.delete_chat(OWNER, chat.id)
    assert ledger.thread(OWNER, copy.id)[1].content == said[1].content


def test_what_was_paid_elsewhere_counts_in_its_chat_alone(
    workspace: Workspace, chat: Chat, tmp_path: Path
) -> None:
    before = workspace.figures.totals(CallFilter(OWNER))
    path = workspace.sharing.export(OWNER, chat.id, tmp_path / "chat.json")
    copy = workspace.sharing.load(OWNER, path)
    assert workspace.figures.totals(CallFilter(OWNER)) == before
    of_chat = workspace.figures.totals(CallFilter(OWNER, chat=copy.id))
    assert of_chat.calls == workspace.figures.totals(CallFilter(OWNER, chat=chat.id)).calls > 0


def test_what_cells_made_comes_along(workspace: Workspace, chat: Chat, tmp_path: Path) -> None:
    kept = kernels.find_kept(workspace.settings.data, chat.id)
    name = kept.put(b"\x89PNG and so on", "png")
    ran = {"kind": "picture", "mime": "image/png", "bytes": 14, "kept": name}
    cell = {"id": "c", "status": "ok", "outputs": [ran], "chat_id": chat.id}
    data = {"agent": "R", "language": "python", "code": "", "exit_code": 0, "output": ""}
    run_id = workspace.ledger.thread(OWNER, chat.id)[-1].run_id
    row = {"run_id": run_id, "seq": 900, "happened_at": NOON, "kind": "CodeRan"}
    told = json.dumps({**data, "cell": cell})
    workspace.database.insert("events", {**row, "data": told})
    first, second = there_and_back(workspace.sharing, chat.id, tmp_path)
    assert named_by_order(second) == named_by_order(first)
    copy = json.loads(second)["chat"]["id"]
    assert kernels.find_kept(workspace.settings.data, copy).read(name) == b"\x89PNG and so on"


def test_a_run_that_goes_on_is_interrupted_in_the_file_and_stays_so(
    workspace: Workspace, chat: Chat, tmp_path: Path
) -> None:
    workspace.database.execute("update runs set state = 'waiting' where chat_id = ?", [chat.id])
    path = workspace.sharing.export(OWNER, chat.id, tmp_path / "chat.json")
    assert {run["state"] for run in json.loads(path.read_text())["runs"]} == {"interrupted"}
    copy = workspace.sharing.load(OWNER, path)
    run_id = workspace.ledger.thread(OWNER, copy.id)[-1].run_id or ""
    assert queries.run_state(workspace.ledger, OWNER, run_id).state == "imported"
    assert queries.list_waiting_runs(workspace.ledger, OWNER, copy.id) == []
    with pytest.raises(AgentkitError, match="did not break off"):
        workspace.resume(OWNER, run_id)


def test_a_file_names_no_files_of_a_machine(
    workspace: Workspace, chat: Chat, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("The code is 1234.")
    source = Source("secret.txt", secret, "upload:1")
    asked = Question("What is the code?", "Kitchen", chat_id=chat.id, attachments=[source])
    workspace.ask(OWNER, asked).result()
    path = workspace.sharing.export(OWNER, chat.id, tmp_path / "chat.json")
    written = json.loads(path.read_text())
    assert str(secret) not in path.read_text()
    extra = written["messages"][-2]["extra"]
    extra["attachments"][0]["path"] = str(secret)
    path.write_text(json.dumps(written))
    copy = workspace.sharing.load(OWNER, path)
    asked_then = workspace.ledger.thread(OWNER, copy.id)[-2].extra["attachments"]
    assert [one["path"] for one in asked_then] == [""]


# What a tree can consist of.

_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_DATA = st.dictionaries(_TEXTS.map(lambda name: f"x {name}"), _VALUES, max_size=3)
_STATES = ["finished", "failed", "stopped", "interrupted", "continued", "imported", "running"]
_SENT: dict[str, Any] = {"frame": None, "tools": None, "base": None, "list": []}
_EVENTS = st.one_of(
    st.tuples(st.just("SomethingNewer"), _DATA),
    st.builds(lambda text: ("RunStarted", {"what": "chat", "title": text}), _TEXTS),
    st.builds(lambda text: ("Noted", {"agent": "A", "text": text}), _TEXTS),
    st.builds(lambda: ("ModelCalled", {**_called(), "sent": _SENT})),
)


def _called() -> dict[str, str]:
    return {"call_id": new_id(), "agent": "A", "provider": "p", "model": "m"}


def _at(number: int) -> datetime:
    return NOON + timedelta(microseconds=number)


@st.composite
def _trees(draw: st.DrawFn) -> WholeChat:
    """Rows of a chat: a forest of messages in runs, with whatever stands in them."""
    chat_id, runs, messages = new_id(), [], []
    ids = [new_id() for _ in range(draw(st.integers(0, 8)))]
    for number in range(draw(st.integers(0, 3))):
        state = draw(st.sampled_from(_STATES))
        ended = None if state == "running" else _at(number)
        answer = draw(st.sampled_from([None, new_id(), *ids]))
        run = {"id": new_id(), "kind": "chat", "title": draw(_TEXTS), "state": state}
        times = {"started_at": _at(number), "finished_at": ended}
        runs.append({**run, "reason": draw(_TEXTS), **times, "message_id": answer})
    for number, one in enumerate(ids):
        parent = draw(st.sampled_from([None, *ids[:number]]))
        run_id = draw(st.sampled_from([None, *(run["id"] for run in runs)]))
        thinking = draw(st.none() | st.builds(lambda text: {"text": text}, _TEXTS))
        people = {"sender": draw(_TEXTS), "recipient": draw(_TEXTS)}
        said = {"role": draw(st.sampled_from(["user", "assistant", "tool"]))}
        status = draw(st.sampled_from(["complete", "stopped", "failed", "interrupted"]))
        rest = {"content": draw(_TEXTS), "status": status, "extra": draw(_DATA)}
        ends = {"created_at": _at(number // 2), "thinking": thinking}
        messages.append(
            {"id": one, "parent_id": parent, "run_id": run_id, **people, **said, **rest, **ends}
        )
    events = [
        {
            "run_id": run["id"],
            "seq": seq,
            "happened_at": _at(seq),
            "kind": kind,
            "data": data,
        }
        for run in runs
        for seq, (kind, data) in enumerate(draw(st.lists(_EVENTS, max_size=4)))
    ]
    head = draw(st.sampled_from([None, *ids]))
    chat = Chat(chat_id, OWNER, "Title", draw(_TEXTS), draw(_TEXTS), "Docs", head, NOON, NOON)
    return WholeChat(chat, draw(_DATA), messages, runs, events, [], {})


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sharing, Ledger, Path]]:
    folder = tmp_path_factory.mktemp("shared")
    database = Database(folder / "agentkit.duckdb")
    ledger = Ledger(database)
    yield Sharing(folder, ledger), ledger, folder
    database.close()


@hypothesis.settings(max_examples=60)
@hypothesis.given(tree=_trees())
def test_any_tree_comes_back_as_it_was(
    shared: tuple[Sharing, Ledger, Path], tree: WholeChat
) -> None:
    sharing, ledger, folder = shared
    if ledger.count_chats(OWNER) == 0 or tree.chat.id not in _chat_ids(ledger):
        store_whole(ledger, tree)
    first, second = there_and_back(sharing, tree.chat.id, folder)
    assert named_by_order(second) == named_by_order(first)
    told = json.loads(first)
    assert [one["content"] for one in told["messages"]] == [one["content"] for one in tree.messages]


def _chat_ids(ledger: Ledger) -> list[str]:
    return [one.id for one in ledger.chats(OWNER, limit=10_000)]


# Files that are not whole chats.


def _doubled(file: dict[str, Any]) -> None:
    file["messages"].append(file["messages"][0])


def _circle(file: dict[str, Any]) -> None:
    file["messages"][0]["parent_id"] = file["messages"][1]["id"]


def _lost(file: dict[str, Any]) -> None:
    file["messages"][0]["parent_id"] = "0" * 32


def _no_title(file: dict[str, Any]) -> None:
    del file["chat"]["title"]


def _more(file: dict[str, Any]) -> None:
    file["extra"] = 1


def _newer(file: dict[str, Any]) -> None:
    file["version"] = 2


def _other_program(file: dict[str, Any]) -> None:
    file["format"] = "chat of something else"


def _long_name(file: dict[str, Any]) -> None:
    file["chat"]["title"] = "x" * 2_000


def _wrong_citations(file: dict[str, Any]) -> None:
    file["messages"][1]["extra"]["citations"] = [{"marker": "first"}]


def _wrong_question(file: dict[str, Any]) -> None:
    file["messages"][0]["extra"]["scope"] = "everything"


def _wrong_event(file: dict[str, Any]) -> None:
    for event in file["runs"][0]["events"]:
        if event["kind"] == "Retrieved":
            event["data"]["hits"] = "none"


def _no_json_number(file: dict[str, Any]) -> None:
    file["chat"]["settings"]["level"] = float("nan")


def _wrong_part(file: dict[str, Any]) -> None:
    name = next(iter(file["requests"]))
    file["requests"][name] = '{"role":"user","content":"Something else."}'


def _endless_requests(file: dict[str, Any]) -> None:
    run = file["runs"][0]
    for event in run["events"]:
        if event["data"].get("sent"):
            event["data"]["sent"]["base"] = [run["id"], event["seq"]]


def _huge_requests(file: dict[str, Any]) -> None:
    """Lists that double the one before, twenty times and more."""
    run = file["runs"][0]
    last = {"kind": "ModelCalled", "happened_at": "2026-03-01T12:00:00Z"}
    sent: dict[str, Any] = {"frame": None, "tools": None, "base": None, "list": ["a", "b"]}
    for seq in range(1_000, 1_030):
        data = {"call_id": "c", "agent": "A", "provider": "p", "model": "m", "sent": sent}
        run["events"].append({**last, "seq": seq, "data": data})
        sent = {**sent, "base": [run["id"], seq], "list": [[0, 2**40], [0, 2**40]]}


def _wrong_kept(file: dict[str, Any]) -> None:
    file["kept"]["0" * 64 + ".png"] = "aGVsbG8="


def _path_for_kept(file: dict[str, Any]) -> None:
    file["kept"]["../../agentkit.duckdb"] = "aGVsbG8="


def _cell_of_another_chat(file: dict[str, Any]) -> None:
    event = {"kind": "CodeBegan", "seq": 2_000, "happened_at": "2026-03-01T12:00:00Z"}
    data = {"cell_id": "c", "agent": "A", "language": "python", "code": "", "chat_id": "../x"}
    file["runs"][0]["events"].append({**event, "data": data})


def _wrong_level(file: dict[str, Any]) -> None:
    file["chat"]["settings"]["level"] = ["all"]


def _wrong_narrowing(file: dict[str, Any]) -> None:
    file["chat"]["settings"]["narrowed"] = {"a collection": "narrow"}


def _narrowing_without_scope(file: dict[str, Any]) -> None:
    file["chat"]["settings"]["narrowed"] = {"a collection": {"fields": {}}}


def _list_for_a_chat(file: dict[str, Any]) -> None:
    event = {"kind": "OfAnotherVersion", "seq": 2_000, "happened_at": "2026-03-01T12:00:00Z"}
    file["runs"][0]["events"].append({**event, "data": {"chat_id": ["x"]}})


def _impossible_time(file: dict[str, Any]) -> None:
    file["chat"]["created_at"] = "0001-01-01T00:00:00Z"


WRONG: dict[str, tuple[Change, str]] = {
    "a newer version": (_newer, "written by a newer version of agentkit"),
    "another program": (_other_program, "no chat that agentkit wrote"),
    "an id twice": (_doubled, "is there twice"),
    "a circle": (_circle, "follows itself"),
    "a parent that is lost": (_lost, "there is nothing with the id 000"),
    "something missing": (_no_title, "not a whole chat: chat.title"),
    "something unknown": (_more, "not a whole chat: extra"),
    "a long name": (_long_name, "chat.title"),
    "citations": (_wrong_citations, "what goes with the message"),
    "a question": (_wrong_question, "what goes with the message"),
    "an event": (_wrong_event, "does not fit its kind Retrieved"),
    "no number": (_no_json_number, "not JSON"),
    "a request": (_wrong_part, "is not what its name says"),
    "requests in a circle": (_endless_requests, "refers to itself"),
    "requests without end": (_huge_requests, "have no end"),
    "what was kept": (_wrong_kept, "is not the file that its name says"),
    "a path": (_path_for_kept, "not a whole chat: kept"),
    "another chat's cell": (_cell_of_another_chat, "names another chat"),
    "a level": (_wrong_level, "what is set in the chat as level cannot be read"),
    "a narrowing": (_wrong_narrowing, "what is set in the chat as narrowed cannot be read"),
    "a narrowing to nothing": (
        _narrowing_without_scope,
        "what is set in the chat as narrowed cannot be read",
    ),
    "a list for a chat": (_list_for_a_chat, "names another chat"),
    "a time": (_impossible_time, "chat.created_at"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_damaged_or_hostile_file_is_told_and_leaves_nothing(
    workspace: Workspace, chat: Chat, tmp_path: Path, what: str
) -> None:
    change, told = WRONG[what]
    path = workspace.sharing.export(OWNER, chat.id, tmp_path / "chat.json")
    file = json.loads(path.read_text())
    change(file)
    path.write_text(json.dumps(file))
    before = _count_rows(workspace)
    with pytest.raises(DamagedDocument, match=re.escape(told)):
        workspace.sharing.load(OWNER, path, "theirs.json")
    assert _count_rows(workspace) == before


def _count_rows(workspace: Workspace) -> list[int]:
    tables = ("chats", "messages", "runs", "events", "llm_calls", "request_parts")
    kept = len(list((workspace.settings.data / "kernels").glob("*")))
    found = [workspace.database.value(f"select count(*) from {table}") for table in tables]
    return [*found, kept]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not JSON, or was cut off"),
        (b"# A title\n", "not JSON, or was cut off"),
        (b"\xff\xfe\x00", "not JSON, or was cut off"),
        (b"[1, 2]", "no chat that agentkit wrote"),
        (b'"text"', "no chat that agentkit wrote"),
        (b"[" * 100_000, "nested deeper"),
        (b"1" * 10_000, "not JSON, or was cut off"),
        (b'{"format": "agentkit chat", "version": 1}', "not a whole chat: chat"),
        (b'{"format": "agentkit chat", "version": "new"}', "not a whole chat: version"),
        (b'{"format": "agentkit chat", "version": 1e999}', "not JSON, or was cut off"),
    ],
)
def test_what_is_no_chat_is_told(content: bytes, told: str) -> None:
    with pytest.raises(DamagedDocument, match=told):
        reading.parse(content, "file.json")


def test_a_file_cut_off_anywhere_is_told(workspace: Workspace, chat: Chat, tmp_path: Path) -> None:
    path = workspace.sharing.export(OWNER, chat.id, tmp_path / "chat.json")
    content = path.read_bytes()
    for length in range(0, len(content) - 1, len(content) // 40):
        with pytest.raises(DamagedDocument, match="cut off"):
            reading.parse(content[:length], "file.json")


def test_a_gigabyte_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(DocumentTooLarge, match=r"huge.json has 1,000 MB; .* has 200 MB at most"):
        reading.read(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"There is no file gone.json"):
        reading.read(tmp_path / "gone.json")


def test_a_chat_of_somebody_else_is_not_exported(
    workspace: Workspace, chat: Chat, tmp_path: Path
) -> None:
    with pytest.raises(NotFound):
        workspace.sharing.export("somebody else", chat.id, tmp_path / "chat.json")


def test_what_the_rows_hold_is_all_there(workspace: Workspace, chat: Chat) -> None:
    whole = read_whole(workspace.ledger, OWNER, chat.id)
    kinds = {event["kind"] for event in whole.events}
    assert {RunStarted.__name__, ModelCalled.__name__, ModelReplied.__name__} <= kinds
    assert len(whole.runs) == 3
    assert whole.requests


def test_the_schema_beside_the_documents_is_that_of_the_models() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == form.make_schema()

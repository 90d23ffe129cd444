"""Data folders that earlier versions wrote open, with all that was in them."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentkit.core.rates import FREE
from agentkit.database import backups
from agentkit.ledger import queries
from agentkit.ledger.bill.budgets import Budget
from agentkit.ledger.bill.own_prices import OwnPrice
from agentkit.ledger.bill.repricing import find_changes
from agentkit.ledger.spending import Window
from agentkit.llm import connections
from agentkit.llm.prices import price
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.data.contents import OWNER, contents

PACKS = sorted((Path(__file__).parent / "data").glob("folder-*.tar.xz"))
MOST_BYTES = 2**20


@pytest.fixture(params=PACKS, ids=lambda pack: pack.name.removesuffix(".tar.xz"))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An unpacked folder, with `contents.json` beside `data`."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def recorded(folder: Path) -> dict[str, Any]:
    """What was found in it when it was made."""
    found: dict[str, Any] = json.loads((folder / "contents.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def workspace(folder: Path) -> Iterator[Workspace]:
    opened = Workspace(Settings(data=folder / "data", owner=OWNER), FakeEmbedder())
    yield opened
    opened.close()


def missing(recorded: Any, found: Any, where: str = "") -> list[str]:
    """Where something that was recorded is not there or different; what is new does not matter."""
    if isinstance(recorded, Mapping) and isinstance(found, Mapping):
        return [
            problem
            for key, value in recorded.items()
            for problem in missing(value, found.get(key, "(nothing)"), f"{where}/{key}")
        ]
    if (
        isinstance(recorded, Sequence)
        and not isinstance(recorded, str)
        and len(recorded) == len(found)
    ):
        return [
            problem
            for number, pair in enumerate(zip(recorded, found, strict=True))
            for problem in missing(*pair, f"{where}/{number}")
        ]
    if where.endswith("/cost") and recorded is None and found == 0.0:
        return []  # of a server on this machine: its calls were unpriced then, and are free now
    if "/best/" in where and recorded and found:
        return []  # which of the documents comes first is up to the way of searching
    return [] if recorded == found else [f"{where}: {recorded!r} was recorded, {found!r} is there"]


def test_there_are_packs_and_they_are_small() -> None:
    assert PACKS
    assert all(pack.stat().st_size < MOST_BYTES for pack in PACKS)


def test_all_that_was_in_an_old_folder_is_found(
    workspace: Workspace, recorded: dict[str, Any]
) -> None:
    found = contents(workspace, recorded["heads"])
    parts = ("chats", "runs", "calls", "collections", "question_sets", "connections", "vectors")
    assert all(recorded[part] for part in parts)
    assert missing({part: recorded[part] for part in parts}, found) == []


def test_what_was_going_on_when_the_old_version_was_killed_is_marked(
    workspace: Workspace, recorded: dict[str, Any]
) -> None:
    killed = recorded["interrupted"]
    runs = {run["id"]: run for run in queries.runs(workspace.ledger, OWNER)}
    assert [runs[number]["state"] for number in killed["runs"]] == ["interrupted"] * 2
    (asked,) = workspace.ledger.thread(OWNER, killed["chat"])
    assert asked.content.startswith("Please stop here")
    (held,) = workspace.library.documents(OWNER, killed["collection"])
    assert held.status == "failed"
    (done,) = workspace.retry(OWNER, [held.id]).result()
    assert done.status == "indexed"


def test_every_citation_of_an_old_chat_opens_its_passage(
    workspace: Workspace, recorded: dict[str, Any]
) -> None:
    opened = 0
    for chat_id, heads in recorded["heads"].items():
        for said in (
            one for head in heads for one in workspace.ledger.thread(OWNER, chat_id, head)
        ):
            for citation in said.extra.get("citations", []):
                text = workspace.library.text(OWNER, citation["document_id"])
                assert text[citation["start"] : citation["end"]] == citation["text"]
                opened += 1
    assert opened >= 10


def test_what_old_calls_sent_is_taken_out_of_their_events_after_a_backup(
    workspace: Workspace, recorded: dict[str, Any]
) -> None:
    events = [
        one
        for run in recorded["runs"].values()
        for one in run["events"]
        if one["kind"] == "ModelCalled" and one["messages"]
    ]
    assert len(events) > 10
    for one in events:
        request = workspace.ledger.request_of(OWNER, one["call_id"])
        assert request.messages == one["messages"]
        assert request.json == json.dumps(
            {"messages": one["messages"]}, ensure_ascii=False, separators=(",", ":")
        )
    database = workspace.ledger.database
    sql = "select cast(data as varchar) as data from events where kind = 'ModelCalled'"
    told = [row["data"] for row in database.rows(sql)]
    assert len(told) >= len(events)
    assert not any('"messages"' in one for one in told)
    assert [one.path.name.split(".")[1] for one in backups(database.path)] in (
        ["ledger-1"],
        ["ledger-3"],
    )


def test_an_old_folder_goes_on_being_used(workspace: Workspace, recorded: dict[str, Any]) -> None:
    chat_id = next(iter(recorded["heads"]))
    before = len(workspace.ledger.thread(OWNER, chat_id))
    asked = workspace.ask(
        OWNER, "How long is the Danube?", collection="Rivers", chat_id=chat_id, model_id="offline"
    )
    asked.result()
    assert len(workspace.ledger.thread(OWNER, chat_id)) == before + 2
    (exported,) = (workspace.settings.data / "exports").iterdir()
    made = workspace.import_collection(OWNER, exported, "Back again").result()
    assert made.documents == len(recorded["collections"]["Rivers"]["documents"])
    assert workspace.library.check() == []
    assert not list(workspace.settings.data.glob("indexes/*/shown.sqlite*")), "replaced by Arrow"
    assert [one.name for one in connections(workspace.settings)] == ["Ours", "Other"]


def test_an_old_folder_takes_prices_and_budgets_and_knows_what_was_spent(
    workspace: Workspace,
) -> None:
    bill = workspace.bill
    assert (bill.prices.history(), bill.budgets.history()) == ([], [])
    bill.prices.enter(OwnPrice("gateway.example", "", FREE))
    bill.budgets.enter(Budget("chat", "tokens", 10.0))
    calls = queries.totals(workspace.ledger, queries.CallFilter(OWNER))
    spent = bill.spending.measure(Window(OWNER))
    assert spent.tokens == calls.prompt_tokens + calls.completion_tokens > 0
    assert spent.unpriced == calls.unpriced
    anew = find_changes(workspace.ledger, queries.CallFilter(OWNER), price)
    assert all(change.calls > 0 for change in anew)

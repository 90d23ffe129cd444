"""The API as a program sees it that speaks HTTP: what it answers, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentkit.api.routes import Service
from agentkit.messages import new_id
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(Settings(data=tmp_path / "data"), FakeEmbedder())
    yield workspace
    workspace.close()


@pytest.fixture
def api(workspace: Workspace) -> TestClient:
    return TestClient(Service(workspace, largest=2_000).application)


def body(**changes: Any) -> dict[str, Any]:
    """A call with an id of its own: one that has ended is known for a moment more."""
    return {"id": new_id(), "pid": 1, "settings": {}, "arguments": {"owner": "me"}, **changes}


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_call_answers_with_lines(api: TestClient, workspace: Workspace) -> None:
    assert api.get("/v1").json()["api"] == 1
    workspace.library.create_collection("me", "Books")
    answer = api.post("/v1/call/library/collections", json=body())
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    ((found,),) = [line["result"] for line in lines(answer.text)]
    assert found["name"] == "Books"


def test_what_happens_is_told_on_the_way_to_who_wants_to_hear(api: TestClient) -> None:
    asked = body(arguments={"owner": "me", "collection": "Books", "sources": []}, heard=True)
    run, *events, end = lines(api.post("/v1/call/workspace/ingest", json=asked).text)
    assert run["run"]["kind"] == "ingest"
    kinds = [(one["seq"], one["event"]["kind"]) for one in events]
    assert kinds == [(1, "RunStarted"), (2, "RunFinished")]
    assert end == {"result": []}
    search = {"owner": "me", "collection": "Books", "query": "paid", "mode": "lexical"}
    asked = body(arguments=search, heard=True)
    told = [*lines(api.post("/v1/call/library/retrieve", json=asked).text)]
    assert [list(line) for line in told] == [["event"], ["result"]]
    asked = body(arguments=search)
    told = [*lines(api.post("/v1/call/library/retrieve", json=asked).text)]
    assert [list(line) for line in told] == [["result"]]


def test_an_error_is_the_last_line(api: TestClient) -> None:
    asked = body(arguments={"owner": "me", "name": "Nowhere"})
    (end,) = lines(api.post("/v1/call/library/collection", json=asked).text)
    assert end["error"]["type"] == "NotFound"
    assert end["error"]["says"].startswith("There is no collection 'Nowhere'")


@pytest.mark.parametrize(
    ("path", "sent", "status", "says"),
    [
        ("call/library/close", body(), 404, "nothing that other processes can ask for"),
        ("call/database/execute", body(), 404, "nothing that other processes can ask for"),
        ("call/library/collections", body(more=1), 400, "Extra inputs are not permitted"),
        ("call/library/collections", body(id=1), 400, "should be a valid string"),
        ("call/library/collections", body(arguments={"owner": []}), 400, "understand owner"),
        ("call/library/collections", body(settings={"later": 1}), 400, "understand settings.later"),
        ("call/library/collections", body(id="x" * 2_000), 400, "larger than 2,000 bytes"),
        ("calls/none/stop", {}, 404, "That call is over"),
        ("calls/none/answer", {"text": "yes"}, 404, "That call is over"),
        ("calls/none/answer", {"text": 1}, 400, "should be a valid string"),
    ],
)
def test_what_is_refused_says_why(
    api: TestClient, path: str, sent: dict[str, Any], status: int, says: str
) -> None:
    answer = api.post(f"/v1/{path}", json=sent)
    assert answer.status_code == status
    assert says in answer.json()["error"]["says"]


def test_what_is_no_json_and_what_is_of_another_version_is_refused(api: TestClient) -> None:
    answer = api.post("/v1/call/library/collections", content=b"\xff{")
    assert (answer.status_code, "not JSON" in answer.json()["error"]["says"]) == (400, True)
    assert api.get("/v2").status_code == 404


def test_when_it_closes_nothing_more_is_begun(workspace: Workspace) -> None:
    service = Service(workspace)
    service.close(patient=True)
    api = TestClient(service.application)
    assert api.get("/v1").status_code == 503
    assert api.post("/v1/call/library/collections", json=body()).status_code == 503

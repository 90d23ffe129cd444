"""What stands around the pages: the health check, and errors that nobody expected."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import sys
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.runtime.scriptrunner.exec_code import modified_sys_path

from agentkit.database import Database, Values
from agentkit.errors import ConfigError
from agentkit.ui.shared import state
from agentkit.ui.shell import reruns, server
from agentkit.workspace import Workspace
from tests.servers.openai_server import OpenAIServer


def asked(client: tuple[str, int] = ("127.0.0.1", 50_000)) -> tuple[int, dict[str, object]]:
    answer = TestClient(Starlette(routes=server.ROUTES), client=client).get("/healthz")
    return answer.status_code, answer.json()


def test_a_sound_store_without_a_server_is_well(workspace: Workspace) -> None:
    model = {"ok": True, "name": "offline", "detail": ""}
    assert asked() == (200, {"status": "ok", "problem": "", "model": model})


def test_the_model_server_is_asked(workspace: Workspace) -> None:
    with OpenAIServer() as model_server:
        address = model_server.base_url
        workspace.settings = dataclasses.replace(workspace.settings, openai_base_url=address)
        status, found = asked()
        assert (status, found["status"]) == (200, "ok")
    status, found = asked()
    assert (status, found["status"]) == (200, "degraded")
    assert isinstance(found["model"], dict)
    assert "cannot be reached" in str(found["model"]["detail"])


def test_who_asks_from_elsewhere_learns_no_details_and_has_no_server_asked(
    workspace: Workspace,
) -> None:
    with OpenAIServer() as model_server:
        address = model_server.base_url
        workspace.settings = dataclasses.replace(workspace.settings, openai_base_url=address)
        assert asked(client=("192.0.2.7", 50_000)) == (200, {"status": "ok"})
        assert model_server.requests == []


def test_a_store_that_does_not_open_is_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    state.close()
    monkeypatch.setenv("AGENTKIT_MAX_PAGES", "many")
    status, found = asked()
    assert (status, found["status"]) == (503, "failing")
    assert "AGENTKIT_MAX_PAGES" in str(found["problem"])


def test_health_does_not_look_at_every_document(workspace: Workspace) -> None:
    """Its one statement reads no table that grows with the documents."""
    statements: list[str] = []

    class Counted(Database):
        def value(self, sql: str, values: Values = ()) -> Any:
            statements.append(sql)
            return super().value(sql, values)

    database = workspace.database
    try:
        workspace.database = Counted(database.path.with_name("other.duckdb"))
        workspace.database.execute("create table chats (id varchar)")
        assert asked()[0] == 200
        workspace.database.close()
    finally:
        workspace.database = database
    assert statements[-1:] == ["select 1 from chats limit 1"]


def test_a_look_at_a_page_leaves_the_import_path_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(server, "_warm", lambda: None)
    monkeypatch.setattr(reruns, "mend", lambda: None)  # of all tests after this one

    async def look() -> tuple[list[str], list[str]]:
        async with server.lifespan(None):
            before = list(sys.path)
            with modified_sys_path(str(server.SCRIPT)):
                return before, list(sys.path)

    before, during = asyncio.run(look())
    assert during == before


def test_unexpected_errors_are_logged_under_a_number(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert server.show_error(ValueError("inner working"))
        assert server.show_error(ConfigError("AGENTKIT_X is wrong"))
    [record] = caplog.records
    assert record.exc_info
    assert record.message.startswith("error ")

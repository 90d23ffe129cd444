"""What stands around the pages: the health check, and errors that nobody expected."""

from __future__ import annotations

import dataclasses
import logging

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from agentkit.errors import ConfigError
from agentkit.ui import server, state
from agentkit.workspace import Workspace
from tests.servers.openai_server import OpenAIServer


def asked() -> tuple[int, dict[str, object]]:
    answer = TestClient(Starlette(routes=server.ROUTES)).get("/healthz")
    return answer.status_code, answer.json()


def test_a_sound_store_without_a_server_is_well(workspace: Workspace) -> None:
    assert asked() == (200, {"status": "ok", "problems": [], "model": {"ok": True, "name": "offline", "detail": ""}})


def test_the_model_server_is_asked(workspace: Workspace) -> None:
    with OpenAIServer() as model_server:
        workspace.settings = dataclasses.replace(workspace.settings, openai_base_url=model_server.base_url)
        status, found = asked()
        assert (status, found["status"]) == (200, "ok")
    status, found = asked()
    assert (status, found["status"]) == (200, "degraded")
    assert isinstance(found["model"], dict)
    assert "cannot be reached" in str(found["model"]["detail"])


def test_a_store_that_does_not_open_is_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    state.close()
    monkeypatch.setenv("AGENTKIT_MAX_PAGES", "many")
    status, found = asked()
    assert (status, found["status"]) == (503, "failing")
    assert "AGENTKIT_MAX_PAGES" in str(found["problems"])


def test_unexpected_errors_are_logged_under_a_number(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert server.show_error(ValueError("inner working"))
        assert server.show_error(ConfigError("AGENTKIT_X is wrong"))
    [record] = caplog.records
    assert record.exc_info
    assert record.message.startswith("error ")

"""The Settings page: connections and their test against a real server, the store's health, limits; no secret on the page."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.llm import Connection, connections, save_connection
from agentkit.settings import Settings
from agentkit.ui import state
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import open_page, settle
from tests.app.test_documents import TEA, Ingest, texts
from tests.servers.openai_server import Answer, OpenAIServer

KEY = "sk-a-secret-nobody-may-see"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda body: Answer("ready"), models=("tiny", "large")) as running:
        yield running


def saved(workspace: ScriptableWorkspace) -> list[Connection]:
    return connections(workspace.settings)


def fill(app: AppTest, name: str = "", address: str = "", key: str = "", models: str = "") -> AppTest:
    """Fill what is given into the open dialog and save."""
    for field, value in (("name", name), ("address", address), ("key", key)):
        if value:
            app.text_input(key=f"connection-{field}").set_value(value)
    if models:
        app.text_area(key="connection-models").set_value(models)
    app.button(key="save-connection").click().run()
    return app


def everything(app: AppTest) -> str:
    """All that is sent to the browser."""
    shown = (*app.main, *app.sidebar, *app.text_input, *app.text_area)  # the last two for dialogs, which are outside
    return "\n".join(str(element.proto) for element in shown if hasattr(element, "proto")) + texts(app)


def test_a_connection_is_added_tested_changed_and_deleted(workspace: ScriptableWorkspace, server: OpenAIServer) -> None:
    app = open_page("settings")
    app.button(key="add-connection").click().run()
    fill(app, "Ours", f"127.0.0.1:{server.port}", KEY, "tiny\n")
    assert saved(workspace) == [Connection("Ours", server.base_url, KEY, ("tiny",), "saved")]
    assert [model.id for model in workspace.models()] == ["Ours/tiny", "offline"]
    app.button(key="test-Ours").click().run()
    assert [one.value.split(",")[0] for one in app.success][:2] == ["**List models**", "**Ask tiny**"]
    assert "large (4,096 tokens)" in texts(app)
    app.menu_button(key="menu-Ours").click("Edit").run()
    assert app.text_input(key="connection-key").value == "", "a key is never shown again"
    fill(app, models="tiny\nlarge")
    assert saved(workspace) == [Connection("Ours", server.base_url, KEY, ("tiny", "large"), "saved")]
    assert KEY not in everything(app)
    app.menu_button(key="menu-Ours").click("Delete").run()
    app.button(key="delete-connection").click().run()
    assert not saved(workspace)


def test_a_key_does_not_go_along_to_another_server(workspace: ScriptableWorkspace, server: OpenAIServer) -> None:
    ours = save_connection(workspace.settings, Connection("Ours", "http://127.0.0.1:9/v1", KEY, ("tiny",)))
    app = open_page("settings")
    app.menu_button(key="menu-Ours").click("Edit").run()
    fill(app, address=server.base_url)
    assert "given for http://127.0.0.1:9/v1" in app.error[0].value.replace("\\", "")
    assert saved(workspace) == [ours]
    fill(app, key="another-key")
    (there,) = saved(workspace)
    assert (there.base_url, there.api_key) == (server.base_url, "another-key")
    app.button(key="test-Ours").click().run()
    assert {asked.headers["authorization"] for asked in server.requests} == {"Bearer another-key"}
    app.menu_button(key="menu-Ours").click("Edit").run()
    app.checkbox[0].check()
    fill(app, address="http://127.0.0.1:9/v1")
    assert saved(workspace) == [dataclasses.replace(ours, api_key="")]
    assert KEY not in everything(app)


def test_what_a_test_of_a_connection_takes_is_counted(workspace: ScriptableWorkspace) -> None:
    with OpenAIServer(lambda body: Answer("ready"), models=("tiny", "embedder")) as server:
        save_connection(workspace.settings, Connection("Ours", server.base_url, KEY))
        app = open_page("settings")
        app.button(key="test-Ours").click().run()
        settle(app)
        posted = [asked for asked in server.requests if asked.body]
    sql = "select model, purpose, status, agent, run_id, cost, input_tokens + cache_read_tokens as tokens from llm_calls"
    rows = workspace.database.rows(f"{sql} order by finished_at")
    assert [row["model"] for row in rows] == ["tiny", "embedder"]
    assert len(rows) == len(posted)
    assert {(row["purpose"], row["status"], row["agent"]) for row in rows} == {("test", "ok", "Connection test")}
    assert {(row["run_id"], row["cost"]) for row in rows} == {(None, 0.0)}
    assert min(row["tokens"] for row in rows) > 0


def test_a_failing_server_shows_its_exact_error(workspace: ScriptableWorkspace) -> None:
    refusal = Answer(status=401, error={"message": "Wrong key for this house."})
    with OpenAIServer(lambda body: refusal, models=("tiny",)) as server:
        save_connection(workspace.settings, Connection("Theirs", server.base_url, KEY))
        app = open_page("settings")
        app.button(key="test-Theirs").click().run()
    assert "**Ask tiny**" in app.error[0].value
    assert "Wrong key for this house" in app.error[0].value.replace("\\", "")
    assert KEY not in everything(app)


def test_bad_values_are_refused_with_a_reason(workspace: ScriptableWorkspace) -> None:
    save_connection(workspace.settings, Connection("Ours", "http://localhost:1/v1"))
    app = open_page("settings")
    app.button(key="add-connection").click().run()
    fill(app, "Ours", "http://localhost:2/v1")
    assert "There is a connection of this name already" in texts(app)
    fill(app, "Other", "no address at all")
    assert "is no address of a model server" in texts(app)
    assert [one.base_url for one in saved(workspace)] == ["http://localhost:1/v1"]


def test_the_environments_connection_is_listed_and_cannot_be_changed(workspace: ScriptableWorkspace) -> None:
    workspace.settings = dataclasses.replace(workspace.settings, openai_base_url="http://localhost:9/v1", openai_api_key=KEY)
    app = open_page("settings")
    assert "set by the environment or the secrets file" in texts(app)
    assert "a key is set" in texts(app)
    assert len(app.menu_button) == 0
    assert KEY not in everything(app)


def test_a_damaged_list_of_connections_says_what_to_do(workspace: ScriptableWorkspace) -> None:
    (workspace.settings.data / "connections.json").write_text("{", encoding="utf-8")
    app = open_page("settings")
    assert "correct or remove it" in app.error[0].value.replace("\\", "")
    assert [one.value for one in app.header] == ["Models", "Tools", "Store", "Limits", "Versions"]


def test_what_is_wrong_with_the_store_is_told_with_advice(workspace: ScriptableWorkspace, ingest: Ingest) -> None:
    ingest("Kitchen", {"tea.md": TEA})
    app = open_page("settings")
    assert "agree" in app.success[0].value
    for path in (workspace.settings.data / "files").rglob("*"):
        if path.is_file():
            path.unlink()
    app.run()
    assert "The original of tea.md is missing" in app.error[0].value.replace("\\", "")
    assert "**Take the file in once more" in app.error[0].value


def test_limits_are_those_in_force_with_their_variables(tmp_path: Path) -> None:
    state.use(ScriptableWorkspace(Settings(data=tmp_path / "data", max_file_mb=7, allow_private_urls=True)))
    try:
        limits = open_page("settings").table[0].value
    finally:
        state.close()
    shown = dict(zip(limits["Environment variable"], limits["In force"], strict=True))
    assert shown["`AGENTKIT_MAX_FILE_MB`"] == "7 MB"
    assert shown["`AGENTKIT_ALLOW_PRIVATE_URLS`"] == "allowed"
    assert shown["`AGENTKIT_MAX_CHARS`"] == "20,000,000 characters"
    fields = {f"`AGENTKIT_{field.name.upper()}`" for field in dataclasses.fields(Settings)}
    assert set(shown) <= fields


def test_the_file_of_connections_is_for_its_owner_alone(workspace: ScriptableWorkspace) -> None:
    app = open_page("settings")
    app.button(key="add-connection").click().run()
    fill(app, "Ours", "localhost:1", KEY)
    path = workspace.settings.data / "connections.json"
    assert path.stat().st_mode & 0o077 == 0
    assert json.loads(path.read_text())[0]["api_key"] == KEY

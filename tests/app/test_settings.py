"""The Settings page: connections and their test against a real server, the store's health, limits;
no secret on the page.
"""

from __future__ import annotations

import dataclasses
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.errors import LimitReached
from agentkit.llm import Connection, connections, save_connection
from agentkit.retrieval import Source
from agentkit.settings import CHOOSABLE, Settings
from agentkit.ui.settings.limits import LIMITS
from agentkit.ui.shared import state
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts
from tests.app.test_documents import TEA, Ingest
from tests.app.test_server import asked
from tests.servers.openai_server import Answer, OpenAIServer
from tests.servers.raw_server import RawServer, measured

KEY = "sk-a-secret-nobody-may-see"
HEADERS = [
    "Models",
    "Tools",
    "Answers",
    "Store",
    "Sending runs",
    "Limits",
    "Budgets",
    "Prices",
    "Versions",
]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda body: Answer("ready"), models=("tiny", "large")) as running:
        yield running


def saved(workspace: ScriptableWorkspace) -> list[Connection]:
    return connections(workspace.settings)


def fill(
    app: AppTest, name: str = "", address: str = "", key: str = "", models: str = ""
) -> AppTest:
    """Fill what is given into the open dialog and save."""
    for field, value in (("name", name), ("address", address), ("key", key)):
        if value:
            app.text_input(key=f"connection-{field}").set_value(value)
    if models:
        app.text_area(key="connection-models").set_value(models)
    app.button(key="save-connection").click().run()
    return app


def try_out(app: AppTest, name: str) -> AppTest:
    """Test the connection of that name, to the end."""
    app.button(key=f"test-{name}").click().run()
    return settle(app)


def everything(app: AppTest) -> str:
    """All that is sent to the browser."""
    shown = (
        *app.main,
        *app.sidebar,
        *app.text_input,
        *app.text_area,
    )  # the last two for dialogs, which are outside
    return "\n".join(str(element.proto) for element in shown if hasattr(element, "proto")) + texts(
        app
    )


def test_a_connection_is_added_tested_changed_and_deleted(
    workspace: ScriptableWorkspace, server: OpenAIServer
) -> None:
    app = open_page("settings")
    app.button(key="add-connection").click().run()
    fill(app, "Ours", f"127.0.0.1:{server.port}", KEY, "tiny\n")
    assert saved(workspace) == [Connection("Ours", server.base_url, KEY, ("tiny",), "saved")]
    assert [model.id for model in workspace.models()] == ["Ours/tiny", "offline"]
    try_out(app, "Ours")
    assert [one.value.split(",")[0] for one in app.success][:2] == [
        "**List models**",
        "**Ask tiny**",
    ]
    assert "large: 4,096 tokens" in texts(app)
    app.menu_button(key="server-menu-Ours").click("Edit").run()
    assert app.text_input(key="connection-key").value == "", "a key is never shown again"
    fill(app, models="tiny\nlarge")
    (kept,) = saved(workspace)
    assert (kept.models, kept.contexts) == (("tiny", "large"), {"tiny": 4096})
    assert "tiny takes 4,096 tokens" in texts(app)
    assert KEY not in everything(app)
    app.menu_button(key="server-menu-Ours").click("Delete").run()
    app.button(key="delete-connection").click().run()
    assert not saved(workspace)


def test_a_key_does_not_go_along_to_another_server(
    workspace: ScriptableWorkspace, server: OpenAIServer
) -> None:
    ours = save_connection(
        workspace.settings, Connection("Ours", "http://127.0.0.1:9/v1", KEY, ("tiny",))
    )
    app = open_page("settings")
    app.menu_button(key="server-menu-Ours").click("Edit").run()
    fill(app, address=server.base_url)
    assert "given for http://127.0.0.1:9/v1" in app.error[0].value.replace("\\", "")
    assert saved(workspace) == [ours]
    fill(app, key="another-key")
    (there,) = saved(workspace)
    assert (there.base_url, there.api_key) == (server.base_url, "another-key")
    try_out(app, "Ours")
    assert {one.headers["authorization"] for one in server.requests} == {"Bearer another-key"}
    app.menu_button(key="server-menu-Ours").click("Edit").run()
    app.checkbox[0].check()
    fill(app, address="http://127.0.0.1:9/v1")
    assert saved(workspace) == [dataclasses.replace(ours, api_key="")], (
        "what was found out is another server's"
    )
    assert KEY not in everything(app)


def test_what_a_test_of_a_connection_takes_is_counted(workspace: ScriptableWorkspace) -> None:
    with OpenAIServer(lambda body: Answer("ready"), models=("tiny", "embedder")) as server:
        save_connection(workspace.settings, Connection("Ours", server.base_url, KEY))
        app = open_page("settings")
        app.button(key="test-Ours").click().run()
        settle(app)
        posted = [asked for asked in server.requests if asked.body]
    sql = (
        "select model, purpose, status, agent, run_id, cost, input_tokens + cache_read_tokens as"
        " tokens from llm_calls"
    )
    rows = workspace.database.rows(f"{sql} order by finished_at")
    assert [row["model"] for row in rows] == ["tiny", "embedder"]
    assert len(rows) == len(posted)
    assert {(row["purpose"], row["status"], row["agent"]) for row in rows} == {
        ("test", "ok", "Connection test")
    }
    assert {(row["run_id"], row["cost"]) for row in rows} == {(None, 0.0)}
    assert min(row["tokens"] for row in rows) > 0


def test_a_failing_server_shows_its_exact_error(workspace: ScriptableWorkspace) -> None:
    refusal = Answer(status=401, error={"message": "Wrong key for this house."})
    with OpenAIServer(lambda body: refusal, models=("tiny",)) as server:
        save_connection(workspace.settings, Connection("Theirs", server.base_url, KEY))
        app = open_page("settings")
        try_out(app, "Theirs")
    assert "**Ask tiny**" in app.error[0].value
    assert "Wrong key for this house" in app.error[0].value.replace("\\", "")
    assert KEY not in everything(app)


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found"])
def test_a_web_page_at_the_address_is_told_on_the_page_and_in_the_health(
    workspace: ScriptableWorkspace, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    with RawServer({"": measured(b"<html><body>Welcome!</body></html>", status=status)}) as site:
        save_connection(workspace.settings, Connection("Site", site.url("/v1"), models=("a",)))
        app = try_out(open_page("settings"), "Site")
        code, health = asked()
    assert len(app.error) == 2
    assert "Something went wrong" not in texts(app)
    assert [one.value for one in app.header] == HEADERS
    assert (code, health["status"]) == (200, "degraded")
    assert not [record for record in caplog.records if record.exc_info]


def test_a_test_of_a_server_that_hangs_leaves_the_page_usable_and_is_cancelled(
    workspace: ScriptableWorkspace,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        save_connection(workspace.settings, Connection("Slow", address, models=("a",)))
        app = open_page("settings")
        app.button(key="test-Slow").click().run()
        assert "for 10 s at most" in texts(app)
        assert app.button(key="cancel-Slow").label == "Cancel"
        assert [one.value for one in app.header] == HEADERS
        app.button(key="cancel-Slow").click().run()
        assert not runs.live(OWNER) or runs.live(OWNER)[0].stopping
        settle(app)
    assert [one.value for one in app.info] == ["The test was cancelled."]


def test_a_context_that_is_cut_is_told(workspace: ScriptableWorkspace) -> None:
    beside = {
        "/api/ps": {"models": [{"name": "tiny:latest", "context_length": 4096}]},
        "/api/show": {"model_info": {"general.architecture": "l", "l.context_length": 131_072}},
    }
    with OpenAIServer(
        lambda body: Answer("ready"), models=("tiny",), windows=False, beside=beside
    ) as ollama:
        save_connection(workspace.settings, Connection("Ours", ollama.base_url))
        app = try_out(open_page("settings"), "Ours")
    (told,) = [one.value for one in app.warning]
    assert "4,096 tokens; the model was made for 131,072" in told
    assert "OLLAMA\\_CONTEXT\\_LENGTH" in told


def test_azure_is_added_by_its_own_fields(
    workspace: ScriptableWorkspace, server: OpenAIServer
) -> None:
    app = open_page("settings")
    app.button(key="add-connection").click().run()
    app.segmented_control(key="connection-kind").set_value("azure").run()
    app.text_area(key="connection-embedding-models").set_value("embedder")
    fill(app, "Azure", f"http://127.0.0.1:{server.port}", KEY, "chat")
    assert "Azure needs one such as 2024-10-21" in texts(app)
    app.text_input(key="connection-api-version").set_value("2024-10-21")
    fill(app)
    (kept,) = saved(workspace)
    assert (kept.kind, kept.models, kept.api_version) == ("azure", ("chat",), "2024-10-21")
    try_out(app, "Azure")
    assert "embedder gives 3 numbers a vector" in texts(app)
    assert "Deployments: chat" in texts(app)
    app.menu_button(key="server-menu-Azure").click("Edit").run()
    assert app.text_area(key="connection-models").label == "Deployments, one a line"
    assert "The last test showed: embedder gives 3 numbers a vector." in [
        one.value for one in app.caption
    ]
    run = workspace.ask(
        OWNER, "How hot?", collection=workspace.library.create_collection(OWNER, "Kitchen").name
    )
    assert run.result().text == "ready"
    assert server.requests[-1].path == "/openai/deployments/chat/chat/completions"


def test_bad_values_are_refused_with_a_reason(workspace: ScriptableWorkspace) -> None:
    save_connection(workspace.settings, Connection("Ours", "http://localhost:1/v1"))
    app = open_page("settings")
    app.button(key="add-connection").click().run()
    fill(app, "Ours", "http://localhost:2/v1")
    assert "There is a connection of this name already" in texts(app)
    fill(app, "Other", "no address at all")
    assert "is not an address of a model server" in texts(app)
    assert [one.base_url for one in saved(workspace)] == ["http://localhost:1/v1"]


def test_the_environments_connection_is_listed_and_cannot_be_changed(
    workspace: ScriptableWorkspace,
) -> None:
    workspace.settings = dataclasses.replace(
        workspace.settings, openai_base_url="http://localhost:9/v1", openai_api_key=KEY
    )
    app = open_page("settings")
    assert "set by the environment or the secrets file" in texts(app)
    assert texts(app).count("localhost") == 1, "its name is a part of the address"
    assert "a key is set" in texts(app)
    assert len(app.menu_button) == 0
    assert KEY not in everything(app)


def test_a_damaged_list_of_connections_says_what_to_do(workspace: ScriptableWorkspace) -> None:
    (workspace.settings.data / "connections.json").write_text("{", encoding="utf-8")
    app = open_page("settings")
    assert "correct or remove it" in app.error[0].value.replace("\\", "")
    assert [one.value for one in app.header] == HEADERS


def test_what_is_wrong_with_the_store_is_told_with_advice(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
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
    state.use(
        ScriptableWorkspace(
            Settings(data=tmp_path / "data", max_file_mb=7, allow_private_urls=True)
        )
    )
    try:
        shown = [one.value for one in open_page("settings").markdown]
    finally:
        state.close()
    assert "Largest file: **7 MB** :small[chosen here]" in shown
    assert "Most text of a document: **20,000,000 characters**" in shown
    assert "Most money in a chat: **no limit**" in shown
    assert [one for one in shown if one.startswith("Private web addresses: **allowed**")]
    assert set(LIMITS) == set(CHOOSABLE) - {"default_model", "resume", "followups", "fetch_pages"}


def change(app: AppTest, name: str, text: str) -> AppTest:
    """Enter a limit in its dialog and save."""
    app.button(key=f"change-{name}").click().run()
    app.text_input(key="limit-value").set_value(text)
    app.button(key="save-limit").click().run()
    return app


def test_a_limit_that_is_chosen_counts_for_the_next_question_and_upload(
    workspace: ScriptableWorkspace, ingest: Ingest, tmp_path: Path
) -> None:
    ingest("Kitchen", {"tea.md": TEA})
    workspace.script("Green tea takes 80 degrees [1].", "Green tea takes 80 degrees [1].")
    app = change(open_page("settings"), "run_tokens", "30")
    assert "Most tokens for a question: **30 tokens** :small[chosen here]" in texts(app)
    with pytest.raises(LimitReached, match=r"30 tokens was reached.* at once on the Settings page"):
        workspace.ask(OWNER, "How hot?", collection="Kitchen", model_id="scripted").result()
    change(app, "run_tokens", "30,000")
    assert workspace.ask(OWNER, "How hot?", collection="Kitchen", model_id="scripted").result().text
    change(app, "max_file_mb", "1")
    large = tmp_path / "large.txt"
    large.write_text("word " * 300_000)
    (done,) = workspace.ingest(OWNER, "Kitchen", [Source("large.txt", large, str(large))]).result()
    assert done.status == "failed"
    assert "AGENTKIT_MAX_FILE_MB" in done.error
    app.button(key="change-max_file_mb").click().run()
    app.button(key="reset-limit").click().run()
    assert "Largest file: **50 MB**" in [one.value for one in app.markdown]
    (done,) = workspace.ingest(OWNER, "Kitchen", [Source("large.txt", large, str(large))]).result()
    assert done.status == "indexed"
    assert json.loads((workspace.settings.data / "settings.json").read_text()) == {
        "run_tokens": 30_000
    }


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "max_file_mb",
            "1.9",
            "Largest file: enter a whole number above 0, such as 50, not '1.9'.",
        ),
        (
            "max_file_mb",
            "",
            "Largest file: enter a whole number above 0, such as 50, not 'nothing'.",
        ),
        ("max_pages", "5.000", "enter a whole number above 0, such as 5,000, not '5.000'."),
        ("run_tokens", "-3", "such as 50,000, or nothing for no limit, not '-3'."),
        ("run_tokens", "1,50", ", not '1,50'."),
        ("run_tokens", "9" * 16, "a whole number of at most 15 digits, or nothing for no limit"),
        (
            "run_dollars",
            "0",
            "enter a number above 0, such as 0.50, or nothing for no limit, not '0'.",
        ),
        ("run_dollars", "1e400", ", not '1e400'."),
        ("chat_dollars", "€ 5", ", not '€ 5'."),
        ("read_timeout_s", "٣٣", ", not '٣٣'."),
    ],
)
def test_what_is_no_limit_is_told_at_its_field(
    workspace: ScriptableWorkspace, name: str, text: str, told: str
) -> None:
    app = change(open_page("settings"), name, text)
    assert told in app.error[0].value.replace("\\", "")
    assert not (workspace.settings.data / "settings.json").exists()


def test_a_limit_of_the_environment_wins_and_says_so(
    workspace: ScriptableWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTKIT_RUN_TOKENS", "9000")
    monkeypatch.setenv("AGENTKIT_DEFAULT_MODEL", "offline")
    app = open_page("settings")
    assert "set by AGENTKIT_RUN_TOKENS" in texts(app).replace("\\", "")
    assert "change-run_tokens" not in [button.key for button in app.button]
    assert app.selectbox(key="default-model").disabled
    assert "Set by AGENTKIT_DEFAULT_MODEL, which wins" in texts(app).replace("\\", "")


def begins_with(app: AppTest) -> str:
    """The model that a new chat begins with, on the chat page."""
    return str(open_page("chat").selectbox(key="model-new").value)


def test_the_model_of_new_chats_is_chosen(workspace: ScriptableWorkspace, ingest: Ingest) -> None:
    ingest("Kitchen", {"tea.md": TEA})
    for name in ("One", "Two"):
        save_connection(
            workspace.settings, Connection(name, "http://localhost:1/v1", KEY, ("tiny", "large"))
        )
    app = open_page("settings")
    assert app.selectbox(key="default-model").value == ""
    assert begins_with(app) == "One/tiny"
    app.selectbox(key="default-model").set_value("Two/large").run()
    assert begins_with(app) == "Two/large"
    workspace.ask(OWNER, "How hot?", collection="Kitchen", model_id="offline").result()
    assert begins_with(app) == "Two/large", "the chat before had another one"
    assert workspace.model().id == "Two/large"
    app.menu_button(key="server-menu-One").click("Edit").run()
    fill(app, models="other")
    assert [one.name for one in saved(workspace)] == ["One", "Two"]
    app.menu_button(key="server-menu-Two").click("Delete").run()
    assert "New chats begin with large; after that, with other." in app.warning[0].value.replace(
        "\\", ""
    )
    app.button(key="delete-connection").click().run()
    assert workspace.settings.default_model == ""
    assert workspace.model().id == "One/other"


def test_a_default_that_is_gone_is_told(workspace: ScriptableWorkspace) -> None:
    save_connection(
        workspace.settings, Connection("One", "http://localhost:1/v1", KEY, ("tiny", "large"))
    )
    app = open_page("settings")
    app.selectbox(key="default-model").set_value("One/large").run()
    app.menu_button(key="server-menu-One").click("Edit").run()
    fill(app, models="tiny")
    assert "**One/large**, is not offered any more: new chats begin with tiny." in app.warning[
        0
    ].value.replace("\\", "")
    app.selectbox(key="default-model").set_value("offline").run()
    assert not app.warning
    assert begins_with(app) == "offline"
    status, health = asked()
    assert (status, health["model"]) == (200, {"ok": True, "name": "offline", "detail": ""})


def test_the_file_of_connections_is_for_its_owner_alone(workspace: ScriptableWorkspace) -> None:
    app = open_page("settings")
    app.button(key="add-connection").click().run()
    fill(app, "Ours", "localhost:1", KEY)
    path = workspace.settings.data / "connections.json"
    assert path.stat().st_mode & 0o077 == 0
    assert json.loads(path.read_text())[0]["api_key"] == KEY


def test_whether_answers_go_on_by_themselves_is_chosen(
    workspace: ScriptableWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page("settings")
    assert app.toggle(key="resume-switch").value is False
    app.toggle(key="resume-switch").set_value(True).run()
    assert workspace.settings.resume
    assert json.loads((workspace.settings.data / "settings.json").read_text()) == {"resume": True}
    assert open_page("settings").toggle(key="resume-switch").value is True
    monkeypatch.setenv("AGENTKIT_RESUME", "0")
    fixed = open_page("settings")
    assert fixed.toggle(key="resume-switch").disabled
    assert any("which wins over a choice here" in one.value for one in fixed.caption)

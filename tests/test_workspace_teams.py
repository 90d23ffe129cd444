"""Teams that people built, asked in a workspace: kept in versions, tried before, and gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import ConfigError, NotFound
from agentkit.events import MessageSent
from agentkit.ledger import queries
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.settings import Settings
from agentkit.teams import Question, team_from_json
from agentkit.teams.built.dry import SAID
from agentkit.workspace import Workspace
from agentkit.workspace.trying import try_team
from tests.api.doors import WHERE, opened
from tests.servers.openai_server import OpenAIServer, answer_from_passages
from tests.teams.built import drafts

RIVER = "The Danube is 2,850 kilometres long and ends in the Black Sea."
ASKED = "How long is the Danube?"


@pytest.fixture(params=WHERE)
def workspace(
    tmp_path: Path, owner: str, shared_server: OpenAIServer, request: pytest.FixtureRequest
) -> Iterator[Workspace]:
    shared_server.script = answer_from_passages
    shared_server.requests.clear()
    settings = Settings(
        data=tmp_path / "data",
        owner=owner,
        openai_base_url=shared_server.base_url,
        openai_model="test-model",
    )
    with opened(settings, FakeEmbedder(), request.param) as workspace:
        for collection in ("Documents", "Rivers"):
            ingest(workspace, owner, tmp_path / f"{collection}.txt", collection)
        yield workspace


def ingest(workspace: Workspace, owner: str, path: Path, collection: str) -> None:
    path.write_text(RIVER)
    source = Source(path.name, path, f"upload:{path.name}")
    workspace.ingest(owner, collection, [source]).result()


def test_a_kept_team_is_found_asked_and_gone(workspace: Workspace, owner: str) -> None:
    kept = workspace.save_team(owner, drafts.retrieve_chat())
    assert workspace.teams(owner)[-1].name == workspace.team(owner, kept.id).name == "RetrieveChat"
    run = workspace.ask(owner, Question(ASKED, "Documents", kept.key))
    assert run.result().text.startswith("The Danube is 2,850 kilometres long")
    chat = workspace.ledger.chat(owner, run.chat_id or "")
    newer = workspace.save_team(owner, {**drafts.retrieve_chat(), "name": "Newer"}, kept.id)
    assert workspace.team(owner, chat.team).name == "RetrieveChat"
    assert workspace.team(owner, newer.key).name == "Newer"
    workspace.kept_teams.delete(owner, kept.id)
    with pytest.raises(NotFound, match="may have been deleted"):
        workspace.ask(owner, ASKED, team_id=kept.key, collection="Documents")
    workspace.kept_teams.restore(owner, kept.id)
    assert [one.version for one in workspace.kept_teams.versions(owner, kept.id)] == [2, 1]


def test_a_document_is_asked_and_kept_once(workspace: Workspace, owner: str) -> None:
    for _ in range(2):
        workspace.ask(owner, ASKED, collection="Documents", team=drafts.single()).result()
    [kept] = workspace.kept_teams.newest(owner)
    assert [chat.team for chat in workspace.ledger.chats(owner)] == [kept.key] * 2


def test_agents_look_into_another_collection_with_another_model(
    workspace: Workspace, owner: str, shared_server: OpenAIServer
) -> None:
    model = {"model": workspace.models()[0].id}
    document: dict[str, Any] = drafts.single(llm=model)
    document["agents"][0]["documents"] = {"collection": "Rivers"}
    workspace.ask(owner, ASKED, collection="Documents", team=document).result()
    assert [one["model"] for one in shared_server.chats] == ["test-model"]
    document["agents"][0]["llm"] = {"model": "gone/model"}
    with pytest.raises(NotFound, match="gone/model"):
        workspace.ask(owner, ASKED, collection="Documents", team=document).result()


@pytest.mark.parametrize(
    "document",
    [
        *(drafts.single(), drafts.pair(), drafts.group(), drafts.queue(), drafts.retrieve_chat()),
        *(drafts.plan(), drafts.cited_answer(), drafts.research()),
    ],
    ids=lambda document: document["name"],
)
def test_a_dry_run_shows_the_way_and_asks_nobody(
    tmp_path: Path, owner: str, shared_server: OpenAIServer, document: dict[str, Any]
) -> None:
    shared_server.requests.clear()
    with opened(Settings(data=tmp_path / "data", owner=owner), FakeEmbedder(), "here") as workspace:
        ingest(workspace, owner, tmp_path / "rivers.txt", "Documents")
        run = try_team(workspace, owner, document, Question(ASKED, "Documents"), dry=True)
        assert SAID.partition("{")[0] in run.result().text
        assert queries.run_state(workspace.ledger, owner, run.id).state == "finished"
        assert workspace.ledger.chats(owner) == []
    assert shared_server.requests == []


@pytest.mark.parametrize("parser", ["json", "tags"])
def test_a_dry_run_of_a_discussion_ends_in_a_vote(tmp_path: Path, owner: str, parser: str) -> None:
    document = drafts.discussion()
    document["flow"]["parser"] = parser
    with opened(Settings(data=tmp_path / "data", owner=owner), FakeEmbedder(), "here") as workspace:
        workspace.library.create_collection(owner, "Documents")
        run = try_team(workspace, owner, document, Question(ASKED, "Documents"), dry=True)
        assert "| Agent | Vote |" in run.result().text
    said = [one.event for one in run.events() if isinstance(one.event, MessageSent)]
    assert [one.sender for one in said].count("Ann") == 2


def test_a_team_in_python_is_made_of_its_document() -> None:
    assert team_from_json(drafts.group()).agents == ("Ann", "Bob", "Cid")
    with pytest.raises(ConfigError, match="newer"):
        team_from_json({**drafts.group(), "version": 9})

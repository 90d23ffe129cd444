"""Pictures that go along with a question reach the model as OpenAI has them, are kept with the
chat, and are told of where nobody sees them.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentkit.errors import DamagedDocument, NotFound, WrongArgument
from agentkit.events import ModelCalled, ParameterRefused
from agentkit.ledger import queries
from agentkit.llm import sight
from agentkit.llm.calls.pictures import PLACE, Picture
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.settings import Settings
from agentkit.teams import Question
from agentkit.ui.exports import as_html, as_markdown
from agentkit.workspace import Workspace, kernels, pictures
from agentkit.workspace.sharing import reading
from tests.servers.openai_server import Answer, OpenAIServer

RIVER = "The Danube is 2,850 kilometres long and ends in the Black Sea."
ASKED = "What does this chart say about the Danube?"
SEEN = "It shows a red field."


@pytest.fixture
def server(shared_server: OpenAIServer) -> Iterator[OpenAIServer]:
    shared_server.script = lambda body: Answer(SEEN)
    shared_server.requests.clear()
    sight._blind.clear()
    yield shared_server
    sight._blind.clear()


@pytest.fixture
def workspace(tmp_path: Path, owner: str, server: OpenAIServer) -> Iterator[Workspace]:
    settings = Settings(
        data=tmp_path / "data",
        owner=owner,
        openai_base_url=server.base_url,
        openai_model="test-model",
    )
    opened = Workspace(settings, FakeEmbedder())
    path = tmp_path / "river.txt"
    path.write_text(RIVER)
    opened.ingest(owner, "Rivers", [Source(path.name, path, "upload:river.txt")]).result()
    yield opened
    opened.close()


@pytest.fixture
def chart(workspace: Workspace, tmp_path: Path) -> Picture:
    path = tmp_path / "chart.png"
    Image.new("RGB", (300, 200), "red").save(path)
    return pictures.prepare(workspace.settings, path, "chart.png")


def ask(workspace: Workspace, owner: str, **facts: Any) -> tuple[str, str]:
    """Ask the question; gives the ids of the run and of its chat."""
    run = workspace.ask(owner, Question(ASKED, **{"collection": "Rivers", **facts}))
    run.result()
    return run.id, run.chat_id or ""


def pictures_in(body: dict[str, Any]) -> list[tuple[str, str]]:
    """The words and the address of each message of a request that has a picture."""
    return [
        (one["content"][0]["text"], one["content"][1]["image_url"]["url"])
        for one in body["messages"]
        if isinstance(one["content"], list)
    ]


def told_of(workspace: Workspace, owner: str, *runs: str) -> list[tuple[str, str]]:
    told = queries.told(workspace.ledger, owner, list(runs), ParameterRefused)
    return [(event.parameter, event.wished) for _, event in told]


@pytest.mark.parametrize("team", ["answer", "assistant"])
def test_a_picture_goes_with_its_question_and_its_bytes_stay_out_of_the_ledger(
    workspace: Workspace, owner: str, server: OpenAIServer, chart: Picture, team: str
) -> None:
    run_id, chat_id = ask(workspace, owner, pictures=(chart,), team_id=team)
    ((words, address),) = pictures_in(server.chats[-1])
    assert words == ASKED
    head, _, content = address.partition(",")
    assert head == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(content))).size == (300, 200)

    requests = [
        workspace.ledger.request_of(owner, event.call_id)
        for _, event in queries.told(workspace.ledger, owner, [run_id], ModelCalled)
        if event.purpose == "chat"
    ]
    kept = requests[0].json
    assert f"{PLACE}{chart.kept}#300x200" in kept
    assert content not in kept

    asked = workspace.ledger.thread(owner, chat_id)[0]
    (stored,) = Question.from_message(asked).pictures
    assert (stored.name, stored.chat_id) == ("chart.png", chat_id)
    assert pictures.read(workspace.settings.data, stored) == base64.b64decode(content)
    workspace.delete_chat(owner, chat_id)
    with pytest.raises(NotFound, match="attach it once more"):
        pictures.read(workspace.settings.data, stored)


def test_the_next_question_knows_the_picture_by_its_name_and_again_shows_it_again(
    workspace: Workspace, owner: str, server: OpenAIServer, chart: Picture
) -> None:
    _, chat_id = ask(workspace, owner, pictures=(chart,))
    run = workspace.ask(owner, Question("And then?", "Rivers", chat_id=chat_id))
    run.result()
    last = server.chats[-1]
    assert not pictures_in(last)
    assert "chart.png" in json.dumps(last["messages"])
    first = workspace.ledger.thread(owner, chat_id)[0]
    workspace.ask_again(owner, chat_id, first.id).result()
    assert len(pictures_in(server.chats[-1])) == 1


@pytest.mark.parametrize(
    "words",
    [
        "Invalid content type. image_url is only supported by certain models.",
        "test-model is not a multimodal model",
        "messages[1]: unknown variant `image_url`, expected `text`",
        "'messages.1' : content must be a string",
    ],
)
def test_a_server_that_refuses_pictures_is_asked_without_them_once_and_for_all(
    workspace: Workspace, owner: str, server: OpenAIServer, chart: Picture, words: str
) -> None:
    def refuse(body: dict[str, Any]) -> Answer:
        if pictures_in(body):
            return Answer(status=400, error={"message": words})
        return Answer(SEEN)

    server.script = refuse
    first, chat_id = ask(workspace, owner, pictures=(chart,))
    assert told_of(workspace, owner, first) == [("pictures", "chart.png")]
    assert "chart.png" in str(server.chats[-1]["messages"][-1])
    sight._blind.clear()  # as after a restart
    ask(workspace, owner, pictures=(chart,), chat_id=chat_id)
    assert sum(bool(pictures_in(body)) for body in server.chats) == 1


def test_what_is_wrong_with_a_picture_is_no_blindness(
    workspace: Workspace, owner: str, server: OpenAIServer, chart: Picture
) -> None:
    words = "image exceeds 5 MB maximum"
    server.script = lambda body: Answer(status=400, error={"message": words})
    run = workspace.ask(owner, Question(ASKED, "Rivers", pictures=(chart,)))
    with pytest.raises(Exception, match=words):
        run.result()
    assert not sight._blind


def test_the_offline_model_answers_from_the_documents_and_says_that_it_cannot_see(
    workspace: Workspace, owner: str, chart: Picture
) -> None:
    run = workspace.ask(
        owner,
        Question("How long is the Danube?", "Rivers", model_id="offline", pictures=(chart,)),
    )
    assert "2,850" in run.result().text
    assert told_of(workspace, owner, run.id) == [("pictures", "chart.png")]


def test_a_chat_with_a_picture_goes_out_as_a_file_and_comes_back_whole(
    workspace: Workspace, owner: str, tmp_path: Path, chart: Picture
) -> None:
    _, chat_id = ask(workspace, owner, pictures=(chart,))
    file = workspace.sharing.export(owner, chat_id, tmp_path / "chat.json")
    content = reading.read(file).kept[chart.kept]
    for write in (as_markdown.write_chat, as_html.write_page):
        text = write(reading.read(file))
        assert f"data:image/png;base64,{content}" in text
        assert "chart" in text
    loaded = workspace.sharing.load(owner, file)
    (stored,) = Question.from_message(workspace.ledger.thread(owner, loaded.id)[0]).pictures
    assert stored.chat_id == loaded.id
    assert pictures.read(workspace.settings.data, stored)
    assert kernels.find_kept(workspace.settings.data, loaded.id).find(chart.kept).is_file()


def test_a_file_that_names_pictures_of_another_chat_is_refused(
    workspace: Workspace, owner: str, tmp_path: Path, chart: Picture
) -> None:
    _, chat_id = ask(workspace, owner, pictures=(chart,))
    file = workspace.sharing.export(owner, chat_id, tmp_path / "chat.json")
    told = json.loads(file.read_text())
    told["messages"][0]["extra"]["pictures"][0]["chat_id"] = "../elsewhere"
    file.write_text(json.dumps(told))
    with pytest.raises(DamagedDocument, match="pictures of another chat"):
        workspace.sharing.load(owner, file)


def test_a_picture_that_is_gone_is_not_asked_about(
    workspace: Workspace, owner: str, chart: Picture
) -> None:
    (workspace.settings.data / pictures.WAITING / chart.kept).unlink()
    with pytest.raises(NotFound, match=r"chart\.png is not there any more"):
        ask(workspace, owner, pictures=(chart,))
    assert workspace.ledger.chats(owner) == []


@pytest.mark.parametrize("kept", ["../../secret.png", "chart.png", f"{'0' * 64}.exe"])
def test_nothing_else_is_taken_for_a_picture(kept: str) -> None:
    with pytest.raises(WrongArgument):
        Picture("chart.png", kept, 1, 1)

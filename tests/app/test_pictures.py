"""Pictures that go with a question: what they take is told before, and whether anybody sees."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from agentkit.llm import Model
from agentkit.llm.calls.pictures import Picture
from agentkit.llm.calls.scripted import ScriptedClient
from agentkit.teams import Question
from agentkit.ui.composer import pictures as chosen
from agentkit.workspace import pictures
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts


class Seeing(ScriptedClient):
    """Says what it was asked with."""

    def __init__(self, name: str) -> None:
        super().__init__(self._say)
        self.model = Model("seeing", "Seeing", self, name, "scripted")
        self.asked: list[Mapping[str, Any]] = []

    def _say(self, request: Mapping[str, Any]) -> str:
        self.asked.append(request)
        return "A red field."

    @property
    def last(self) -> Any:
        """What was asked last."""
        return self.asked[-1]["messages"][-1]["content"]


def add(workspace: ScriptableWorkspace, name: str) -> Seeing:
    """Add a model of this name that is asked by default."""
    client = Seeing(name)
    workspace.added.insert(0, client.model)
    return client


def choose(workspace: ScriptableWorkspace, tmp_path: Path) -> Picture:
    """Let a picture go with the first question of a new chat."""
    path = tmp_path / "chart.png"
    Image.new("RGB", (1024, 1024), "red").save(path)
    picture = pictures.prepare(workspace.settings, path, "chart.png")
    told = Question("", pictures=(picture,)).to_json()["pictures"]
    workspace.ledger.set(OWNER, "", "pictures", told)
    return picture


def test_what_a_picture_takes_is_told_before_it_is_sent_and_it_goes_with_one_question(
    workspace: ScriptableWorkspace,
    ingest: Callable[[str, dict[str, str]], None],
    tmp_path: Path,
) -> None:
    ingest("Documents", {"tea.md": "Green tea is brewed at 70 degrees."})
    client = add(workspace, "gpt-4o")
    choose(workspace, tmp_path)
    app = open_page("chat")
    shown = texts(app)
    assert "1 picture: about 765 tokens (estimate)" in shown
    assert "Seeing sees pictures." in shown
    app.chat_input[0].set_value("What is this?").run()
    settle(app)
    assert "image_url" in str(client.last)
    assert "1 picture:" not in texts(app)
    app.chat_input[0].set_value("And now?").run()
    settle(app)
    assert client.last == "And now?"
    assert "chart.png" in str(client.asked[-1]["messages"])


def test_a_model_that_does_not_see_is_told_of_before_and_after(
    workspace: ScriptableWorkspace,
    ingest: Callable[[str, dict[str, str]], None],
    tmp_path: Path,
) -> None:
    ingest("Documents", {"tea.md": "Green tea is brewed at 70 degrees."})
    client = add(workspace, "gpt-3.5-turbo")
    choose(workspace, tmp_path)
    app = open_page("chat")
    assert "Seeing does not see pictures" in texts(app)
    app.chat_input[0].set_value("What is this?").run()
    settle(app)
    assert "you cannot see them: chart.png" in str(client.last)
    assert "The model gpt-3.5-turbo does not see pictures" in texts(app)


def test_a_picture_can_be_taken_away_again(workspace: ScriptableWorkspace, tmp_path: Path) -> None:
    choose(workspace, tmp_path)
    app = open_page("chat")
    (remove,) = [one for one in app.button if one.label.startswith("Remove ")]
    remove.click().run()
    assert "1 picture:" not in texts(app)
    assert workspace.ledger.settings(OWNER, "").get("pictures") is None


def test_what_is_wrong_with_one_file_keeps_the_others(workspace: ScriptableWorkspace) -> None:
    good, bad = io.BytesIO(), io.BytesIO(b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    Image.new("RGB", (20, 10)).save(good, "PNG")
    good.name, bad.name = "good.png", "drawing.png"
    made, problems = chosen.prepare([good, bad])
    assert [one.name for one in made] == ["good.png"]
    assert [problem.partition(" ")[0] for problem in problems] == ["drawing.png"]

"""The kernel of a chat of a data folder: it lives from question to question, its cells run again
after a restart when somebody asks for it, and it goes with its chat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentkit.coding.chat_kernel.pool import shared_pool
from agentkit.errors import ConfigError, NotFound, Stopped
from agentkit.event_json import from_json, to_json
from agentkit.events import CodeOutput, CodeRan, HumanInputRequested
from agentkit.ledger import Chat, StoredMessage, queries
from agentkit.llm import Model
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.messages import text_of
from agentkit.retrieval import FakeEmbedder
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.workspace import Workspace, kernels

OWNER = "me"
LOAD = "import pandas as pd\nfares = pd.DataFrame({'day': [1, 2], 'euros': [3, 4]})\nfares"
PICTURE = "from PIL import Image\nImage.new('RGB', (4, 2))"


class Scripted(Workspace):
    """A workspace whose model sends each question as code, and then says that it is done."""

    def __init__(self, folder: Path) -> None:
        self.chosen = scripted_model(_send_code)
        super().__init__(Settings(data=folder / "data"), FakeEmbedder())
        if not self.library.collections(OWNER):
            self.library.create_collection(OWNER, "Documents")

    def model(self, model_id: str = "") -> Model:
        """That one."""
        return self.chosen

    def run_code(
        self, code: str, chat_id: str | None = None, parent_id: str | None = None
    ) -> Run[Any]:
        """Ask for code to be run, and approve it; the run has ended."""
        facts = {"collection": "Documents", "team_id": "tools", "parent_id": parent_id}
        run: Run[Any] = self.ask(OWNER, code, chat_id=chat_id, **facts)  # type: ignore[arg-type]
        for one in run:
            if isinstance(one.event, HumanInputRequested):
                run.answer("approve", one.event.request_id)
        return run

    def again(self, chat: Chat) -> Run[None]:
        """Run the cells again."""
        return kernels.run_again(self.settings.data, self.ledger, OWNER, chat)

    def sent(self) -> list[str]:
        """The messages that the model was sent last."""
        assert isinstance(self.chosen.client, ScriptedClient)
        messages = self.chosen.client.requests[-1]["messages"]
        return [text_of(one["content"]) for one in messages]

    def instructions(self) -> str:
        """What the model was instructed last."""
        return self.sent()[0]


def _send_code(request: Mapping[str, Any]) -> str:
    said = text_of(request["messages"][-1]["content"])
    return "Done.\nTERMINATE" if said.startswith("exitcode") else f"```python\n{said}\n```"


@contextmanager
def opened(folder: Path) -> Iterator[Scripted]:
    workspace = Scripted(folder)
    try:
        yield workspace
    finally:
        workspace.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Scripted]:
    with opened(tmp_path) as made:
        yield made


def ran_in(run: Run[Any]) -> list[CodeRan]:
    return [one.event for one in run.events() if isinstance(one.event, CodeRan)]


def chat_of(workspace: Scripted, run: Run[Any]) -> Chat:
    assert run.chat_id is not None
    return workspace.ledger.chat(OWNER, run.chat_id)


def last_of(thread: Sequence[StoredMessage], count: int) -> list[tuple[str, str, str]]:
    return [(said.role, said.content, said.status) for said in thread[-count:]]


def test_variables_live_on_and_events_are_stored_without_what_is_kept(workspace: Scripted) -> None:
    first = workspace.run_code(f"{LOAD}\ndisplay(fares)\n{PICTURE}")
    second = workspace.run_code("int(fares.euros.sum())", first.chat_id)
    assert ran_in(second)[0].output == "7\n"
    assert "Alive in the kernel: fares (DataFrame, 2 × 2)." in workspace.instructions()
    stored = [one.event for one in queries.events(workspace.ledger, OWNER, first.id)]
    (ran,) = [event for event in stored if isinstance(event, CodeRan)]
    assert [ran] == ran_in(first)
    assert ran.cell is not None
    assert [one["kind"] for one in ran.cell.outputs] == ["table", "picture"]
    assert from_json(to_json(ran)) == ran
    assert not [event for event in stored if isinstance(event, CodeOutput)]
    kept = kernels.find_kept(workspace.settings.data, str(first.chat_id))
    assert kept.read(ran.cell.outputs[1]["kept"]).startswith(b"\x89PNG")


def test_what_is_kept_of_a_chat_is_private(workspace: Scripted) -> None:
    run = workspace.run_code(PICTURE)
    folder = workspace.settings.data / "kernels"
    for place in (folder, folder / str(run.chat_id), folder / str(run.chat_id) / "shown"):
        assert place.stat().st_mode & 0o077 == 0, place


def test_after_a_restart_the_cells_run_again_when_somebody_asks_for_it(tmp_path: Path) -> None:
    with opened(tmp_path) as workspace:
        first = workspace.run_code(LOAD)
        workspace.run_code("1 / 0", first.chat_id)
        workspace.run_code("total = int(fares.euros.sum())", first.chat_id)
    assert shared_pool().alive() == []
    with opened(tmp_path) as workspace:
        chat = chat_of(workspace, first)
        assert chat.id not in shared_pool().alive(), "nothing runs by itself"
        run = workspace.again(chat)
        assert run.wait(120)
        codes = [(ran.code, ran.exit_code) for ran in ran_in(run)]
        assert codes == [(LOAD, 0), ("total = int(fares.euros.sum())", 0)]
        thread = workspace.ledger.thread(OWNER, chat.id)
        assert last_of(thread, 2) == [("user", "", "complete"), ("assistant", "", "complete")]
        assert thread[-2].extra[kernels.AGAIN] == 2
        after = workspace.run_code("total", chat.id)
        assert ran_in(after)[0].output == "7\n"
        assert "Alive in the kernel: fares (DataFrame, 2 × 2), total (int)." in (
            workspace.instructions()
        )
        assert all(workspace.sent()), "a turn without words is not told to models"
        run = workspace.again(chat)
        run.wait(120)
        assert len(ran_in(run)) == 3, "each cell once, however often they ran again"


def test_a_restart_is_told_to_the_model_when_nobody_ran_the_cells_again(tmp_path: Path) -> None:
    with opened(tmp_path) as workspace:
        first = workspace.run_code(LOAD)
    with opened(tmp_path) as workspace:
        run = workspace.run_code("fares", first.chat_id)
        assert "Gone are: fares (DataFrame, 2 × 2)." in workspace.instructions()
        (ran,) = ran_in(run)
        assert ran.cell is not None
        assert (ran.cell.status, ran.cell.began_after) == ("error", "restarted")


def test_variables_of_one_branch_are_not_seen_on_another(workspace: Scripted) -> None:
    first = workspace.run_code("x = 1")
    parent = str(chat_of(workspace, first).head_id)
    secret = workspace.run_code("y = 2", first.chat_id)
    away = str(chat_of(workspace, first).head_id)
    (ran,) = ran_in(workspace.run_code("y", first.chat_id, parent))
    assert "Gone are: x (int)." in workspace.instructions()
    assert "NameError" in ran.output
    assert ran.cell is not None
    assert ran.cell.began_after == "branch"
    workspace.again(chat_of(workspace, first)).wait(120)
    run = workspace.run_code("x", first.chat_id)
    assert ran_in(run)[0].output == "1\n", "it goes on there"
    assert "Alive in the kernel: x (int)." in workspace.instructions()
    (ran,) = ran_in(workspace.run_code("sorted(set(dir()) & {'x', 'y'})", first.chat_id, ""))
    assert ran.output.endswith("\n[]\n"), "nor where there were no cells"
    workspace.run_code("x", secret.chat_id, away)
    assert "Gone are: x (int), y (int)." in workspace.instructions()


def test_running_again_ends_with_the_first_cell_that_fails(workspace: Scripted) -> None:
    first = workspace.run_code("import os\nx = 1")
    workspace.run_code("os.remove('once') if x > 1 else None", first.chat_id)
    workspace.run_code("open('once', 'x').close()", first.chat_id)
    workspace.run_code("y = 1", first.chat_id)
    shared_pool().end(str(first.chat_id))
    run = workspace.again(chat_of(workspace, first))
    run.wait(120)
    assert [ran.exit_code for ran in ran_in(run)] == [0, 0, 1]
    workspace.run_code("x", first.chat_id)


def test_cells_that_run_again_can_be_stopped(workspace: Scripted) -> None:
    first = workspace.run_code("import os, time\nprint('on', flush=True)")
    workspace.run_code("time.sleep(1000 if os.path.exists('slow') else 0)", first.chat_id)
    workspace.run_code("open('slow', 'w').close()", first.chat_id)
    shared_pool().end(str(first.chat_id))
    chat = chat_of(workspace, first)
    run = workspace.again(chat)
    next(one for one in run if isinstance(one.event, CodeRan))
    with pytest.raises(ConfigError, match="still answering"):
        workspace.again(chat)
    run.stop()
    with pytest.raises(Stopped):
        run.result()
    assert last_of(workspace.ledger.thread(OWNER, chat.id), 1) == [("assistant", "", "stopped")]


def test_a_chat_without_cells_has_none_to_run_again(workspace: Scripted) -> None:
    run = workspace.run_code("1 / 0")
    with pytest.raises(NotFound, match="no cells"):
        workspace.again(chat_of(workspace, run))


def test_a_deleted_chat_takes_its_kernel_and_its_folder_along(workspace: Scripted) -> None:
    run, other = workspace.run_code(PICTURE), workspace.run_code("x = 1")
    folder = workspace.settings.data / "kernels"
    assert len(list(folder.iterdir())) == 2
    workspace.delete_chat(OWNER, str(run.chat_id))
    assert [place.name for place in folder.iterdir()] == [other.chat_id]
    assert shared_pool().alive() == [other.chat_id]
    assert shared_pool().last_end(str(run.chat_id)) is None

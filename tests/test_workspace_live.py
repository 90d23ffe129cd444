"""Agents live from question to question, and what their models are sent is what the ledger gives:
whatever was asked, branched off, stopped, failed, cut off and put away before.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from agentkit import runs
from agentkit.core import stopping
from agentkit.errors import AgentkitError, BadModelReply
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.teams.live import Session
from agentkit.workspace.sessions import Sessions
from tests.soak import TIMES
from tests.test_workspace_sessions import OWNER, Scripted, ask, looks_once

TEAMS = ("group:round_robin", "group:manual", "assistant", "tools")
QUESTIONS = ("How long is the Danube?", "Tell me again?", "And now?")


@dataclass(frozen=True)
class Step:
    """Something that happens to a chat."""

    what: str
    team: str
    question: str
    place: int
    """Which of the answers so far it is about."""


STEPS = st.builds(
    Step,
    st.sampled_from(["ask", "ask", "ask", "branch", "again", "stop", "fail", "die", "put away"]),
    st.sampled_from([TEAMS[0], *TEAMS[2:]]),
    st.sampled_from(QUESTIONS),
    st.integers(0, 5),
)


def go_on(run: runs.Run[Any]) -> None:
    """Nothing happens to the run."""


def fail(run: runs.Run[Any]) -> None:
    raise BadModelReply("the model does not feel like it")


MOODS: dict[str, Callable[[runs.Run[Any]], None]] = {
    "stop": runs.Run.stop,
    "fail": fail,
    "die": runs.Run.leave,
}


def describe(run: runs.Run[Any]) -> object:
    answer = run.result()
    cited = [(one.marker, one.text) for one in answer.citations]
    return answer.text, cited, answer.checks, answer.end


@dataclass
class Stage:
    """A workspace in which one chat is talked over; nothing is kept in it where `most` is 0."""

    folder: Path
    most: int
    mood: str = ""
    asked: int = 0
    open: Scripted = field(init=False)
    chat: str | None = None
    heads: list[str] = field(default_factory=list)
    told: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = replace(scripted_model(self.reply), context_window=6_000)
        self.start()

    def start(self) -> None:
        self.open = Scripted(self.folder, self.model)
        self.open.sessions = Sessions(self.open.ledger, self.most)

    def reply(self, request: Mapping[str, Any]) -> Any:
        self.asked += 1
        run = runs.current()
        if run is not None and self.asked == 2:
            MOODS.get(self.mood, go_on)(run)
            stopping.check()
        return looks_once(request)

    def new_chat(self) -> None:
        self.chat, self.heads, self.told = None, [], []

    def take(self, step: Step) -> None:
        self.mood, self.asked = step.what, 0
        if step.what == "put away":
            self.open.sessions.forget(OWNER, str(self.chat))
            return
        heads = self.heads if step.what in ("branch", "again") else []
        parent = heads[step.place % len(heads)] if heads else ""
        with suppress(AgentkitError):
            run = self._ask(step, parent)
            self.chat = run.chat_id
            self.told.append(describe(run))
        if self.mood == "die":
            self.restart(run.id)
        self.heads.append(self.open.ledger.thread(OWNER, str(self.chat))[-1].id)

    def _ask(self, step: Step, parent: str) -> runs.Run[Any]:
        if step.what == "again" and parent:
            thread = self.open.ledger.thread(OWNER, str(self.chat), parent)
            question = [said for said in thread if said.role == "user"][-1]
            return self.open.ask_again(OWNER, str(self.chat), question.id, team_id=step.team)
        return self.open.ask(
            OWNER,
            step.question,
            collection="Rivers",
            team_id=step.team,
            chat_id=self.chat,
            parent_id=parent or None,
        )

    def restart(self, run_id: str) -> None:
        self.mood = ""
        self.open.close()
        self.start()
        with suppress(AgentkitError):  # nothing is left to go on with where it had ended
            self.told.append(describe(self.open.resume(OWNER, run_id)))

    def sent(self) -> list[dict[str, Any]]:
        assert isinstance(self.model.client, ScriptedClient)
        taken = [
            {name: request.get(name) for name in ("messages", "tools")}
            for request in self.model.client.requests
        ]
        self.model.client.requests.clear()
        return taken


@contextmanager
def two_stages(folder: Path) -> Iterator[tuple[Stage, Stage]]:
    """One whose agents live on, and one in which they are made anew for each question."""
    for name in ("live", "anew"):
        (folder / name).mkdir()
    live, anew = Stage(folder / "live", 32), Stage(folder / "anew", 0)
    try:
        yield live, anew
    finally:
        live.open.close()
        anew.open.close()


def test_what_models_are_sent_is_what_the_ledger_gives(tmp_path: Path) -> None:
    with two_stages(tmp_path) as (live, anew):

        @given(st.lists(STEPS, min_size=2, max_size=7))
        @settings(max_examples=8 * TIMES, deadline=None, phases=(Phase.generate,))
        def check(steps: Sequence[Step]) -> None:
            for stage in (live, anew):
                stage.new_chat()
                stage.take(Step("ask", TEAMS[0], QUESTIONS[0], 0))
            for step in steps:
                for stage in (live, anew):
                    stage.take(step)
                assert live.sent() == anew.sent(), step
            assert live.told == anew.told

        check()


@pytest.mark.parametrize("team", TEAMS[::2] + TEAMS[3:])
def test_the_agents_of_a_team_stay(tmp_path: Path, team: str) -> None:
    made: list[object] = []

    class Watching(Session):
        """Notes which agents work."""

        @contextmanager
        def crew(self, team: str, made_of: Sequence[object], build: Any) -> Iterator[Any]:
            with super().crew(team, made_of, build) as crew:
                made.append(crew)
                yield crew

    stage = Stage(tmp_path, 32)
    try:
        stage.take(Step("ask", team, QUESTIONS[0], 0))
        kept = stage.open.sessions.of(OWNER, str(stage.chat))
        kept.agents = Watching()
        for what in ("ask", "ask", "branch", "stop", "ask", "fail", "ask"):
            stage.take(Step(what, team, QUESTIONS[0], 0))
    finally:
        stage.open.close()
    first, second, branch, stopped, after, failed, last = made
    assert first is second is branch is stopped, "the same agents answer, on every branch"
    assert after is not stopped, "who was stopped in the middle of something goes"
    assert failed is after
    assert last is not failed


def test_agents_that_are_made_of_something_else_are_made_anew() -> None:
    session = Session()
    made = []
    for facts in (["a", 1], ["a", 1], ["b", 1], ["a", 1]):
        with session.crew("Team", facts, object) as crew:
            made.append(crew)
    first, same, other, back = made
    assert first is same
    assert len({id(first), id(other), id(back)}) == 3


def test_chats_are_put_away_by_number_and_time(tmp_path: Path) -> None:
    now = [0.0]
    stage = Stage(tmp_path, 32)
    try:
        sessions = Sessions(stage.open.ledger, 2, 60.0, lambda: now[0])
        first, second = sessions.of("me", "1"), sessions.of("me", "2")
        assert sessions.of("me", "1") is first
        assert sessions.of("you", "1") is not first, "by owner"
        assert (len(sessions), sessions.of("me", "1") is first) == (2, True)
        assert sessions.of("me", "2") is not second, "of three the one that was asked first went"
        now[0] = 61.0
        assert sessions.of("me", "3") is not first
        assert len(sessions) == 1, "nobody asked the others for a minute"
        sessions.forget("me", "3")
        assert len(sessions) == 0
    finally:
        stage.open.close()


def test_a_chat_that_is_open_somewhere_is_not_put_away(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 32)
    try:
        sessions = Sessions(stage.open.ledger, 1)
        held = sessions.open("me", "1")
        assert len(sessions) == 0, "nobody asked it anything"
        assert sessions.of("me", "1") is held
        sessions.of("me", "2")
        assert (len(sessions), sessions.of("me", "1") is held) == (1, True)
        sessions.forget("me", "1")
        assert sessions.open("me", "1") is not held
        sessions.of("me", "2")
        gone = weakref.ref(held)
        del held
        assert gone() is None, "nothing else holds it"
    finally:
        stage.open.close()


def test_a_deleted_chat_is_not_kept(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 32)
    try:
        run, _ = ask(stage.open, QUESTIONS[0], None, "assistant")
        assert len(stage.open.sessions) == 1
        stage.open.delete_chat(OWNER, run.chat_id)
        assert len(stage.open.sessions) == 0
    finally:
        stage.open.close()

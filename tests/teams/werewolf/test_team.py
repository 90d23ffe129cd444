"""Werewolf as a team of the app: what is told to whoever watches, and what is left when it is
stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentkit import runs
from agentkit.errors import ConfigError, ModelUnreachable, Stopped
from agentkit.events import Event, MessageSent, ReplyParsed
from agentkit.llm import Model
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.connections.config import offline_model
from agentkit.teams import Answer, Question, Task, team
from agentkit.teams.roster import PLAYERS
from tests.teams.stage import Played, look_up
from tests.teams.werewolf.table import Turn, players


def watch(
    model: Model, on_event: Callable[[Event, runs.Run[Answer]], None] = lambda event, run: None
) -> Played:
    task, played = Task(Question("Play!"), model, look_up, [], "answer", "question"), Played()
    run = runs.start(
        lambda: team("werewolf").work(task), kind="chat", owner="stage", chat_id="chat"
    )
    for recorded in run:
        played.events.append(recorded.event)
        on_event(recorded.event, run)
    try:
        played.result = run.result()
    except Exception as error:  # noqa: BLE001 (the test looks at it)
        played.error = error
    return played


def test_the_answer_says_who_has_won_who_was_who_and_what_happened(
    capsys: pytest.CaptureFixture[str],
) -> None:
    played = watch(scripted_model(players()))
    final = played.final
    assert (final.sender, final.recipient, final.status) == ("Moderator", "user", "complete")
    first, *lines = final.content.splitlines()
    assert first == "**The werewolves win: they are at least as many as the others.**"
    rows = [line for line in lines if line.startswith("| Player")][1:]
    assert [row.split(" | ")[0] for row in rows] == [f"| {name}" for name in PLAYERS]
    assert sum("| werewolf |" in row for row in rows) == 2
    assert sum("killed by the werewolves on day" in row for row in rows) == 2
    days = [line for line in lines if line.startswith("- ")]
    assert len(days) == 2
    assert "was killed by the werewolves; nobody was voted out (0 of 5 voted)." in days[0]
    assert final.extra["winner"] == "werewolves"
    assert sorted(final.extra["roles"]) == list(PLAYERS)
    assert played.result == Answer(final.content, ())
    assert capsys.readouterr().out == ""


def test_the_messages_follow_one_another_and_thoughts_are_no_messages() -> None:
    played = watch(scripted_model(players()))
    said = [event for event in played.of(MessageSent) if not event.extra.get("silent")]
    assert [each.parent_id for each in said] == ["question", *(each.id for each in said[:-1])]
    assert said[-1].id == "answer"
    assert (
        len({each.sender for each in said} - {"Moderator"}) >= 5
    )  # a villager may die before the first word
    assert not any("Secretly" in each.content for each in said)
    assert sum("Secretly" in str(event.fields) for event in played.of(ReplyParsed)) > 10


def test_the_nights_and_days_are_told_as_facts() -> None:
    told = [
        event.extra.get("metadata") for event in watch(scripted_model(players())).of(MessageSent)
    ]
    phases = [each["begins"] for each in told if isinstance(each, dict) and "begins" in each]
    assert phases[0] == {"phase": "night", "day": 1, "alive": list(PLAYERS)}
    assert [(each["phase"], each["day"]) for each in phases[:3]] == [
        ("night", 1),
        ("day", 1),
        ("night", 2),
    ]
    assert {*phases[1]["alive"], *phases[1]["died"]} == set(PLAYERS)


def test_who_is_voted_out_stands_in_the_answer() -> None:
    def vote(turn: Turn) -> str:
        return turn.options[0]

    played = watch(scripted_model(players(vote=vote)))
    assert "was voted out with" in played.final.content
    assert "voted out on day 1" in played.final.content
    days = [line for line in played.final.content.splitlines() if line.startswith("- ")]
    assert all(line.count("voted out") <= 1 for line in days)


def test_stopped_in_the_middle_it_tells_how_far_the_game_came() -> None:
    def stop(event: Event, run: runs.Run[Answer]) -> None:
        if isinstance(event, MessageSent) and event.content.startswith("Talk about"):
            run.stop()

    played = watch(scripted_model(players(), delay_s=0.002), stop)
    assert (played.final.status, played.final.extra["end"], played.final.extra["winner"]) == (
        "stopped",
        {"kind": "stopped"},
        None,
    )
    assert played.final.content.startswith("**The game was stopped on day 1; nobody has won.**")
    assert "was killed by the werewolves" in played.final.content
    assert (
        len([event for event in played.of(ReplyParsed) if "vote" in str(event.fields)]) == 2
    )  # the wolves' only


def test_stopped_before_anything_happened_there_is_nothing_to_tell() -> None:
    def stop(event: Event, run: runs.Run[Answer]) -> None:
        if isinstance(event, MessageSent):
            run.stop()

    played = watch(scripted_model(players(), delay_s=0.002), stop)
    assert isinstance(played.error, Stopped)
    assert not [event for event in played.of(MessageSent) if not event.extra["inner"]]


def test_a_model_that_fails_ends_the_game_with_its_error() -> None:
    def fails(request: Mapping[str, Any]) -> Any:
        error = ModelUnreachable("No server answers.")
        error.retry_after_s = None
        return error

    played = watch(scripted_model(fails))
    assert isinstance(played.error, ModelUnreachable)


def test_it_needs_a_language_model() -> None:
    game = team("werewolf")
    assert (game.id, game.title, game.agents[-1]) == (
        "werewolf",
        "Werewolf for six (you watch)",
        "Moderator",
    )
    with pytest.raises(ConfigError, match="needs a language model"):
        game.check(offline_model())

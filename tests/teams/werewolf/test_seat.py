"""A seat for a person: they hear what their player hears, are asked what it is asked, no more."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from agentkit import runs
from agentkit.core.io import IOStream, Quiet
from agentkit.events import HumanInputRequested, MessageSent
from agentkit.llm.calls.scripted import scripted_model
from agentkit.teams import Question, Task, variants
from agentkit.teams.roster import PLAYERS
from agentkit.teams.werewolf import Outcome, Village
from agentkit.teams.werewolf.game import Game
from agentkit.teams.werewolf.rules import deal
from tests.teams.stage import look_up
from tests.teams.werewolf.table import SEED, SEER, VILLAGERS, WITCH, WOLVES, Way, players

Answers = Callable[[HumanInputRequested], str]


class Evening:
    """A game with a person at the table, who answers like this."""

    def __init__(
        self, person: str, answers: Answers, answer_s: float | None = None, **ways: Way
    ) -> None:
        self.asked: list[HumanInputRequested] = []
        self.heard: list[MessageSent] = []
        """What whoever watches is told."""
        model = scripted_model(players(**ways))
        config = {"config_list": [{"model": model}], "cache_seed": None}
        village = Village(deal(PLAYERS, Random(SEED)), max_days=2)

        def work() -> Outcome:
            run = runs.current()
            assert run
            run.answer_s = answer_s
            with IOStream.set_default(Quiet()):
                return Game(village, config, person).play()

        run = runs.start(work, kind="chat")
        for recorded in run:
            event = recorded.event
            if isinstance(event, MessageSent) and not event.extra.get("silent"):
                self.heard.append(event)
            if isinstance(event, HumanInputRequested):
                self.asked.append(event)
                if answer_s is None:
                    run.answer(answers(event), event.request_id)
        self.outcome: Outcome = run.result()

    def prompts(self) -> list[str]:
        return [one.prompt for one in self.asked]


def first_option(request: HumanInputRequested) -> str:
    return request.options[0] if request.options else "Well, I am of the village."


def test_a_villager_speaks_and_votes() -> None:
    person = VILLAGERS[1]
    evening = Evening(person, first_option)
    talk, vote = evening.asked[:2]
    assert talk.prompt == (
        f"You are {person}, a villager. Talk about who may be a werewolf. Each of you speaks once,"
        " one after the other."
    )
    assert talk.options == []
    assert "Vote now" in vote.prompt
    assert person not in vote.options
    assert vote.options[-1] == "nobody"
    day = next(ballot for ballot in evening.outcome.ballots if ballot.phase == "day")
    assert day.votes[person] == vote.options[0]
    said = [one.content for one in evening.heard if one.sender == person]
    assert said[0] == "Well, I am of the village."


def test_the_role_is_told_to_the_person_alone() -> None:
    evening = Evening(SEER, first_option)
    first = evening.heard[0]
    assert (first.sender, first.recipient) == ("Moderator", SEER)
    assert first.content == f"You are {SEER}, the seer."


def test_nothing_is_heard_that_the_player_does_not_hear() -> None:
    person = VILLAGERS[1]

    def hunts(turn: Any) -> str:
        return str(next(name for name in turn.options if name != person))

    evening = Evening(person, first_option, hunt=hunts)
    assert person not in {death.player for death in evening.outcome.deaths}, "else they hear all"
    for one in evening.heard:
        to_all = one.recipient == "everyone"
        assert to_all or person in (one.sender, *one.recipient.split(", ")), one
    heard = " ".join(one.content for one in evening.heard)
    assert "nobody else hears you now" not in heard
    assert "healing potion" not in heard


def test_a_seer_learns_what_she_looks_at() -> None:
    evening = Evening(SEER, lambda one: WOLVES[0] if "seer" in one.prompt else first_option(one))
    look = evening.asked[0]
    assert "whose role do you want to learn" in look.prompt
    assert "nobody" not in look.options
    assert f"{WOLVES[0]} is a werewolf." in [one.content for one in evening.heard]


def test_a_witch_decides_by_yes_or_no_and_names_whom_she_poisons() -> None:
    def answers(request: HumanInputRequested) -> str:
        if request.options[:1] == ["yes"]:
            return "no"
        return WOLVES[0] if WOLVES[0] in request.options else first_option(request)

    evening = Evening(WITCH, answers)
    heal, poison = evening.asked[:2]
    assert heal.options == ["yes", "no"]
    assert poison.options[-1] == "nobody"
    deaths = {death.player: death.cause for death in evening.outcome.deaths}
    assert deaths[WOLVES[0]] == "poison"


def test_a_werewolf_talks_with_the_other_and_agrees_by_saying_nothing() -> None:
    person, other = WOLVES

    def answers(request: HumanInputRequested) -> str:
        if "nobody else hears you" in request.prompt:
            return said.pop(0) if said else ""
        return first_option(request)

    said = ["The seer, I say."]
    evening = Evening(person, answers)
    assert evening.asked[0].prompt.startswith(f"You are {person}, a werewolf, and so is {other}.")
    assert [one.options for one in evening.asked[:2]] == [[], []], "asked until they agree"
    hunt = evening.asked[2]
    assert not set(WOLVES) & set(hunt.options)
    assert f"{other} speaks" in [one.content for one in evening.heard]


def test_silence_and_abstention_are_free() -> None:
    person = VILLAGERS[1]
    evening = Evening(person, lambda one: "")
    day = next(ballot for ballot in evening.outcome.ballots if ballot.phase == "day")
    assert day.votes[person] is None
    said = [one.content for one in evening.heard if one.sender == person]
    assert said[:2] == ["I have nothing to say.", "nobody"]


@pytest.mark.parametrize("person", [WOLVES[0], SEER, WITCH, VILLAGERS[1]])
def test_a_game_ends_also_when_nobody_answers(person: str) -> None:
    evening = Evening(person, first_option, answer_s=0.001)
    assert evening.asked
    assert evening.outcome.winner in ("village", "werewolves", "draw")


def test_the_dead_watch_on() -> None:
    def hunts(turn: Any) -> str:
        return person if person in turn.options else turn.options[0]

    person = VILLAGERS[0]
    evening = Evening(person, first_option, hunt=hunts)
    assert evening.asked == [], "killed in the first night"
    heard = [one.content for one in evening.heard]
    assert any("nobody else hears you now" in one for one in heard), "now nothing is kept from them"


def test_as_a_team_the_person_is_one_of_the_six() -> None:
    watch, seat = variants("werewolf")
    assert (watch.title, seat.title) == (
        "Werewolf for six (you watch)",
        "Werewolf for six (you play)",
    )
    assert seat.keeps_secrets
    assert not watch.keeps_secrets
    task = Task(Question("Play!"), scripted_model(players()), look_up, [], "answer", "question")
    run = runs.start(lambda: seat.work(task), kind="chat", owner="stage", chat_id="chat")
    told = [
        one.event.content
        for one in run
        if isinstance(one.event, MessageSent) or not _answer(run, one.event)
        if isinstance(one.event, MessageSent)
    ]
    assert told[0].startswith("You are Player")
    assert run.result().text.startswith("**")


def _answer(run: runs.Run[Any], event: object) -> bool:
    if isinstance(event, HumanInputRequested):
        run.answer(first_option(event), event.request_id)
    return False

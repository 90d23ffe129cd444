"""Whole games with scripted players, each ending by the rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentkit.core import bus
from agentkit.core.io import IOConsole, IOStream
from agentkit.errors import WrongArgument
from agentkit.events import Event, MessageSent, Noted, ReplyParsed
from agentkit.llm import Model
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.messages import text_of
from agentkit.teams.roster import PLAYERS
from agentkit.teams.werewolf import Death, Outcome, play
from agentkit.teams.werewolf.game import ROUNDS
from tests.servers.openai_server import Answer, OpenAIServer
from tests.servers.strict import refuse_as_mistral, strict
from tests.teams.werewolf.table import (
    ROLES,
    SEED,
    SEER,
    VILLAGERS,
    WITCH,
    WOLVES,
    Turn,
    answer,
    first_alive,
    players,
    thought,
    turn_of,
)

FIRST, SECOND = WOLVES
VICTIM = next(name for name in PLAYERS if name not in WOLVES)
"""Whom harmless wolves kill first."""


class Silent(IOConsole):
    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        pass


class Played:
    """A game that has ended, with everything that was heard and asked."""

    def __init__(self, script: Callable[[Mapping[str, Any]], str], *, max_days: int = 6) -> None:
        self.events: list[Event] = []
        self.model: Model = scripted_model(script)
        with bus.listening(self.events.append), IOStream.set_default(Silent()):
            self.outcome: Outcome = play(config(self.model), seed=SEED, max_days=max_days)

    @property
    def turns(self) -> list[Turn]:
        return [turn_of(messages) for messages in self.asked]

    @property
    def asked(self) -> list[list[dict[str, Any]]]:
        assert isinstance(self.model.client, ScriptedClient)
        return [request["messages"] for request in self.model.client.requests]

    def prompts(self, player: str) -> list[str]:
        """What each request for this player said, as one text."""
        return [
            "\n".join(text_of(message["content"]) for message in messages)
            for messages in self.asked
            if turn_of(messages).player == player
        ]

    def said(self, sender: str) -> list[tuple[str, str]]:
        """To whom, and what."""
        return [
            (each.recipient, each.content)
            for each in self.events
            if isinstance(each, MessageSent) and each.sender == sender
        ]

    @property
    def notes(self) -> list[str]:
        return [
            event.agent
            for event in self.events
            if isinstance(event, Noted) and "taken as" in event.text
        ]

    def parsed(self, player: str) -> list[ReplyParsed]:
        return [
            event
            for event in self.events
            if isinstance(event, ReplyParsed) and event.agent == player
        ]


def config(model: Model) -> dict[str, Any]:
    return {"config_list": [{"model": model}], "cache_seed": None}


def votes_wolves(turn: Turn) -> str:
    return first_alive(turn, WOLVES)


def votes_others(turn: Turn) -> str:
    return first_alive(turn, [name for name in PLAYERS if name not in WOLVES])


def test_the_village_wins() -> None:
    played = Played(players(vote=votes_wolves))
    assert (played.outcome.winner, played.outcome.days) == ("village", 2)
    assert played.outcome.roles == ROLES
    assert [death for death in played.outcome.deaths if death.cause == "vote"] == [
        Death(FIRST, 1, "vote"),
        Death(SECOND, 2, "vote"),
    ]
    assert played.said("Moderator")[-1] == ("everyone", "The village wins: no werewolf is left.")
    assert played.notes == []


def test_the_werewolves_win() -> None:
    played = Played(players(vote=votes_others))
    assert (played.outcome.winner, played.outcome.days) == ("werewolves", 1)
    assert [death.cause for death in played.outcome.deaths] == ["werewolves", "vote"]


def test_the_werewolves_may_win_in_a_night() -> None:
    played = Played(players())  # nobody is ever voted out
    assert (played.outcome.winner, played.outcome.days) == ("werewolves", 2)
    assert [death.cause for death in played.outcome.deaths] == ["werewolves", "werewolves"]
    assert [ballot.phase for ballot in played.outcome.ballots] == ["night", "day", "night"]


def test_it_is_a_draw_when_the_days_are_over() -> None:
    def disagree(turn: Turn) -> str:
        return first_alive(turn, VILLAGERS if turn.player == FIRST else VILLAGERS[::-1])

    played = Played(players(hunt=disagree), max_days=3)
    assert (played.outcome.winner, played.outcome.days, played.outcome.deaths) == ("draw", 3, ())
    assert played.said("Moderator")[-1][1] == "A draw: neither side has won within 3 days."
    assert (
        "everyone",
        (
            f"Day 1 begins. Nobody died in the night. Alive: {', '.join(PLAYERS[:-1])} and"
            f" {PLAYERS[-1]}."
        ),
    ) in (played.said("Moderator"))


def test_a_player_that_answers_in_prose_recovers_after_the_feedback() -> None:
    def prose_first(turn: Turn) -> Any:
        return (
            {"speak": "Now in form."}
            if turn.retry or turn.player != SEER
            else "raw:I would say that Player1 is suspicious."
        )

    played = Played(players(talk=prose_first, vote=votes_wolves))
    assert played.outcome.winner == "village"
    tries = [
        (event.attempt, event.ok)
        for event in played.parsed(SEER)
        if event.ok is False or event.attempt > 1
    ]
    assert tries[:2] == [(1, False), (2, True)]
    assert ("everyone", "Now in form.") in played.said(SEER)
    assert played.notes == []
    assert not any(
        "I would say that" in prompt
        for player in PLAYERS
        if player != SEER
        for prompt in played.prompts(player)
    )


def test_a_vote_for_the_dead_is_told_once_then_it_is_an_abstention() -> None:
    def vote(turn: Turn) -> str:
        return VICTIM if turn.player == FIRST else votes_wolves(turn)

    played = Played(players(vote=vote), max_days=1)
    (ballot,) = [ballot for ballot in played.outcome.ballots if ballot.phase == "day"]
    assert ballot.votes[FIRST] is None
    assert ballot.chosen == FIRST  # the others had a say
    tries = [turn for turn in played.turns if (turn.player, turn.phase) == (FIRST, "vote")]
    assert [turn.retry for turn in tries] == [False, True]
    assert any(f"{VICTIM} cannot be chosen" in prompt for prompt in played.prompts(FIRST))
    assert played.notes == [FIRST]


def test_told_that_it_cannot_be_a_player_may_vote_for_another() -> None:
    def vote(turn: Turn) -> str:
        return votes_wolves(turn) if turn.retry or turn.player != SEER else SEER

    played = Played(players(vote=vote, hunt=lambda turn: first_alive(turn, VILLAGERS)))
    assert played.outcome.ballots[1].votes[SEER] == FIRST
    assert played.notes == []


def test_one_abstains_and_a_tie_harms_nobody() -> None:
    left, right = FIRST, SEER

    def vote(turn: Turn) -> Any:
        sides = {FIRST: right, SECOND: right, SEER: left, WITCH: left}
        return sides.get(turn.player, "I abstain.")

    played = Played(players(vote=vote, hunt=lambda turn: first_alive(turn, VILLAGERS)), max_days=1)
    ballot = played.outcome.ballots[-1]
    assert ballot.chosen is None
    assert [ballot.votes[name] for name in VILLAGERS if name in ballot.votes] == [None]
    assert list(ballot.votes.values()).count(left) == list(ballot.votes.values()).count(right) == 2
    assert any(
        text.endswith("Nobody leaves.") and "abstained" in text
        for _, text in played.said("Moderator")
    )


def test_booleans_and_names_as_models_write_them() -> None:
    def scheme(turn: Turn) -> Any:
        return {"finish_discussion": "true"}

    def vote(turn: Turn) -> Any:
        return f"I vote {votes_wolves(turn).lower().replace('player', 'player ')}."

    played = Played(players(scheme=scheme, heal=lambda turn: "True", vote=vote))
    assert played.outcome.winner == "village"
    assert [death.cause for death in played.outcome.deaths] == [
        "vote",
        "werewolves",
        "vote",
    ]  # the first victim was saved
    assert [turn.phase for turn in played.turns].count(
        "scheme"
    ) == 2  # both agree at once, then one of them is out
    assert played.notes == []


def test_the_witch_heals_herself_and_poisons_in_another_night() -> None:
    def poison(turn: Turn) -> str:
        return FIRST

    played = Played(players(hunt=lambda turn: WITCH, heal=lambda turn: True, poison=poison))
    witch = [
        (turn.day, turn.phase)
        for turn in played.turns
        if turn.player == WITCH and turn.phase in ("heal", "poison")
    ]
    assert witch == [
        (1, "heal"),
        (2, "poison"),
    ]  # not both in one night, and the healing potion is gone
    assert played.outcome.deaths[:2] == tuple(
        Death(name, 2, "poison" if name == FIRST else "werewolves")
        for name in PLAYERS
        if name in (FIRST, WITCH)
    )
    assert ("Moderator", "yes") in played.said(WITCH)
    assert any("kill you tonight" in text for to, text in played.said("Moderator") if to == WITCH)
    mornings = [text for _, text in played.said("Moderator") if text.startswith("Day ")]
    assert "Nobody died in the night" in mornings[0]
    assert "poison" not in mornings[1]


def test_whom_the_witch_heals_lives_and_whom_she_poisons_as_well_as_the_wolves_dies_once() -> None:
    played = Played(players(poison=lambda turn: VICTIM if VICTIM != WITCH else FIRST), max_days=1)
    assert [death.player for death in played.outcome.deaths].count(VICTIM) == 1
    healed = Played(players(heal=lambda turn: True), max_days=1)
    assert healed.outcome.deaths == ()


def test_the_seer_learns_a_role_and_nobody_else_hears_it() -> None:
    played = Played(
        players(
            look=lambda turn: first_alive(turn, WOLVES),
            hunt=lambda turn: first_alive(turn, VILLAGERS),
        ),
        max_days=1,
    )
    learnt = f"{FIRST} is a werewolf."
    assert (SEER, learnt) in played.said("Moderator")
    assert any(f"Moderator: {learnt}" in prompt for prompt in played.prompts(SEER))
    assert not any(
        learnt in prompt
        for player in PLAYERS
        if player != SEER
        for prompt in played.prompts(player)
    )


def test_the_werewolves_talk_until_both_are_content_in_a_hub_of_their_own() -> None:
    def scheme(turn: Turn) -> Any:
        return {"speak": f"Night talk of {turn.player}", "finish_discussion": turn.player == FIRST}

    played = Played(players(scheme=scheme), max_days=1)
    talked = [turn.player for turn in played.turns if turn.phase == "scheme"]
    assert talked == [FIRST, SECOND] * ROUNDS
    assert (SECOND, f"Night talk of {FIRST}") in [
        (to.replace("Moderator, ", ""), text) for to, text in played.said(FIRST)
    ]
    assert any(f"{FIRST}: Night talk of {FIRST}" in prompt for prompt in played.prompts(SECOND))
    others = [player for player in PLAYERS if player not in WOLVES]
    assert not any("Night talk" in prompt for player in others for prompt in played.prompts(player))


def test_everybody_hears_what_is_said_by_day_and_nobody_what_is_thought() -> None:
    played = Played(players(vote=votes_wolves))
    for player in PLAYERS:
        prompts = played.prompts(player)
        others = [thought(other) for other in PLAYERS if other != player]
        assert not any(secret in prompt for secret in others for prompt in prompts)
    survivor, other = [player for player in played.turns[-1].alive if player not in WOLVES][:2]
    assert f"{other}: {other} speaks" in played.prompts(survivor)[-1]
    assert any(
        thought(survivor) in prompt for prompt in played.prompts(survivor)[1:]
    )  # its own it remembers
    assert not any(
        thought(player) in event.content
        for player in PLAYERS
        for event in played.events
        if isinstance(event, MessageSent)
    )
    assert any(thought(survivor) in json.dumps(event.fields) for event in played.parsed(survivor))


def test_votes_are_cast_at_the_same_time() -> None:
    played = Played(players(vote=votes_wolves), max_days=1)
    ballots = [
        "\n".join(text_of(message["content"]) for message in messages)
        for messages in played.asked
        if turn_of(messages).phase == "vote"
    ]
    assert len(ballots) == 5
    votes = [f"{voter}: {choice}" for voter, choice in played.outcome.ballots[-1].votes.items()]
    assert not any(vote in prompt for vote in ["The votes:", *votes] for prompt in ballots)


def test_the_dead_are_asked_nothing() -> None:
    played = Played(players(vote=votes_wolves))
    assert all(turn.player in turn.alive for turn in played.turns)
    deaths = {death.player: death.day for death in played.outcome.deaths}
    assert all(turn.day <= deaths.get(turn.player, 99) for turn in played.turns)


def test_a_player_that_never_finds_the_form_is_silent_and_the_game_goes_on() -> None:
    def script(request: Mapping[str, Any]) -> str:
        turn = turn_of(request["messages"])
        return (
            "Sorry, I am only a language model."
            if turn.player == FIRST
            else players(vote=lambda t: first_alive(t, [SECOND]))(request)
        )

    played = Played(script, max_days=2)
    assert played.outcome.ballots[0].votes[FIRST] is None
    assert played.outcome.ballots[1].votes[FIRST] is None
    assert ("everyone", "I have nothing to say.") in played.said(FIRST)
    assert set(played.notes) == {FIRST}
    assert not any(
        "language model" in prompt
        for player in PLAYERS
        if player != FIRST
        for prompt in played.prompts(player)
    )


def test_every_player_may_have_a_model_of_its_own() -> None:
    models = {name: scripted_model(players(vote=votes_wolves)) for name in PLAYERS}
    with IOStream.set_default(Silent()):
        outcome = play({name: config(model) for name, model in models.items()}, seed=SEED)
        assert outcome.winner == "village"
        for name, model in models.items():
            assert isinstance(model.client, ScriptedClient)
            assert {turn_of(request["messages"]).player for request in model.client.requests} == (
                {name} - {VICTIM}
            )
        with pytest.raises(WrongArgument, match="it has none for Player2, Player3"):
            play({"Player1": config(models["Player1"])})


def test_the_same_seed_deals_the_same_roles_to_names_of_ones_own() -> None:
    names = ["Ada", "Ben", "Cem", "Dora", "Eli", "Fay"]

    def script(request: Mapping[str, Any]) -> str:
        return answer(turn_of(request["messages"]), None)  # nobody says anything

    with IOStream.set_default(Silent()):
        outcomes = [
            play(config(scripted_model(script)), seed=3, players=names, max_days=1)
            for _ in range(2)
        ]
    assert outcomes[0] == outcomes[1]
    assert list(outcomes[0].roles) == names
    assert outcomes[0].winner == "draw"


def test_from_the_first_night_to_the_end_over_a_real_server() -> None:
    script = players(vote=votes_wolves, look=lambda turn: first_alive(turn, WOLVES))
    answers = strict(refuse_as_mistral, lambda body: Answer(script(body)))
    with OpenAIServer(answers) as server, IOStream.set_default(Silent()):
        endpoint = {"model": "test-model", "base_url": server.base_url, "api_key": "none"}
        outcome = play({"config_list": [endpoint], "cache_seed": None}, seed=SEED)
        phases = {turn_of(body["messages"]).phase for body in server.chats}
        formats = [body.get("response_format", {}).get("type") for body in server.chats]
    assert (outcome.winner, outcome.days) == ("village", 2)
    assert phases == {"scheme", "hunt", "heal", "poison", "look", "talk", "vote"}
    assert set(formats) == {"json_schema"}

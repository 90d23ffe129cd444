"""The group of three: who speaks, what they know of one another, when it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentkit import runs
from agentkit.errors import NotFound
from agentkit.events import SpeakerSelected, ToolCalled
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import message
from agentkit.reasons import EndReason
from agentkit.teams import Team, variants
from agentkit.teams.built.ready_made import ready_made
from agentkit.teams.built.team import build_team
from agentkit.teams.roster import ROUNDS
from tests.teams.stage import DANUBE, asked, call, play

REPORT, REMARK, TEXT = (
    "It is 2,850 km long [1].",
    "Nothing is missing.",
    "The Danube is 2,850 km long [1].\n\n**TERMINATE**",
)


def roles(request: Mapping[str, Any]) -> Any:
    """A model that plays its part: the researcher searches first, the writer ends."""
    system = str(request["messages"][0]["content"])
    if "you are the researcher" in system:
        return (
            REPORT
            if request["messages"][-1]["role"] == "tool"
            else call("search_documents", query="Danube")
        )
    return REMARK if "you are the critic" in system else TEXT


def test_in_turn_each_speaks_until_the_writer_is_done() -> None:
    played = play("group:round_robin", scripted_model(roles))
    chosen = [(event.round, event.speaker, event.method) for event in played.of(SpeakerSelected)]
    assert chosen == [
        (1, "Researcher", "round_robin"),
        (2, "Researcher", "function"),
        (3, "Researcher", "custom"),
        (4, "Critic", "round_robin"),
        (5, "Writer", "round_robin"),
    ]
    final = played.final
    assert (final.sender, final.content) == ("Writer", "The Danube is 2,850 km long [1].")
    assert [citation["text"] for citation in final.extra["citations"]] == [DANUBE]
    assert "end" not in final.extra
    assert final.parent_id == played.inner[-1].id


def test_everybody_hears_what_was_said_and_the_earlier_turns() -> None:
    model = scripted_model(roles)
    play(
        "group:round_robin",
        model,
        history=[message("user", "Hello"), message("assistant", "Hi [1]")],
    )
    writer = [
        turn
        for turn in asked(model)[-1]
        if turn["role"] in ("user", "assistant") and turn["content"]
    ]
    assert [(turn.get("name"), turn["content"]) for turn in writer] == [
        ("User", "Hello"),
        ("Writer", "Hi "),
        ("User", "How long is the Danube?"),
        ("Researcher", REPORT),
        ("Critic", REMARK),
    ]
    assert [turn["role"] for turn in writer if turn.get("name") == "Writer"] == ["assistant"]


def test_the_model_chooses_who_speaks() -> None:
    def selects(request: Mapping[str, Any]) -> Any:
        if "You moderate" in str(request["messages"][0]["content"]):
            return names.pop(0)
        return roles(request)

    names = ["Researcher", "Writer"]
    played = play("group:auto", scripted_model(selects))
    assert [event.speaker for event in played.of(SpeakerSelected) if event.method == "auto"] == [
        "Researcher",
        "Writer",
    ]
    assert played.final.content.startswith("The Danube")
    assert "speaker_selection_agent" not in {said.sender for said in played.inner}


def test_the_person_chooses_who_speaks_and_when_it_is_enough() -> None:
    replies = ["A draft.", REMARK]
    played = play("group:manual", scripted_model(replies), answers=["Writer", "Critic", "finish"])
    assert [question.options for question in played.questions] == [
        ["Researcher", "Critic", "Writer", "finish"],
        ["Researcher", "Critic", "finish"],
        ["Researcher", "Writer", "finish"],
    ]
    assert played.final.content == "A draft."
    assert played.final.extra["end"] == {"kind": "finished"}
    assert played.result is not None
    assert played.result.end == EndReason("finished")


@pytest.mark.parametrize("enough", ["finish", "Finish here"], ids=["key", "older version"])
def test_finished_before_the_writer_spoke_the_answer_is_written_from_what_was_found(
    enough: str,
) -> None:
    replies: list[Any] = [call("search_documents", query="Danube"), REPORT, "2,850 km [1]."]
    played = play("group:manual", scripted_model(replies), answers=["Researcher", enough])
    assert (played.final.content, played.final.sender) == ("2,850 km [1].", "Writer")
    assert [citation["text"] for citation in played.final.extra["citations"]] == [DANUBE]


@pytest.mark.parametrize("method", ["random", "round_robin"])
def test_nobody_talks_forever(method: str) -> None:
    played = play(f"group:{method}", scripted_model(lambda request: "And another thing."))
    assert len(played.inner) == ROUNDS
    assert played.final.extra["end"] == {"kind": "rounds", "limit": ROUNDS}


def test_only_the_writer_ends_it() -> None:
    played = play(
        "group:round_robin",
        scripted_model(["Found nothing. TERMINATE", "Fine. TERMINATE", "I do not know. TERMINATE"]),
    )
    assert [said.sender for said in played.inner] == ["User", "Researcher", "Critic", "Writer"]
    assert played.of(ToolCalled) == []


def test_each_way_to_choose_is_a_team_of_its_own() -> None:
    ways = variants("group")
    assert [known.id for known in ways] == [
        "group:auto",
        "group:round_robin",
        "group:random",
        "group:manual",
    ]
    assert {known.kind for known in ways} == {"group"}
    assert ways[1].title == "Group of three (in turn)"


def speaking_up(part: str, text: str) -> Callable[[Mapping[str, Any]], Any]:
    """The model of the group; while it speaks for this part first, the person says something."""
    said: list[str] = []

    def reply(request: Mapping[str, Any]) -> Any:
        made, run = roles(request), runs.current()
        speaks = f"you are the {part}" in str(request["messages"][0]["content"])
        if run and speaks and isinstance(made, str) and not said:
            said.append(text)
            run.say(text)
        return made

    return reply


READY = "group:round_robin"
BOTH = pytest.mark.parametrize(
    "chosen", [READY, build_team(ready_made(READY), "my-team:1")], ids=["ready-made", "built"]
)


@BOTH
def test_what_a_person_says_meanwhile_is_heard_by_the_next_speaker(chosen: str | Team) -> None:
    model = scripted_model(speaking_up("researcher", "Think of the delta, too."))
    played = play(chosen, model)
    said = [(one.sender, one.recipient, one.content) for one in played.inner]
    at = said.index(("User", "Group", "Think of the delta, too."))
    assert said[at - 1] == ("Researcher", "Group", REPORT)
    (critic,) = [each for each in asked(model) if "you are the critic" in each[0]["content"]]
    told = [turn["content"] for turn in critic[-2:]]
    assert told == [REPORT, "Think of the delta, too."]
    assert played.final.content == "The Danube is 2,850 km long [1]."


@BOTH
def test_nobody_ends_it_while_something_was_said_that_is_not_heard(chosen: str | Team) -> None:
    model = scripted_model(speaking_up("writer", "Wait, and the Volga?"))
    played = play(chosen, model)
    said = [one.content for one in played.inner]
    at = said.index("Wait, and the Volga?")
    assert said[at - 1] == TEXT, "the writer had ended"
    assert said[-1] == TEXT, "and wrote anew"
    assert said.count(TEXT) == 2


def test_nobody_hears_what_is_said_after_the_end() -> None:
    run = runs.start(lambda: "done", kind="chat")
    run.wait()
    with pytest.raises(NotFound, match="has ended"):
        run.say("Hello?")
    assert run.unheard == []

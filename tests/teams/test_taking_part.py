"""A person takes part in teams that converse: when they are asked, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentkit.errors import WrongArgument
from agentkit.events import HumanAnswered, SpeakerSelected, ToolReturned
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import message, text_of
from agentkit.reasons import EndReason
from agentkit.teams import Question
from agentkit.teams.group import PASSES
from tests.teams.stage import DANUBE, Played, asked, call, play
from tests.teams.test_group import REMARK, REPORT, TEXT, roles

FIRST, BETTER = "The Danube is 2,850 km long [1].", "In miles: 1,771 [1]."
SEARCH = call("search_documents", query="Danube")


def moments(played: Played) -> list[tuple[str, str]]:
    """Whom each question answers, and when it comes."""
    return [(one.to, one.moment) for one in played.questions]


@pytest.mark.parametrize("mode", [None, "NEVER"])
def test_nobody_is_asked_unless_it_is_wanted(mode: Any) -> None:
    played = play("assistant", scripted_model([SEARCH, FIRST]), human_input=mode)
    assert played.questions == []
    assert played.final.content == FIRST


@pytest.mark.parametrize("enough", ["", "exit"])
def test_before_the_end_the_person_may_say_that_it_is_enough(enough: str) -> None:
    model = scripted_model([SEARCH, FIRST])
    played = play("assistant", model, human_input="TERMINATE", answers=[enough])
    assert moments(played) == [("Assistant", "close")]
    assert played.final.content == FIRST
    assert [one["text"] for one in played.final.extra["citations"]] == [DANUBE]


def test_before_the_end_the_person_says_what_is_wanted_and_they_go_on() -> None:
    model = scripted_model([SEARCH, FIRST, BETTER])
    played = play("assistant", model, human_input="TERMINATE", answers=["In miles, please.", ""])
    assert moments(played) == [("Assistant", "close")] * 2
    assert [turn["content"] for turn in asked(model)[-1][-2:]] == [FIRST, "In miles, please."]
    assert played.final.content == BETTER
    assert "end" not in played.final.extra


def test_at_each_turn_the_person_may_skip_speak_or_end() -> None:
    model = scripted_model([SEARCH, FIRST, BETTER])
    played = play(
        "assistant", model, human_input="ALWAYS", answers=["", "In miles, please.", "exit"]
    )
    assert moments(played) == [
        ("Assistant", "turn"),  # it wants to look something up
        ("Assistant", "close"),
        ("Assistant", "close"),
    ]
    assert len(played.of(ToolReturned)) == 1, "what was skipped went on by itself"
    assert played.final.content == BETTER


def test_what_is_said_in_place_of_a_call_interrupts_it() -> None:
    model = scripted_model([SEARCH, FIRST])
    played = play("assistant", model, human_input="ALWAYS", answers=["It is 2,850 km.", ""])
    assert played.of(ToolReturned) == []
    said = asked(model)[-1]
    assert [turn["role"] for turn in said[-3:]] == ["assistant", "tool", "user"]
    assert text_of(said[-2]["content"]) == "USER INTERRUPTED"
    assert text_of(said[-1]["content"]) == "It is 2,850 km."


def test_ended_early_the_answer_is_made_of_what_there_is() -> None:
    more = call("search_documents", query="Volga")
    model = scripted_model([SEARCH, more, "Only this: 2,850 km [1]."])
    played = play("assistant", model, human_input="ALWAYS", answers=["", "exit"])
    assert played.final.content == "Only this: 2,850 km [1]."
    assert played.final.extra["end"] == {"kind": "finished"}
    assert played.result is not None
    assert played.result.end == EndReason("finished")


def test_code_is_looked_at_before_the_person_is_asked_to_approve_it() -> None:
    code = "```python\nprint(1)\n```"
    model = scripted_model([code, "Without code: 2. TERMINATE"])
    played = play("tools", model, human_input="ALWAYS", answers=["Do it in your head.", ""])
    assert moments(played) == [("Assistant", "turn"), ("Assistant", "close")]
    assert played.final.content == "Without code: 2."


def test_nobody_who_answers_lets_them_go_on_and_end() -> None:
    model = scripted_model([SEARCH, FIRST])
    played = play("assistant", model, human_input="ALWAYS", answer_s=0.01)
    assert moments(played) == [("Assistant", "turn"), ("Assistant", "close")]
    assert [one.waited_s for one in played.of(HumanAnswered)] == [0.01, 0.01]
    assert all(one.until is not None for one in played.questions)
    assert played.final.content == FIRST


def test_agents_that_nobody_answers_do_not_go_on_for_ever() -> None:
    def reply(request: Mapping[str, Any]) -> Any:
        return SEARCH if request.get("tools") else FIRST

    played = play("assistant", scripted_model(reply), human_input="ALWAYS", answer_s=0.01)
    assert played.final.content == FIRST
    assert played.final.extra["end"]["kind"] == "replies"


def test_what_is_to_run_is_rejected_when_nobody_answers() -> None:
    def reserve(place: str) -> str:
        """Reserve a seat."""
        raise AssertionError(place)

    model = scripted_model([call("reserve", place="Skarholm"), "Not reserved. TERMINATE"])
    played = play("tools", model, tools=[reserve], answer_s=0.01)
    told = text_of(asked(model)[-1][-1]["content"])
    assert told == (
        "this call was not run: it needs the user's approval, and there was no answer within 0.01"
        " seconds."
    )
    assert played.final.content == "Not reserved."


# The group


def test_in_a_group_the_person_has_the_floor_in_turn() -> None:
    replies: list[Any] = [REPORT, REMARK, "A draft.", REPORT, REMARK, TEXT]
    model = scripted_model(replies)
    played = play(
        "group:round_robin", model, human_input="ALWAYS", answers=["Mind the delta, too.", ""]
    )
    assert moments(played) == [("Writer", "turn"), ("Writer", "close")]
    speakers = [(one.speaker, one.method) for one in played.of(SpeakerSelected)]
    assert speakers[2:5] == [
        ("Writer", "round_robin"),
        ("User", "round_robin"),
        ("Researcher", "round_robin"),
    ]
    assert speakers[-1] == ("User", "custom"), "it is over when the person says so"
    said = [(one.sender, one.content) for one in played.inner]
    at = said.index(("User", "Mind the delta, too."))
    assert said[at - 1] == ("Writer", "A draft.")
    for request in asked(model)[3:]:
        assert "Mind the delta, too." in [turn["content"] for turn in request]
    assert played.final.content == "The Danube is 2,850 km long [1]."


def test_in_a_group_who_skips_the_turn_says_only_that_they_go_on() -> None:
    model = scripted_model([REPORT, REMARK, "A draft.", REPORT, REMARK, TEXT])
    played = play("group:round_robin", model, human_input="ALWAYS", answers=["", ""])
    assert [one.content for one in played.inner if one.sender == "User"][1:] == [PASSES]


def test_in_a_group_the_model_may_give_the_person_the_floor() -> None:
    def selects(request: Mapping[str, Any]) -> Any:
        if "You moderate" in str(request["messages"][0]["content"]):
            offered.append(str(request["messages"][0]["content"]))
            return names.pop(0)
        return roles(request)

    offered: list[str] = []
    names = ["Researcher", "User", "Writer"]
    played = play(
        "group:auto", scripted_model(selects), human_input="ALWAYS", answers=["Only km.", ""]
    )
    chosen = [(one.speaker, one.method) for one in played.of(SpeakerSelected)]
    assert ("User", "auto") in chosen
    assert "User: The person who asked." in offered[1]
    assert moments(played) == [("Researcher", "turn"), ("Writer", "close")]


def test_in_a_group_the_person_chooses_among_all_themselves_included() -> None:
    model = scripted_model([REPORT, "A draft."])
    answers = ["Researcher", "User", "Shorter, please.", "Writer", "finish"]
    played = play("group:manual", model, human_input="ALWAYS", answers=answers)
    assert played.questions[0].options == ["Researcher", "Critic", "Writer", "finish"]
    assert played.questions[1].options == ["Critic", "Writer", "User", "finish"]
    assert played.final.content == "A draft."


def test_in_a_group_that_is_asked_at_the_end_alone_the_person_is_not_in_line() -> None:
    model = scripted_model([REPORT, REMARK, TEXT, REPORT, REMARK, BETTER + "\nTERMINATE"])
    answers = ["In miles, please.", ""]
    played = play("group:round_robin", model, human_input="TERMINATE", answers=answers)
    assert moments(played) == [("Writer", "close")] * 2
    assert "In miles, please." in [turn["content"] for turn in asked(model)[3]]
    assert played.final.content == BETTER


def test_in_a_group_the_person_may_end_at_their_turn() -> None:
    model = scripted_model([REPORT, REMARK, "A draft."])
    played = play("group:round_robin", model, human_input="ALWAYS", answers=["exit"])
    assert played.final.content == "A draft."
    assert played.final.extra["end"] == {"kind": "finished"}


# The question


def test_a_question_knows_when_the_person_is_asked() -> None:
    question = Question("Well?", team_id="group", human_input="TERMINATE")
    stored = question.to_json()
    assert stored["human_input"] == "TERMINATE"
    assert Question.from_json(stored) == question
    assert "human_input" not in Question("Well?").to_json()


def test_a_question_with_an_unknown_way_is_refused() -> None:
    with pytest.raises(WrongArgument, match=r"ALWAYS, NEVER, TERMINATE, not 'sometimes'"):
        Question("Well?", human_input="sometimes")  # type: ignore[arg-type]


def test_earlier_turns_are_known_to_who_takes_part() -> None:
    model = scripted_model([REPORT, REMARK, TEXT])
    history = [message("user", "Hello"), message("assistant", "Hi")]
    play("group:round_robin", model, history=history, human_input="TERMINATE", answers=[""])
    assert "Hello" in [turn["content"] for turn in asked(model)[0]]

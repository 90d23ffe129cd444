"""Teams of documents at work: whom they ask, what they cite, how they end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agentkit.core.tools import effects
from agentkit.events import Compressed, HumanInputRequested, Retrieved, SpeakerSelected
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import message
from agentkit.teams import Team
from agentkit.teams.built.document import read_document
from agentkit.teams.built.team import build_team
from tests.teams.built import drafts
from tests.teams.stage import DANUBE, RIVERS, VOLGA, asked, call, play


def built(draft: Mapping[str, Any]) -> Team:
    return build_team(read_document(draft), "my-team:1")


def reply(**fields: Any) -> str:
    return f"```json\n{json.dumps(fields)}\n```"


def test_one_agent_looks_things_up_and_cites() -> None:
    model = scripted_model([call("search_documents", query="Danube"), "It is 2,850 km long [1]."])
    played = play(built(drafts.single(system_message="You know rivers.")), model)
    assert played.final.content == "It is 2,850 km long [1]."
    assert [one["text"] for one in played.final.extra["citations"]] == [DANUBE]
    assert asked(model)[0][0]["content"] == "You know rivers."


def test_the_earlier_turns_are_known() -> None:
    model = scripted_model(["Yes."])
    history = [message("user", "Hello"), message("assistant", "Hi")]
    play(built(drafts.pair()), model, "And now?", history=history)
    assert [turn["content"] for turn in asked(model)[0][1:]] == ["Hello", "Hi", "And now?"]


def test_two_agents_talk_until_one_ends_it() -> None:
    draft = drafts.pair()
    draft["agents"][0]["default_auto_reply"] = "Go on."
    model = scripted_model(["First.", "Second. TERMINATE"])
    played = play(built(draft), model)
    assert [said.content for said in played.inner][1:] == ["First.", "Go on.", "Second. TERMINATE"]
    assert played.final.content == "Second."


def test_a_conversation_within_one() -> None:
    draft = drafts.pair(nested=[{"sender": "Helper", "recipient": "Expert", "max_turns": 1}])
    draft["agents"].append(drafts.agent("Expert", system_message="You are the expert."))
    model = scripted_model(["The expert says 7."])
    played = play(built(draft), model, "How many?")
    assert played.final.content == "The expert says 7."
    assert asked(model)[0][0]["content"] == "You are the expert."


def test_a_conversation_within_one_is_told_of_those_before_only_where_it_shall_be() -> None:
    chat = {"sender": "Helper", "recipient": "Expert", "message": "Well?", "max_turns": 1}
    draft = drafts.pair(nested=[chat, chat, {**chat, "carryover": False}], max_turns=1)
    draft["agents"].append(drafts.agent("Expert"))
    model = scripted_model(["One.", "Two.", "Three."])
    play(built(draft), model)
    opened = [turns[-1]["content"] for turns in asked(model)]
    assert opened == ["Well?", "Well?\nContext: \nOne.", "Well?"]


def test_a_group_keeps_to_its_transitions() -> None:
    order = [
        {"after": "Ann", "speakers": ["Cid"]},
        {"after": "Cid", "speakers": ["Ann"]},
        {"after": "Bob", "speakers": ["Ann"]},
    ]
    model = scripted_model(["One.", "Two.", "Three.", "Four. TERMINATE"])
    played = play(built(drafts.group(transitions=order)), model)
    speakers = [event.speaker for event in played.of(SpeakerSelected)]
    assert speakers == ["Ann", "Cid", "Ann", "Cid"]
    assert played.final.content == "Four."


def test_transitions_of_one_agent_count_together() -> None:
    order = [{"after": "Ann", "speakers": ["Cid"]}, {"after": "Ann", "speakers": ["Bob"]}]
    order += [{"after": name, "speakers": ["Ann"]} for name in ("Bob", "Cid")]
    draft = drafts.group(transitions=order, speaker_selection_method="auto")
    model = scripted_model(["Ann", "One.", "Bob", "Two.", "Three.", "Cid", "Four. TERMINATE"])
    speakers = [event.speaker for event in play(built(draft), model).of(SpeakerSelected)]
    assert speakers == ["Ann", "Bob", "Ann", "Cid"]


def test_a_member_of_a_group_is_a_person() -> None:
    draft = drafts.group(agents=["Me", "Ann", "Cid"])
    me = drafts.agent("Me", role="person", llm=None, human_input_mode="ALWAYS")
    draft["agents"].append(me)
    draft["flow"]["max_round"] = 5
    model = scripted_model(["One.", "Two.", "Three.", "Four."])
    played = play(built(draft), model, answers=["I say so."])
    assert [question.agent for question in played.of(HumanInputRequested)][:1] == ["Me"]
    assert "I say so." in [said.content for said in played.inner]


def test_a_person_is_asked_as_the_chat_is_set() -> None:
    model = scripted_model(["One.", "Done. TERMINATE"])
    played = play(built(drafts.pair()), model, human_input="ALWAYS", answers=["Go on.", "exit"])
    assert [question.agent for question in played.of(HumanInputRequested)] == ["Asker", "Asker"]
    assert asked(model)[1][-1]["content"] == "Go on."
    assert play(built(drafts.pair()), scripted_model(["Done. TERMINATE"])).questions == []


def test_a_queue_hands_on_what_came_of_it() -> None:
    model = scripted_model(["Found: 7.", "It is seven."])
    played = play(built(drafts.queue()), model, "How many?")
    assert played.final.content == "It is seven."
    first, second = asked(model)
    assert first[-1]["content"] == "Find: How many?"
    assert second[-1]["content"].startswith("Write it up.")
    assert "Found: 7." in second[-1]["content"]


def test_retrieve_chat_asks_with_passages_and_looks_again() -> None:
    draft = drafts.retrieve_chat(retrieve_config={"task": "qa", "n_results": 1})
    model = scripted_model(["UPDATE CONTEXT", "The Volga is the longest [2]."])

    played = play(built(draft), model, "Which?", retrieve=lambda _: list(RIVERS.values()))
    first, second = (request[-1]["content"] for request in asked(model))
    assert DANUBE in first
    assert VOLGA in second
    assert [one["text"] for one in played.final.extra["citations"]] == [VOLGA]
    assert played.final.content == "The Volga is the longest [2]."
    assert played.of(Retrieved) == []  # the collection tells of its own look-ups


def test_a_full_window_ends_a_chat_or_is_shortened() -> None:
    draft = drafts.pair()
    draft["agents"][0] |= {"default_auto_reply": "A fact. " * 20, "max_consecutive_auto_reply": 9}
    compress = {"mode": "CUSTOMIZED", "strategy": "SlidingWindow", "trigger_count": 150}
    draft["agents"][1] |= {"compress_config": compress, "system_message": "Be brief."}
    del draft["agents"][1]["documents"]
    model = scripted_model(["A river. " * 30, "A lake. " * 30, "Done. TERMINATE"])
    played = play(built(draft), model)
    assert played.final.content == "Done."
    assert any(event.ok for event in played.of(Compressed))


def test_tools_ask_before_they_run() -> None:
    done: list[int] = []

    @effects("some")
    def send(amount: int) -> str:
        """Send money."""
        done.append(amount)
        return "sent"

    draft = drafts.single(tools=[{"name": "send", "approval": "first"}, {"name": "calculate"}])
    script = [call("send", amount=5), call("send", amount=6), call("calculate", expression="2*3")]
    model = scripted_model([*script, "All done."])
    played = play(built(draft), model, tools=[send], answers=["approve"])
    assert played.final.content == "All done."
    assert done == [5, 6]
    assert len(played.questions) == 1
    assert [turn["content"] for turn in asked(model)[-1] if turn["role"] == "tool"][-1] == "6"


def test_a_rejected_tool_does_not_run() -> None:
    def send(amount: int) -> str:
        """Send money."""
        raise AssertionError(amount)

    draft = drafts.single(tools=[{"name": "send"}])
    model = scripted_model([call("send", amount=5), "I did not."])
    played = play(built(draft), model, tools=[send], answers=["reject\ntoo much"])
    assert played.final.content == "I did not."
    assert "too much" in str(asked(model)[-1])


def test_a_discussion_ends_in_a_vote() -> None:
    def speak(agreed: bool) -> str:
        return reply(thought="secret", speak="I like soup.", agreed=agreed)

    votes = [reply(thought="hm", vote=choice) for choice in ("soup", "soup", "salad")]
    model = scripted_model([speak(False), *[speak(True)] * 2, *[speak(True)] * 3, *votes])
    played = play(built(drafts.discussion()), model, "What is for lunch?")
    assert played.final.content.startswith("**soup** (2 of 3 votes)")
    assert "| Cid | salad |" in played.final.content
    heard = asked(model)[1]
    assert "I like soup." in str(heard)
    assert "secret" not in str(heard)


def test_who_could_not_vote_any_more_is_not_counted() -> None:
    draft = drafts.discussion()
    votes = [reply(thought="hm", vote="so|up\nor not")] * 2
    draft["flow"] |= {"turns_limit": 2, "stages": draft["flow"]["stages"][1:]}
    played = play(built(draft), scripted_model(votes))
    assert played.final.content.startswith("**so|up or not** (2 of 2 votes)")
    assert played.final.content.endswith("| Bob | so\\|up or not |")
    draft = drafts.discussion()
    draft["flow"]["turns_limit"] = 3
    spoken = [reply(thought="hm", speak="Soup.", agreed=True)] * 3
    assert play(built(draft), scripted_model(spoken)).final.content == "Nobody voted."


@pytest.mark.parametrize("form", ["json", "tags"])
def test_a_field_that_is_not_required_may_be_left_out(form: str) -> None:
    draft = drafts.discussion()
    for field in (each for stage in draft["flow"]["stages"] for each in stage["fields"]):
        field["required"] = False
    draft["flow"]["parser"] = form
    said, voted, silent = (
        ('{"speak": "Soup."}', '{"vote": "soup"}', "{}")
        if form == "json"
        else ("[speak]Soup.[/speak]", "[vote]soup[/vote]", "I say nothing.")
    )
    model = scripted_model([*[said, silent, said] * 3, voted, silent, voted])
    played = play(built(draft), model)
    assert played.final.content == (
        "**soup** (2 of 2 votes)\n\n| Agent | Vote |\n| --- | --- |\n| Ann | soup |\n| Cid | soup |"
    )
    assert len(asked(model)) == 12, "nobody is asked again for what they left out"


def test_fields_between_tags() -> None:
    draft = drafts.discussion()
    draft["flow"] |= {"parser": "tags", "stages": draft["flow"]["stages"][1:]}
    model = scripted_model(["[thought]hm[/thought][vote]soup[/vote]"] * 3)
    played = play(built(draft), model)
    assert played.final.content.startswith("**soup** (3 of 3 votes)")

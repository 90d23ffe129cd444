"""Teams of reasoning models: what is thought ends no chat, cites nothing, and is sent to nobody."""

from __future__ import annotations

import pytest

from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import text_of
from tests.teams.stage import asked, call, play

THOUGHT = "The Volga is longer [1]. I could say TERMINATE now.\nTERMINATE"


def _thinks(text: str, *, tagged: bool) -> dict[str, str]:
    if tagged:
        return {"content": f"<think>{THOUGHT}</think>\n{text}"}
    return {"content": text, "reasoning_content": THOUGHT}


@pytest.mark.parametrize("tagged", [False, True])
@pytest.mark.parametrize("team", ["answer", "assistant"])
def test_markers_in_the_thinking_cite_nothing(team: str, tagged: bool) -> None:
    look_up = [call("search_documents", query="Danube Volga")] if team == "assistant" else []
    model = scripted_model([*look_up, _thinks("I do not know.", tagged=tagged)])
    played = play(team, model)
    assert (played.final.content, played.final.extra["citations"]) == ("I do not know.", [])
    assert played.final.thinking is not None
    assert played.final.thinking.text == THOUGHT
    assert played.result is not None
    assert played.result.thinking == played.final.thinking


@pytest.mark.parametrize("tagged", [False, True])
def test_a_termination_word_in_the_thinking_ends_nothing(tagged: bool) -> None:
    """The group goes on until the writer says it is done, and hears nothing of the thinking."""
    replies = [
        _thinks("The Danube is long.", tagged=tagged),
        _thinks("Nothing is missing.", tagged=tagged),
        _thinks("I still write.", tagged=tagged),
        _thinks("More?", tagged=tagged),
        _thinks("No.", tagged=tagged),
        _thinks("It is long.\nTERMINATE", tagged=tagged),
    ]
    model = scripted_model(replies)
    played = play("group:round_robin", model)
    assert played.final.content == "It is long."
    prompts = asked(model)
    assert len(prompts) == 6
    sent = "\n".join(text_of(said.get("content")) for prompt in prompts for said in prompt)
    assert "Volga" not in sent
    assert "reasoning_content" not in str(prompts)

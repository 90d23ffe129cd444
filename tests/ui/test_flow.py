"""Who spoke to whom, with how many tokens."""

from __future__ import annotations

from agentkit.events import Event, MessageSent, ModelReplied, SpeakerSelected, Usage
from agentkit.ledger.queries import Totals
from agentkit.ui.steps.flow import Arrow, Flow, describe, list_spent, picture
from agentkit.ui.text import figures

CHOOSER = "speaker_selection_agent"


def said(sender: str, to: str, text: str = "Tea.", **extra: object) -> MessageSent:
    return MessageSent(
        f"{sender} {to} {text}", None, sender, to, "assistant", text, extra={"inner": True, **extra}
    )


def replied(agent: str, output: int, *, cost: float | None = None) -> ModelReplied:
    return ModelReplied(
        "c", agent, "api.example.com", "m", usage=Usage(input=100, output=output), cost=cost
    )


TALK: list[Event] = [
    said("User", "Group"),
    replied(CHOOSER, 2, cost=0.1),
    SpeakerSelected("Group", "Researcher", "auto", 1),
    replied("Researcher", 5, cost=0.2),
    said("Researcher", "Group", "", tool_calls=[{"id": "t"}]),
    SpeakerSelected("Group", "Researcher", "function", 2),
    replied("Researcher", 30, cost=0.3),
    said("Group", "Critic", silent=True),
    said("Researcher", "Group"),
    SpeakerSelected("Group", "Critic", "random", 3),
    replied("Critic", 7),
    said("Critic", "Group"),
    said("Critic", "Group", "Once more."),
]


def test_an_arrow_has_its_messages_and_the_tokens_written_for_them() -> None:
    flow = Flow().follow(TALK)
    assert flow.arrows == {
        ("User", "Group"): Arrow(1, 0),
        ("Group", "Researcher"): Arrow(1, 2, is_choice=True),
        ("Researcher", "Group"): Arrow(1, 35),
        ("Group", "Critic"): Arrow(1, 0, is_choice=True),
        ("Critic", "Group"): Arrow(2, 7),
    }
    assert describe(Arrow(1, 35)) == "1 message, 35 tokens"
    assert describe(Arrow(2, 1, is_choice=True)) == "2 choices, 1 token"
    assert flow.speakers == {"Researcher", "Critic"}


def test_what_it_takes_is_counted_as_the_ledger_does() -> None:
    flow = Flow().follow(TALK)
    total = flow.total
    assert (total.calls, total.prompt_tokens, total.completion_tokens) == (4, 400, 44)
    assert (total.unpriced, total.elsewhere, total.answered) == (1, 4, 4)
    assert total.cost is not None
    assert abs(total.cost - 0.6) < 1e-9
    assert figures.so_far(total) == "444 tokens so far, $0.6000 and 1 call of unknown price"
    assert figures.so_far(Totals()) == ""
    listed = list_spent(flow.spent)
    assert "**Researcher**: 2 calls, 200 tokens in, 35 out, \\$0\\.5000" in listed
    assert "**Choice of the speaker**" in listed


def test_what_is_free_is_not_said_again_and_again() -> None:
    here = ModelReplied("c", "A", "localhost:1", "m", usage=Usage(input=9, estimated=True))
    flow = Flow().follow([here])
    assert figures.so_far(flow.total) == "about 9 tokens so far"
    assert list_spent(flow.spent) == "- **A**: 1 call, about 9 tokens in, 0 out"


def test_the_picture_has_everybody_once_and_each_arrow() -> None:
    flow = Flow().follow([*TALK, said('"quoted"\\', "Group")])
    light, dark = (
        picture(flow, ("Researcher", "Critic", "Writer"), dark=dark) for dark in (False, True)
    )
    assert light.count("->") == len(flow.arrows)
    assert light.count("style=dotted") == 2
    assert '"Researcher" -> "Group" [label="1 message\\n35 tokens"];' in light
    assert '"\\"quoted\\"\\\\" [label=' in light
    assert '"Researcher" [label="Researcher", color="#0f6b6e"];' in light
    assert '"Researcher" [label="Researcher", color="#7fc9c6"];' in dark

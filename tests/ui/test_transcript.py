"""The transcript: who speaks, in which bubble, how much of it; marks and colours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentkit.events import (
    CodeRan,
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    Retrieved,
    SpeakerSelected,
    ThinkingDelta,
    TokenDelta,
    ToolCalled,
    ToolReturned,
)
from agentkit.ui.steps import draw, voices
from agentkit.ui.steps.following import Following
from agentkit.ui.steps.step import Chosen, Step, ToolUse, Writing
from agentkit.ui.steps.transcript import PAGE, Bubble, find_end, group, select
from agentkit.ui.steps.turns import Turn, steps
from agentkit.ui.text import markdown

CHOOSER = "speaker_selection_agent"
STYLE = Path("agentkit/ui/shell/style.css")
TEAM = ("Researcher", "Critic", "Writer")


def recorded(*events: Event) -> list[Recorded]:
    return [Recorded(number, float(number), event) for number, event in enumerate(events, start=1)]


def said(sender: str, text: str, to: str = "Group", **extra: object) -> MessageSent:
    return MessageSent(
        f"{sender}: {text}", None, sender, to, "assistant", text, extra={"inner": True, **extra}
    )


def calls(sender: str, key: str) -> MessageSent:
    function = {"name": "brew", "arguments": "{}"}
    asked = [{"id": key, "type": "function", "function": function}]
    return MessageSent(
        f"calls {key} {sender}",
        None,
        sender,
        "Runner",
        "assistant",
        "",
        extra={"inner": True, "tool_calls": asked},
    )


def follow(*events: Event, writer: str = "Writer") -> list[Step]:
    """The steps of a run that goes on, after these events."""
    following = Following(writer)
    for one in recorded(*events):
        following.hear(one)
    return following.make_turn("run").steps


def shape(bubbles: list[Bubble]) -> list[tuple[str, list[str]]]:
    return [(bubble.agent, [type(part).__name__ for part in bubble.parts]) for bubble in bubbles]


def test_what_an_agent_has_done_for_it_stands_in_its_bubble() -> None:
    shown = steps(
        recorded(
            SpeakerSelected("Group", "Researcher", "auto", 1),
            ModelCalled("c1", "Researcher", "p", "m"),
            ModelReplied("c1", "Researcher", "p", "m"),
            calls("Researcher", "t"),
            SpeakerSelected("Group", "Runner", "function", 2),
            ToolCalled("t", "Runner", "brew", "{}"),
            ToolReturned("t", "Runner", "brew", True, "tea"),
            said("Researcher", "There is tea."),
            CodeRan("Runner", "python", "print(1)", 0, "1"),
            SpeakerSelected("Group", "Critic", "auto", 3),
            said("Critic", "Is there?"),
            said("Critic", "Psst.", "Writer"),
            Retrieved("tea", "Kitchen", "hybrid", [], 0.1),
        )
    )
    assert shape(select(group(shown), "calls")) == [
        ("", ["SpeakerSelected"]),
        ("Researcher", ["ToolUse"]),
        ("Researcher", ["MessageSent", "CodeRan"]),
        ("", ["SpeakerSelected"]),
        ("Critic", ["MessageSent"]),
        ("Critic", ["MessageSent"]),
        ("", ["Retrieved"]),
    ]
    everything = select(group(shown), "everything")
    assert shape(everything)[1] == (
        "Researcher",
        ["ModelReplied", "MessageSent", "SpeakerSelected", "ToolUse"],
    )
    assert [bubble.recipient for bubble in everything if bubble.agent] == [
        *("Runner", "Group", "Group", "Writer")
    ]


def test_what_a_group_hands_on_of_a_call_is_not_shown_again() -> None:
    shown = steps(recorded(calls("Researcher", "t"), calls("Group", "t")))
    assert shown == [calls("Researcher", "t")]


def test_words_come_as_they_are_written_and_become_the_message() -> None:
    begun: list[Event] = [
        ModelCalled("c", "Critic", "p", "m"),
        ThinkingDelta("Hm.", "Critic", "c"),
        TokenDelta("Is ", "Critic", "c"),
        TokenDelta("there?", "Critic", "c"),
    ]
    *_, writing = follow(*begun)
    assert isinstance(writing, Writing)
    assert (writing.text, writing.thinking, writing.since) == ("Is there?", "Hm.", 1.0)
    assert draw.describe_doing(writing) == "Critic is writing"
    replied = ModelReplied("c", "Critic", "p", "m", text="Is there?")
    *_, ended = follow(*begun, replied)
    assert isinstance(ended, Writing)
    assert ended.text == "Is there?", "until it is heard"
    message = said("Critic", "Is there?")
    assert follow(*begun, replied, message) == [replied, message]
    other = SpeakerSelected("Group", "Writer", "auto", 2)
    assert follow(*begun, replied, other) == [replied, other], "it was not meant for others"


def test_a_reply_that_failed_leaves_no_words() -> None:
    failed = ModelReplied("c", "Critic", "p", "m", status="failed", error="gone")
    called, word = ModelCalled("c", "Critic", "p", "m"), TokenDelta("Is ", "Critic", "c")
    assert follow(called, word, failed) == [failed]
    *_, again = follow(called, word, failed, called)
    assert isinstance(again, Writing)
    assert again.text == ""


def test_what_turns_out_to_be_thinking_is_no_word() -> None:
    called, word = ModelCalled("c", "Critic", "p", "m"), TokenDelta("Hm", "Critic", "c")
    *_, writing = follow(called, word, ThinkingDelta("", "Critic", "c", was_text=True))
    assert isinstance(writing, Writing)
    assert (writing.text, writing.thinking) == ("", "Hm")


def test_the_writers_words_are_the_answer_and_the_choice_of_a_speaker_is_none() -> None:
    for agent in ("Writer", CHOOSER, ""):
        called, word = ModelCalled("c", agent, "p", "m"), TokenDelta("Is", agent, "c")
        assert follow(called, word) == [called]


def turn_after(*events: Event) -> Turn:
    following = Following("Writer")
    for one in recorded(*events):
        following.hear(one)
    return following.make_turn("run")


def test_an_answer_does_not_go_among_the_words_before_it_is_sent() -> None:
    asked = MessageSent("q", None, "user", "team", "user", "How hot?")
    end = said("Writer", "80 degrees.\nTERMINATE")
    turn = turn_after(asked, end)
    assert (turn.text, turn.steps) == ("80 degrees.", [])
    answer = MessageSent("a", None, "Writer", "user", "assistant", "80 degrees.")
    answered = turn_after(asked, end, answer)
    assert (answered.text, answered.steps) == ("80 degrees.", [])
    more = SpeakerSelected("Group", "Critic", "auto", 3)
    goes_on = turn_after(asked, end, more)
    assert (goes_on.text, goes_on.steps) == ("", [end, more])
    early = turn_after(asked, said("Writer", "80 degrees."), answer)
    assert early.steps == [], "the answer only repeats it"


def test_each_event_is_taken_in_once() -> None:
    following = Following("Writer")
    heard = recorded(*[said("Critic", f"{number}") for number in range(3)])
    for one in heard:
        following.hear(one)
        assert len(following.make_turn("run").steps) == one.seq


def test_the_model_that_chose_says_why() -> None:
    chosen = SpeakerSelected("Group", "Critic", "auto", 2)

    def after(words: str) -> Step:
        replied = ModelReplied("c", CHOOSER, "p", "m", text=words)
        *_, last = steps(recorded(replied, chosen))
        return last

    assert after("Critic") == after("**Critic**") == after("") == chosen
    told = after("Critic, to check it")
    assert told == Chosen(chosen, "Critic, to check it")
    assert draw.describe(told).endswith("chosen by the model · message 2 · “Critic, to check it”")
    by_chance = SpeakerSelected("Group", "Critic", "random", 3)
    replied = ModelReplied("c", CHOOSER, "p", "m", text="nobody")
    assert steps(recorded(replied, by_chance))[-1] == by_chance


def test_a_tool_runs_as_long_as_its_run() -> None:
    called = ToolCalled("t", "Runner", "brew", "{}")
    (running,) = follow(called)
    assert isinstance(running, ToolUse)
    assert running.since == 1.0
    (stored,) = steps(recorded(called))
    assert isinstance(stored, ToolUse)
    assert stored.since is None


def numbered(count: int) -> list[Bubble]:
    return [Bubble(n, "A", [said("A", f"{n} {part}") for part in range(2)]) for n in range(count)]


def test_of_a_long_transcript_the_end_is_shown_and_its_beginning_stands_still() -> None:
    assert find_end(numbered(20), PAGE) == (0, numbered(20))
    beginnings = set()
    for count in range(21, 200):
        bubbles = numbered(count)
        hidden, end = find_end(bubbles, PAGE)
        parts = [part for bubble in end for part in bubble.parts]
        assert parts == [part for bubble in bubbles for part in bubble.parts][hidden:]
        assert PAGE <= len(parts) < PAGE + 20
        beginnings.add(hidden)
    assert len(beginnings) < 20
    one = [Bubble(0, "A", [said("A", str(n)) for n in range(100)])]
    assert [len(bubble.parts) for bubble in find_end(one, PAGE)[1]] == [40]


def test_a_long_text_is_folded_between_words() -> None:
    short = "word " * 100
    assert markdown.cut_to_beginning(short, 700, 10) == short
    text = "word " * 400
    shown = markdown.cut_to_beginning(text, 700, 10)
    assert shown.endswith("word …")
    assert len(shown) <= 702
    lines = "\n".join(f"- {n}" for n in range(40))
    assert markdown.cut_to_beginning(lines, 700, 10).count("\n") == 9
    code = "```python\n" + "print(1)\n" * 40 + "```"
    assert markdown.cut_to_beginning(code, 700, 10).endswith("\nprint(1)")
    assert len(markdown.cut_to_beginning("x" * 5000, 700, 10)) == 702


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("Researcher", "R"),
        ("Player3", "P3"),
        ("Query writer", "QW"),
        ("chat_manager", "CM"),
        ("émile", "É"),
        ("", "?"),
        ("!", "!"),
    ],
)
def test_an_agent_has_a_mark(name: str, mark: str) -> None:
    assert voices.make_mark(name) == mark


def test_colours_are_of_the_team_first() -> None:
    assert [voices.find_colour(name, TEAM) for name in TEAM] == [0, 1, 2]
    others = {voices.find_colour(f"Other {number}", TEAM) for number in range(100)}
    assert others == {3, 4, 5, 6, 7}
    crowd = [f"Player {number}" for number in range(12)]
    assert {voices.find_colour(name, crowd) for name in [*crowd, "Moderator"]} == set(range(8))


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


def test_colours_can_be_read_and_are_those_of_the_style() -> None:
    written = re.findall(
        r"voice-(\d)-\"\] \{ --voice: light-dark\((#\w+), (#\w+)\)", STYLE.read_text()
    )
    assert [(int(n), light, dark) for n, light, dark in written] == [
        (n, *pair) for n, pair in enumerate(zip(voices.LIGHT, voices.DARK, strict=True))
    ]
    assert all(contrast(colour, "#fcfaf5") >= 5 for colour in voices.LIGHT)
    assert all(contrast(colour, "#1b1a18") >= 5 for colour in voices.DARK)

"""What each strategy keeps, alone: sentences, whole newest messages, beginnings of results,
citations with their passages.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.conversation.compression import (
    Compression,
    Extraction,
    Scope,
    SlidingWindow,
    ToolOutput,
    summary_message,
)
from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.rendering import written
from agentkit.conversation.compression.shape import HEADING, is_summary
from agentkit.errors import AgentkitError, WrongArgument
from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import Stored, copy_message, message
from tests.conversation.cast import hearing
from tests.conversation.compression.histories import call, passage, result
from tests.timing import processor_time

METER = Meter("gpt-4o")
SMALL_TALK = "Well, and so it goes on and on as it does."


def scope(room: int, *cited: int) -> Scope:
    return Scope(METER, room, frozenset(cited))


def test_extraction_keeps_facts_before_small_talk_with_who_said_them() -> None:
    messages: list[Stored] = [
        {"role": "user", "name": "ann", "content": f"{SMALL_TALK} Yes. Number {n}."}
        for n in range(20)
    ]
    messages[7]["content"] += " My passport is K4471 and I was born in Lisbon. What do you think?"
    (made,) = Extraction().shorten(messages, scope(60))
    assert "- ann: My passport is K4471 and I was born in Lisbon." in made["content"]
    assert METER.count([made]) <= 60


@pytest.mark.parametrize(
    "fact",
    [
        "The garden costs 40 euros a week.",
        "The garden costs nothing for Ottilie Baumann.",
        "The garden costs money as described [3].",
    ],
)
@pytest.mark.parametrize("is_first", [False, True], ids=["last", "first"])
def test_extraction_prefers_numbers_names_and_citations(fact: str, is_first: bool) -> None:
    plain = "The wide forest stretches slowly beyond green valleys."
    texts = [fact, plain] if is_first else [plain, fact]
    (made,) = Extraction().shorten(
        [{"role": "user", "name": "ann", "content": text} for text in texts], scope(32)
    )
    assert made["content"] == f"{HEADING}\n- ann: {fact}"


@pytest.mark.parametrize("is_first", [False, True], ids=["last", "first"])
def test_extraction_prefers_a_citation_to_a_number_and_a_statement_to_a_question(
    is_first: bool,
) -> None:
    for best, other in (
        ("The fence costs money as described [31].", "The garden costs money as described, 31."),
        ("The fence costs 31 euros in a month.", "The garden takes 42 euros in a week?"),
    ):
        texts = [best, other] if is_first else [other, best]
        (made,) = Extraction().shorten(
            [{"role": "user", "name": "ann", "content": text} for text in texts], scope(32)
        )
        assert made["content"] == f"{HEADING}\n- ann: {best}"


def test_extraction_says_nothing_twice_and_keeps_an_earlier_summary() -> None:
    earlier = summary_message("- ann: My passport is K4471.\n- It was agreed on Friday the 13th.")
    messages: list[Stored] = [
        earlier,
        *[copy_message(message("user", SMALL_TALK, "bob")) for _ in range(30)],
    ]
    (made,) = Extraction().shorten(messages, scope(200))
    lines = made["content"].splitlines()
    assert lines == [
        HEADING,
        "- ann: My passport is K4471.",
        "- It was agreed on Friday the 13th.",
        f"- bob: {SMALL_TALK}",
    ]


def test_extraction_without_room_fails() -> None:
    with pytest.raises(AgentkitError, match="no sentence of the 1 messages fits into 12 tokens"):
        Extraction().shorten([{"role": "user", "content": SMALL_TALK}], scope(12))


def test_extraction_of_50000_tokens_takes_seconds() -> None:
    words = [
        "river",
        "market",
        "cloud",
        "engine",
        "paper",
        "orange",
        "table",
        "window",
        "garden",
        "signal",
        "bridge",
        "letter",
    ]
    messages: list[Stored] = [
        {
            "role": "user",
            "name": "ann",
            "content": " ".join(
                f"{words[n % 12].title()} {n * 37} lies {k} miles from the {words[(n + k) % 12]} of"
                f" {words[(n * k) % 12].title()}."
                for k in range(1, 21)
            ),
        }
        for n in range(190)
    ]
    assert METER.count(messages) > 50_000
    with processor_time(10):
        (made,) = Extraction().shorten(messages, scope(3_000))
    assert 2_500 < METER.count([made]) <= 3_000


def test_a_window_keeps_the_newest_whole_and_renews_the_summary() -> None:
    earlier = summary_message("- ann: My passport is K4471.")
    messages: list[Stored] = [
        earlier,
        *[copy_message(message("user", f"{n} {SMALL_TALK}", "bob")) for n in range(30)],
    ]
    made = SlidingWindow(share=0.5).shorten(messages, scope(200))
    assert is_summary(made[0])
    assert "K4471" in made[0]["content"]
    assert made[1:] == messages[-len(made) + 1 :]
    assert 80 < METER.count(made[1:]) <= 100
    assert METER.count(made) <= 200
    for share in (0, 1, -1):
        with pytest.raises(WrongArgument, match="must be between 0 and 1"):
            SlidingWindow(share=share)


def test_tool_output_is_cut_the_oldest_first_and_no_more_than_needed() -> None:
    messages: list[Stored] = [
        each for n in range(5) for each in (call(n), result(n, f"{n} {SMALL_TALK * 20}"))
    ]
    made = ToolOutput(8).shorten(messages, scope(METER.count(messages) - 250))
    sizes = [METER.count([each]) for each in made if each["role"] == "tool"]
    assert sizes[0] == sizes[1] < 60 < sizes[2] == sizes[3] == sizes[4]
    assert str(made[1]["tool_responses"][0]["content"]).startswith("0 Well, and so")
    assert "more tokens of this result were dropped]" in made[1]["content"]
    assert made[::2] == messages[::2]
    assert ToolOutput(8).shorten(made, scope(10))[1]["content"].count("dropped]") == 1
    with pytest.raises(WrongArgument, match="keep=-1"):
        ToolOutput(-1)


def test_tool_output_keeps_the_passages_that_are_cited() -> None:
    shown = (
        "Found:\n" + "\n".join(passage(n) for n in range(1, 6)) + "\nThat is all that was found."
    )
    older: Stored = {"role": "function", "name": "search", "content": shown}
    (made,) = ToolOutput(0).shorten([older], scope(0, 2, 5))
    assert [found.marker for found in parse_passages(made["content"])] == [2, 5]


def test_what_stays_cited_keeps_its_passage_in_the_summary() -> None:
    first: Stored = {"role": "user", "name": "ann", "content": "What does the report say?"}
    search: list[Stored] = [
        call(1),
        result(1, "\n".join(passage(n) for n in range(1, 9)) + SMALL_TALK * 30),
    ]
    answers = [
        copy_message(message("assistant", f"The figure is {n} [{n}]. {SMALL_TALK}", "bob"))
        for n in (2, 3)
    ]
    talk: list[Stored] = [
        {"role": "user", "name": "ann", "content": f"{SMALL_TALK} {n}"} for n in range(20)
    ]
    last: Stored = {"role": "user", "name": "ann", "content": "Tell me more about [3] and [2, 5]."}
    with hearing():
        made = Compression(Extraction(), 500, 1, model="gpt-4o").compress(
            [first, *search, *answers, *talk, last]
        )
    assert len(made) == 3
    kept = parse_passages(made[1]["content"])
    assert [each.marker for each in kept] == [2, 3, 5]
    assert kept[1].text == "Figure 3 of the report is 33."
    with hearing():
        again = Compression(Extraction(), 400, 1, model="gpt-4o").compress([*made, *talk, last])
    assert [each.marker for each in parse_passages(again[1]["content"])] == [2, 3, 5]


def test_the_roles_are_told_apart() -> None:
    messages: list[Stored] = [
        {"role": "user", "name": "ann", "content": "Add them."},
        call(1),
        result(1, "3"),
        call(2, older=True),
        result(2, "4", older=True),
        {"role": "assistant", "name": "bob", "content": [{"type": "text", "text": "Done."}]},
        summary_message("- ann: earlier"),
    ]
    assert written(messages) == [
        "##USER ann## Add them.",
        '##FUNCTION_CALL## f1({"n": 1})',
        "##FUNCTION_RETURN## 3",
        '##FUNCTION_CALL## f2({"n": 2})',
        "##FUNCTION_RETURN f2## 4",
        "##ASSISTANT bob## Done.",
        "##SUMMARY## - ann: earlier",
    ]


def test_a_message_counts_as_it_is_sent() -> None:
    words: Stored = {
        "role": "user",
        "content": lambda context: context["word"] * 100,
        "context": {"word": "more "},
    }
    assert 100 < METER.count([words]) < 110
    several: dict[str, Any] = {
        "role": "tool",
        "content": "a\n\nb",
        "tool_responses": [{"role": "tool", "tool_call_id": n, "content": n} for n in "ab"],
    }
    assert METER.count([several]) == METER.count(several["tool_responses"])
    call_and_result = [call(1, older=True), {"role": "function", "name": "f1", "content": 5}]
    assert METER.count(call_and_result) > 10
    tool = {
        "type": "function",
        "function": {"name": "f", "description": "Adds.", "parameters": {"type": "object"}},
    }
    assert (
        METER.count_fixed([], {"tools": [tool]})
        > METER.count_fixed([], {})
        == METER.count_fixed([{"role": "system", "content": None}], {})
    )

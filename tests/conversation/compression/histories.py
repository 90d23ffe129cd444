"""Histories for the tests of compression: random ones with calls and results, and a chat that goes
on and on.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from agentkit.llm.offline.passages import Passage, format_passages
from agentkit.messages import FunctionCall, Stored, ToolResponse

Message = Stored
WORDS = [
    "the",
    "price",
    "of",
    "Berlin",
    "is",
    "42",
    "euros",
    "[1]",
    "and",
    "so",
    "Anna",
    "signed",
    "it.",
    "Why?",
    "[2],",
    "[7].",
]
TEXTS = st.one_of(
    st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=60),
    st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join),
)


def call(number: int, *, older: bool = False) -> Message:
    """A call with its own id."""
    function: FunctionCall = {"name": f"f{number}", "arguments": f'{{"n": {number}}}'}
    if older:
        return {"role": "assistant", "content": None, "function_call": function}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def result(number: int, text: str, *, older: bool = False) -> Message:
    """The result of that call."""
    if older:
        return {"role": "function", "name": f"f{number}", "content": text}
    response: ToolResponse = {"role": "tool", "tool_call_id": f"c{number}", "content": text}
    return {"role": "tool", "content": text, "tool_responses": [response]}


def passage(number: int) -> str:
    """A passage with this number, as tools give them."""
    return format_passages(
        [
            Passage(
                number,
                f"report.pdf, p. {number}",
                f"Figure {number} of the report is {number * 11}.",
            )
        ]
    )


@st.composite
def histories(draw: Any, most: int = 25) -> list[Message]:
    """A chat in which calls are answered, now and then after somebody else has spoken."""
    made: list[Message] = []
    if draw(st.booleans()):
        made.append({"role": "system", "content": draw(TEXTS)})
    for number in range(draw(st.integers(1, most))):
        kind = draw(
            st.sampled_from(
                ["user", "assistant", "tools", "function", "passages", "late", "crossed"]
            )
        )
        text = draw(TEXTS)
        if kind in ("user", "assistant"):
            made.append(
                {"role": kind, "content": text, "name": draw(st.sampled_from(["ann", "bob"]))}
            )
            continue
        older = kind == "function"
        made.append(call(number, older=older))
        if kind == "late":
            made.append({"role": "user", "content": draw(TEXTS), "name": "ann"})
        if kind == "crossed":
            made += [call(number + 1_000), result(number, text), result(number + 1_000, text)]
            continue
        shown = (
            passage(draw(st.integers(1, 3)))
            if kind == "passages"
            else text * draw(st.integers(1, 4))
        )
        made.append(result(number, shown, older=older))
    return made

"""What is wrong with a plan, told in the language of the prompt."""

from __future__ import annotations

import pytest

from agentkit.agents.rewoo import (
    REFORMAT_PROMPT_CN,
    REFORMAT_PROMPT_EN,
    ActionExecutor,
    ReWOOProtocol,
)
from agentkit.agents.rewoo.mistakes import _TEXTS, Mistake
from agentkit.errors import ResponseParsingError

BROKEN = """Plan: look
#E1 = Look[x]
#E2 = Look[#E3]
Plan: what
Plan: read
#E1 = Nothing[#E9
"""


@pytest.mark.parametrize(
    "text", [BROKEN, "no plan at all", "Plan: a\n#E1 = hm", "\n".join(["#E1 = ?"] * 30)]
)
def test_a_planner_is_told_in_the_language_of_its_prompt(text: str) -> None:
    protocol = ReWOOProtocol(reformat_prompt=REFORMAT_PROMPT_CN)
    with pytest.raises(ResponseParsingError) as wrong:
        protocol.parse_plan(text, ["Look"])
    asked = protocol.format_planner([], [], ActionExecutor([]), wrong.value.message)[-1]["content"]
    first = asked.split("\n")[0]
    assert first.startswith("你的计划无法执行：")
    assert not any(word in first for word in (" has ", " is ", " the ", " there ", " more "))
    english = ReWOOProtocol(reformat_prompt=REFORMAT_PROMPT_EN)
    assert (
        str(wrong.value)
        in english.format_planner([], [], ActionExecutor([]), wrong.value.message)[-1]["content"]
    )


def test_every_mistake_has_both_languages() -> None:
    values = dict.fromkeys(
        (
            *("label", "number", "thought", "steps", "most", "more", "tool", "line", "others"),
            *("tools", "lookups", "reason"),
        ),
        "x",
    )
    for kind in _TEXTS:
        made = Mistake.of(kind, **values)
        assert made.isascii()
        assert not made.chinese.isascii()


def test_a_mistake_that_a_script_tells_stays_as_it_is() -> None:
    asked = ReWOOProtocol(reformat_prompt=REFORMAT_PROMPT_CN).format_planner(
        [], [], ActionExecutor([]), "no such thing"
    )
    assert "no such thing" in asked[-1]["content"]

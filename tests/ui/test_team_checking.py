"""What is told beside the fields of a team's form: in words for people, at the field itself."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.ui.teams.checking import check
from tests.teams.built import drafts

NAMED = "it begins with a blank, or has a line break in it"
WRONG: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "no name": ({"name": ""}, "name", ["this must not be empty"]),
    "a long name": ({"name": "y" * 65}, "name", ["at most 64 characters fit here"]),
    "a blank before it": ({"name": " x"}, "name", [NAMED]),
    "too hot": ({"llm": {"temperature": 9}}, "llm.temperature", ["this must be 2 or less"]),
    "no tokens": ({"llm": {"max_tokens": 0}}, "llm.max_tokens", ["this must be 1 or more"]),
    "nothing fills it": (
        {"compress_config": {"trigger_count": 0}},
        "compress_config.trigger_count",
        ["this must be more than 0"],
    ),
    "no count": (
        {"code": {"last_n_messages": "x"}},
        "code.last_n_messages",
        ["this must be a whole number", "this must be 'auto'"],
    ),
    "no JSON": (
        {"context_variables": "{"},
        "context_variables",
        ["this must be a JSON object: values by their names"],
    ),
}


def told(document: dict[str, Any]) -> dict[str, list[str]]:
    problems = check(document, ["test-model"], None).problems
    return {place: list(texts) for place, texts in problems.items()}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_an_agent_is_told_at_its_field(name: str) -> None:
    agent, place, wanted = WRONG[name]
    document = drafts.group()
    document["agents"][1] |= agent
    assert told(document) == {f"agents[2].{place}": wanted}


def test_what_is_wrong_with_the_way_of_working_is_told_at_its_field() -> None:
    found = told(drafts.group(agents=[], allow_repeat_speaker=[1]))
    assert found["flow.agents"] == ["choose 1 at least"]
    assert set(found) == {"flow.agents", "flow.allow_repeat_speaker"}


def test_a_function_has_to_be_called_as_python_can() -> None:
    document = {**drafts.single(), "functions": [{"name": "1a", "code": "def a(): pass"}]}
    words = "it has letters, digits and _ only, and begins with a letter"
    assert told(document) == {"functions[1].name": [words]}

"""The prompts of a person: variables, versions, and what cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import ConfigError, NotFound, WrongArgument
from agentkit.ledger import Ledger
from agentkit.ledger.prompts import Prompts, Variable, fill, find_variables

OWNER = "me"


@pytest.fixture
def prompts(ledger: Ledger) -> Prompts:
    return Prompts(ledger)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no variables, { } {{}} {{ }}", []),
        ("{{topic}}", [Variable("topic", None)]),
        (
            "{{ topic }} in {{language:English}}",
            [Variable("topic", None), Variable("language", "English")],
        ),
        ("{{a}} {{b:}} {{a}}", [Variable("a", None), Variable("b", "")]),
        ("{{a}} {{a:x}} {{a:y}}", [Variable("a", "x")]),
        ("{{time: 10:30}}", [Variable("time", " 10:30")]),
    ],
)
def test_variables_are_found_once_with_their_default(text: str, found: list[Variable]) -> None:
    assert find_variables(text) == found


def test_a_text_is_filled_with_what_is_given_else_with_the_default() -> None:
    text = "What is {{topic}} in {{language:English}}, {{ topic }}? {{}}"
    told = {"topic": "{{language}}"}
    assert fill(text, told) == "What is {{language}} in English, {{language}}? {{}}"
    assert fill(text, {**told, "language": "French"}).startswith("What is {{language}} in French")
    assert fill("a{{b:}}c", {}) == "ac"


def test_what_is_missing_is_named() -> None:
    with pytest.raises(WrongArgument, match="Nothing is given for topic, place; fill in each"):
        fill("{{topic}} {{language:English}} {{place}}", {"topic": "  "})


@given(st.text(max_size=200))
def test_any_text_without_variables_stays_as_it_is(text: str) -> None:
    if not find_variables(text):
        assert fill(text, {}) == text


def test_a_change_makes_a_version_and_an_older_one_comes_back(prompts: Prompts) -> None:
    made = prompts.create(OWNER, " Sum up ", "About {{topic}}. ")
    assert (made.name, made.text, made.version) == ("Sum up", "About {{topic}}.", 1)
    assert prompts.change(OWNER, made.id, "Sum up", "About {{topic}}.") == made
    second = prompts.change(OWNER, made.id, "Summary", "On {{topic}}.")
    assert second.version == 2
    assert prompts.all(OWNER) == [second]
    third = prompts.bring_back(OWNER, made.id, 1)
    assert (third.name, third.text, third.version) == ("Sum up", "About {{topic}}.", 3)
    assert [one.version for one in prompts.versions(OWNER, made.id)] == [3, 2, 1]


def test_prompts_stand_by_name_and_belong_to_one_person(prompts: Prompts) -> None:
    for name in ("b", "A", "c"):
        prompts.create(OWNER, name, name)
    assert [one.name for one in prompts.all(OWNER)] == ["A", "b", "c"]
    assert prompts.all("somebody else") == []
    first = prompts.all(OWNER)[0]
    prompts.delete("somebody else", first.id)
    with pytest.raises(NotFound):
        prompts.change("somebody else", first.id, "x", "y")
    prompts.delete(OWNER, first.id)
    assert [one.name for one in prompts.all(OWNER)] == ["b", "c"]
    with pytest.raises(NotFound, match="may have been deleted"):
        prompts.versions(OWNER, first.id)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("", "text", "needs a name"),
        ("x" * 81, "text", "needs a name"),
        ("name", " \n", "needs a text"),
        ("name", "x" * 20_001, "needs a text of at most 20,000"),
        ("taken", "text", "There is a prompt 'taken' already"),
    ],
)
def test_what_cannot_be_is_told(prompts: Prompts, name: str, text: str, told: str) -> None:
    prompts.create(OWNER, "Taken", "text")
    with pytest.raises(ConfigError, match=told):
        prompts.create(OWNER, name, text)
    assert len(prompts.all(OWNER)) == 1
    with pytest.raises(NotFound, match="no version 7"):
        prompts.bring_back(OWNER, prompts.all(OWNER)[0].id, 7)

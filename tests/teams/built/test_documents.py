"""Documents of teams: what is read, what is refused, and that nothing is lost on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import ConfigError
from agentkit.teams.built.document import TeamDocument, read_document
from agentkit.teams.built.problems import check_document, find_problems
from agentkit.teams.built.ready_made import ready_made
from tests.teams.built.drafts import agent, discussion, group, pair, retrieve_chat, single

DRAFTS = [single(), pair(), group(), retrieve_chat(), discussion()]
NAMES = [str(draft["name"]) for draft in DRAFTS]


@pytest.mark.parametrize("draft", DRAFTS, ids=NAMES)
def test_what_is_written_is_read_as_it_was(draft: dict[str, Any]) -> None:
    document = read_document(json.dumps(draft))
    assert read_document(json.dumps(document.to_json())) == document
    assert find_problems(document) == []


@given(st.text(), st.text(max_size=2_000))
def test_any_words_of_people_are_kept(prompt: str, about: str) -> None:
    draft = single(system_message=prompt) | {"description": about}
    document = read_document(json.dumps(draft))
    assert (document.agents[0].system_message, document.description) == (prompt, about)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 9}, "newer than this agentkit"),
        ({"format": "other"}, "not a team of agentkit"),
        ({"agents": []}, "agents: List should have at least 1 item"),
        ({"agents": [agent(f"A{number}") for number in range(1_000)]}, "at most 50 items"),
        ({"colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"flow": {"kind": "magic"}}, "flow: Input tag 'magic'"),
        ({"agents": [agent("A", llm={"temperature": 99})]}, "agents[1].llm.temperature"),
        ({"name": "\n"}, "name: String should match pattern"),
    ],
)
def test_what_cannot_be_is_told_with_its_place(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_document(single() | change)
    assert told in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"team"', "[" * 100_000])
def test_what_is_no_document_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_document(text)


def test_a_document_without_end_is_not_read() -> None:
    with pytest.raises(ConfigError, match="3,000,000 characters"):
        read_document(" " * 3_000_000)


def _problems(draft: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.place, one.text) for one in find_problems(read_document(draft))]


def test_contradictions_are_told_beside_their_place() -> None:
    twice = single() | {"agents": [agent("Solo"), agent("Solo")]}
    assert _problems(twice) == [("agents", "2 agents are called 'Solo'; give each its own name")]
    lost = single() | {"flow": {"kind": "single", "agent": "Nobody"}}
    assert _problems(lost) == [("flow.agent", "there is no agent 'Nobody'; choose one of Solo")]
    circle = pair(nested=[{"sender": "Helper", "recipient": "Asker"}])
    assert [place for place, _ in _problems(circle)] == ["flow.nested"]
    outside = group(writer="Guest") | {"agents": [*group()["agents"], agent("Guest")]}
    assert _problems(outside) == [("flow.writer", "Guest is not in the group")]
    both = group(transitions=[{"after": "Ann", "speakers": ["Bob"]}], allow_repeat_speaker=False)
    assert [place for place, _ in _problems(both)] == ["flow.allow_repeat_speaker"]
    mute = retrieve_chat() | {"agents": [agent("Reader", llm=None)]}
    assert [place for place, _ in _problems(mute)] == ["flow.assistant"]
    prompt = retrieve_chat(retrieve_config={"customized_prompt": "{nonsense}"})
    assert [place for place, _ in _problems(prompt)] == ["flow.retrieve_config.customized_prompt"]


def test_who_is_named_takes_part() -> None:
    draft = discussion()
    draft["agents"].append(agent("Dan"))
    draft["flow"]["stages"][0]["speakers"] = ["Ann", "Dan"]
    draft["flow"]["stages"][1]["speakers"] = ["Eve"]
    assert [place for place, _ in _problems(draft)] == [
        "flow.stages",
        "flow.stages[1].speakers",
        "flow.stages[2].speakers",
    ]
    for name in ("Dan", "Eve"):
        draft = group(allow_repeat_speaker=["Ann", name])
        draft["agents"].append(agent("Dan"))
        assert {place for place, _ in _problems(draft)} == {"flow.allow_repeat_speaker"}


def test_what_cannot_be_filled_in_is_told_before_anything_runs() -> None:
    odd = group(select_speaker_prompt_template="Who of {agentlist} is {next}?")
    [(place, text)] = _problems(odd)
    assert place == "flow.select_speaker_prompt_template"
    assert "its placeholders are {roles} and {agentlist}" in text
    table = ready_made("table").to_json()
    table["flow"]["fields"] = '{"type": "object", "properties": }'
    [(place, text)] = _problems(table)
    assert (place, "not valid JSON" in text) == ("flow.fields", True)


def test_a_vote_needs_what_is_counted() -> None:
    draft = discussion()
    del draft["flow"]["stages"][1]["counted"]
    draft["flow"]["stages"][0]["ends_when"] = "speak"
    assert [place for place, _ in _problems(draft)] == [
        "flow.stages[1].ends_when",
        "flow.stages[2].counted",
    ]


def test_models_and_tools_that_are_not_there_are_told() -> None:
    draft = single(llm={"model": "gone"}, tools=[{"name": "lost"}])
    document = read_document(draft)
    assert find_problems(document) == []
    places = [one.place for one in find_problems(document, {"here"}, {"calculate"})]
    assert places == ["agents[1].llm.model", "agents[1].tools[1].name"]


def test_one_error_names_all_of_it() -> None:
    draft = single() | {"flow": {"kind": "single", "agent": "Nobody"}}
    with pytest.raises(ConfigError, match="cannot work") as error:
        check_document(TeamDocument.model_validate(draft))
    assert "flow.agent" in str(error.value)

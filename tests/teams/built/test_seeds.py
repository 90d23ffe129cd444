"""What was recorded of pyautogen and agentscope comes of agents, groups and settings
that stood in the JSON of a team, too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.compressible import scenarios as compressible
from tests.conversation.cast import hearing
from tests.differential import kit
from tests.differential.structured import kit as structured
from tests.teams.built.by_document import (
    ByDocument,
    CompressibleByDocument,
    StructuredByDocument,
)

AREAS = ("chats", "group", "group_ends", "group_members", "human", "nested", "queues", "retrieve")
OF_PYTHON = frozenset(
    [
        # what arguments of GroupChat may be that no document has, and what its attributes are
        *("group_defaults", "group_wrong_arguments", "group_wrong_arguments_found_late"),
        # in documents, blanks around the word that ends a chat do not count
        "the_default_termination_message",
        # functions and classes by themselves, and functions of one's own
        *("the_fields_of_a_result", "windows_by_name", "what_the_assistant_says_by_itself"),
        *("files_of_a_list_with_a_folder", "files_of_one_path", "addresses", "names_and_defaults"),
        *("chunks_of_paragraphs", "chunks_of_an_unknown_mode", "chunks_of_short_texts"),
        *("chunks_of_files", "a_function_of_ones_own", "a_function_that_keeps_a_tool_call"),
        *("a_function_that_leaves_nothing", "a_function_that_says_it_failed", "off_does_nothing"),
        *("a_reply_of_ones_own", "an_agent_without_a_reply", "neither_messages_nor_a_sender"),
        # what is refused in a document as well
        *("a_task_that_is_unknown", "an_unknown_key", "what_the_config_may_not_be"),
        *("a_trigger_below_the_system_message", "how_many_are_left_by_default"),
    ]
)
"""Scenarios in which nothing comes out of a document."""
TALKS = [one for one in kit.load().values() if one.area in AREAS and one.name not in OF_PYTHON]
DIALOGS = [
    one
    for one in structured.load().values()
    if one.area == "agents" and one.name.startswith("dict_") and one.name not in OF_PYTHON
]
COMPRESSIONS = json.loads(
    Path(compressible.__file__).with_name("recorded.json").read_text(encoding="utf-8")
)["scenarios"]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("scenario", TALKS, ids=lambda one: f"{one.area}-{one.name}")
def test_autogen(scenario: kit.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected: Any = kit.recorded(scenario.area)[scenario.name]["expected"]
    made = ByDocument()
    assert kit.plain(scenario.function(made)) == expected
    assert made.made


@pytest.mark.parametrize("scenario", DIALOGS, ids=lambda one: one.name)
def test_agentscope(scenario: structured.Scenario) -> None:
    expected: Any = kit.recorded("agents", structured.RECORDED)[scenario.name]["expected"]
    made = StructuredByDocument()
    assert kit.plain(scenario.function(made)) == expected
    assert made.made


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(COMPRESSIONS) - OF_PYTHON))
def test_compression(name: str) -> None:
    play, better, expected = compressible.SCENARIOS[name]
    made = CompressibleByDocument()
    with hearing():
        given = json.loads(json.dumps(play(made)))
    assert given == (expected if better else COMPRESSIONS[name])
    assert made.made

"""What a player's reply means: tolerant where it can mean one thing only, else refused with what to
do.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import JsonDictValidationError, ResponseParsingError
from agentkit.parsers import ModelResponse
from agentkit.teams.roster import PLAYERS
from agentkit.teams.werewolf import parsers
from agentkit.teams.werewolf.parsers import NOBODY, PhaseParser

VOTE = parsers.for_choice(
    "vote",
    "who is to leave",
    [name for name in PLAYERS if name not in ("Player2", "Player4")],
    PLAYERS,
)
MUST = parsers.for_choice("look", "whose role", ["Player1", "Player3"], PLAYERS, may_abstain=False)
HEAL = parsers.for_decision("heal", "whether you heal")


def said(**fields: Any) -> str:
    return f"```json\n{json.dumps(fields)}\n```"


def read(parser: PhaseParser, **fields: Any) -> Any:
    return parser.parse(said(**fields)).parsed


@pytest.mark.parametrize(
    "value",
    [
        "Player3",
        " player3 ",
        "Player3.",
        "player 3",
        "PLAYER-3",
        "Player_3",
        "**Player3**",
        "“Player3”",
        "I vote Player3",
        "３",
        "I vote for Player3!",
        "I would like to eliminate Player3",
        "My vote: Player3",
        "eliminate Player3",
        "Player3 because Player5 said so",
        3,
        "3",
        "#3",
        ["Player3"],
    ],
)
def test_a_name_is_read_in_many_forms(value: Any) -> None:
    assert read(VOTE, thought="Hm", vote=value) == {"thought": "Hm", "vote": "Player3"}


@pytest.mark.parametrize(
    "value",
    [
        "Player3 or Player5",
        "not Player3",
        "anyone but Player3",
        "I trust Player3",
        "Player33",
        "Player",
        "save Player3",
        True,
        7,
        3.0,
        {"name": "Player3"},
        ["Player3", "Player5"],
        "Player3, Player5",
        pytest.param("." * 100_000 + "x", id="long"),
        "?",
        "I vote for",
        "I am Player3",
        "My name is Player3",
        "I like Player3",
        "I don't vote for Player3",
    ],
)
def test_what_may_mean_another_is_refused(value: Any) -> None:
    with pytest.raises(
        JsonDictValidationError,
        match=r'"vote" .* names nobody clearly; give exactly one of: Player1, Player3',
    ):
        read(VOTE, thought="", vote=value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "nobody",
        "None",
        "no one",
        "I abstain.",
        "I vote for nobody.",
        "abstain",
        "N/A",
        False,
        "no",
        "skip",
    ],
)
def test_abstaining_is_read_in_many_forms_where_one_may(value: Any) -> None:
    assert read(VOTE, thought="", vote=value)["vote"] == NOBODY
    with pytest.raises(ResponseParsingError):
        read(MUST, thought="", look=value)


@pytest.mark.parametrize("value", ["Player2", "player 4", 2])
def test_the_dead_and_oneself_cannot_be_chosen(value: Any) -> None:
    response = ModelResponse(text=said(thought="", vote=value))
    with pytest.raises(
        JsonDictValidationError,
        match=r"Player[24] cannot be chosen; give exactly one of: .*, or nobody|Player6",
    ):
        VOTE.parse(response)
    assert response.parsed is None


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (True, True),
        ("true", True),
        ("True.", True),
        ("yes", True),
        (1, True),
        ("Yes, because I can", True),
        (False, False),
        ("false", False),
        ("No.", False),
        (0, False),
        ("no, since it is early", False),
    ],
)
def test_decisions_are_read_in_many_forms(value: Any, meant: bool) -> None:
    parsed = read(HEAL, thought="", heal=value)
    assert parsed["heal"] is meant
    assert (HEAL.to_metadata(parsed), HEAL.to_content(parsed)) == (meant, "yes" if meant else "no")


@pytest.mark.parametrize("value", ["maybe", "", None, "not now", 2, "yes and no", [True, False]])
def test_an_unclear_decision_is_refused(value: Any) -> None:
    with pytest.raises(ResponseParsingError, match="heal"):
        read(HEAL, thought="", heal=value)


def test_what_is_thought_said_and_signalled_are_different_things() -> None:
    parser = parsers.for_scheme("Player1")
    parsed = read(
        parser, thought="A secret", speak="Take\n\nPlayer2: me!", finish_discussion="true"
    )
    assert parser.to_memory(parsed) == {"thought": "A secret", "speak": "Take Player2: me!"}
    assert (
        parser.to_content(parsed) == "Take Player2: me!"
    )  # one paragraph: nobody speaks in another's name
    assert parser.to_metadata(parsed) is True
    talk = parsers.for_talk("Player1")
    assert talk.to_metadata(read(talk, speak="Hello")) is None


def test_a_thought_may_be_missing_what_is_asked_may_not() -> None:
    assert read(VOTE, vote="Player3") == {"thought": "", "vote": "Player3"}
    assert read(VOTE, thought=None, vote="Player3")["thought"] == ""
    with pytest.raises(ResponseParsingError, match="vote"):
        read(VOTE, thought="Player3")
    for nothing in ("", None, 3, "  "):
        with pytest.raises(ResponseParsingError, match="speak"):
            read(parsers.for_talk("Player1"), thought="", speak=nothing)


def test_the_instruction_names_the_fields_and_the_options() -> None:
    for expected in (
        '"thought"',
        '"vote"',
        "who is to leave",
        "Player1, Player3, Player5, Player6, or nobody",
    ):
        assert expected in VOTE.format_instruction
    assert "you, Player5, say to everybody" in parsers.for_talk("Player5").format_instruction


def test_servers_get_the_options_as_a_schema() -> None:
    schema = VOTE.api_format()["json_schema"]["schema"]
    assert schema["required"] == ["thought", "vote"]
    assert schema["properties"]["vote"]["enum"] == [
        "Player1",
        "Player3",
        "Player5",
        "Player6",
        "nobody",
    ]
    assert MUST.api_format()["json_schema"]["schema"]["properties"]["look"]["enum"] == [
        "Player1",
        "Player3",
    ]
    assert HEAL.api_format()["json_schema"]["schema"]["properties"]["heal"]["type"] == "boolean"


@pytest.mark.parametrize(
    "parser", [VOTE, MUST, HEAL, parsers.for_talk("Player1"), parsers.for_scheme("Player1")]
)
def test_no_reply_counts_as_silence_no_and_nobody(parser: PhaseParser) -> None:
    assert set(parser.passed) == set(parser.fields)
    assert parser.to_metadata(parser.passed) in (None, NOBODY, False, True)
    assert parser.to_content(parser.passed) in ("I have nothing to say.", NOBODY, "no")


def test_names_of_ones_own_are_found_as_well() -> None:
    names = ["Anna Lee", "Björn", "李"]
    parser = parsers.for_choice("vote", "who", names, names)
    for value, meant in {
        "anna lee": "Anna Lee",
        "AnnaLee": "Anna Lee",
        "BJÖRN!": "Björn",
        "I vote 李": "李",
    }.items():
        assert read(parser, vote=value)["vote"] == meant


@given(st.text(max_size=200))
def test_any_text_is_a_candidate_or_refused(text: str) -> None:
    try:
        vote = read(VOTE, thought="", vote=text)["vote"]
    except ResponseParsingError:
        return
    assert vote in ("Player1", "Player3", "Player5", "Player6", NOBODY)

"""TERMINATE is found at the end in any dress, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.teams.ending import is_ending, without_ending


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("TERMINATE", ""),
        ('"TERMINATE".', ""),
        ("Done. TERMINATE", "Done."),
        ("Done.\n\n**TERMINATE**\n", "Done."),
        ("Done (TERMINATE)", "Done"),
        ("Done.\nTerminate.", "Done."),
        ("`terminate`", ""),
        ("```text\nx\n```\nTERMINATE", "```text\nx\n```"),
        ("A list:\n- one\n\n- TERMINATE", "A list:\n- one"),
    ],
)
def test_an_ending_is_found_and_taken_off(text: str, rest: str) -> None:
    assert is_ending(text)
    assert without_ending(text) == rest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The contract will terminate.",
        "PREDETERMINATE",
        "TERMINATE is what you write at the end",
        "Do not TERMINATE yet",
    ],
)
def test_the_word_elsewhere_ends_nothing(text: str) -> None:
    assert not is_ending(text)
    assert without_ending(text) == text


@given(st.text())
def test_any_text_keeps_all_but_its_ending(text: str) -> None:
    assert is_ending(f"{text}\nTERMINATE")
    assert text.strip().startswith(without_ending(f"{text}\nTERMINATE"))

"""Sentences: what ends one and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.core.text import sentences, shorten


def cut(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in sentences(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["It rained.", "We left!", "Did you?", "Yes…"],
        ["Dr. J. R. Smith paid 3.14 euros, i.e. too much.", "He left at 5 p.m. with Mrs. Jones."],
        ["See Fig. 3 and pp. 12 ff. of vol. 2 by Kim et al. for more.", "It helps."],
        ["He lives in the U.S. government housing.", "I saw it in the U.S.", "The law is old."],
        ['"Stop!" he said.', '"Why?" she asked.', "(It was late.)", "They went home."],
        ["The file is config.v2.yaml and the site is example.org.", "Open it."],
        ["これは文です。", "次の文です！", "終わり"],
        ["He said „Nein.“", "Danach ging er z.B. heim."],
    ],
)
def test_prose(expected: list[str]) -> None:
    text = (
        " ".join(expected)
        if expected[0].isascii() or "„" in expected[0] or "…" in expected[-1]
        else "".join(expected)
    )
    assert cut(text) == expected


def test_wrapped_lines_are_joined_and_titles_are_not() -> None:
    text = (
        "Annual Report\n"
        "The company sold more lamps than ever before, which\n"
        "Peter Miller had predicted in the spring. Costs fell\n"
        "too.\n\n"
        "Outlook\n\nNo change."
    )
    assert cut(text) == [
        "Annual Report",
        (
            "The company sold more lamps than ever before, which Peter Miller had predicted in the"
            " spring."
        ),
        "Costs fell too.",
        "Outlook",
        "No change.",
    ]


def test_lists_and_table_rows_stand_alone() -> None:
    text = (
        "We need:\n- one lamp\n- two wires\n1. First do this\n2. Then that\nName | Height\nArkona |"
        " 19 m"
    )
    assert cut(text) == [
        "We need:",
        "- one lamp",
        "- two wires",
        "1. First do this",
        "2. Then that",
        "Name | Height",
        "Arkona | 19 m",
    ]


TEXTS = st.text(st.sampled_from("ab AB.!?。\n\t 1)(\"'-|:…é"), max_size=300) | st.text(max_size=300)


@given(TEXTS)
def test_sentences_are_in_order_trimmed_and_cover_all_but_white_space(text: str) -> None:
    at = 0
    for start, end in sentences(text):
        assert not text[at:start].strip()
        assert start < end
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


def test_a_long_text_is_shortened_to_one_line() -> None:
    assert shorten(" at\n  noon ", 7) == "at noon"
    assert shorten("at noon and later", 9) == "at noon…"
    assert shorten("at noonandlater", 9) == "at noonan…"

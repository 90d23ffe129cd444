"""Quotes are found where they stand, however a model has changed their signs and spaces, and only
whole words.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.documents import DocumentText, Section
from agentkit.teams.extraction.quoting import Paper


def paper(text: str) -> Paper:
    return Paper(
        "1",
        "a.pdf",
        DocumentText(
            text, (Section(text, 0, len(text), "Part", 3, "lines 1-3"),), "text/plain", "", None
        ),
    )


@pytest.mark.parametrize(
    ("text", "quote", "words"),
    [
        ("Total: 12 EUR", "Total: 12 EUR", "Total: 12 EUR"),
        ("Total:\n  12\u00a0EUR", "total: 12 eur", "Total:\n  12\u00a0EUR"),
        (
            "the \u201clast\u201d word \u2013 done",
            'the "last" word - done',
            "the \u201clast\u201d word \u2013 done",
        ),
        ("It\u2019s a co\u00adoperation", "it's a cooperation", "It\u2019s a co\u00adoperation"),
        ("a \ufb01ne stra\u00dfe", "a FINE STRASSE", "a \ufb01ne stra\u00dfe"),
        ("2512 and 12", "12", "12"),
        ("bei 東京都 is", "京", "京"),
        ("the end", "\u2026 the end \u2026", "the end"),
    ],
)
def test_a_quote_is_found(text: str, quote: str, words: str) -> None:
    found = paper(text).find(quote)
    assert found is not None
    assert found.text == words
    assert text[found.start : found.end] == words


@pytest.mark.parametrize("quote", ["", "  ", "\u2026", "13 EUR", "otal", "Total: 1"])
def test_what_does_not_stand_there_is_not_found(quote: str) -> None:
    assert paper("Total: 12 EUR").find(quote) is None


def test_the_place_is_narrowed_to_the_line() -> None:
    found = paper("one\ntwo\nthree").find("two")
    assert found is not None
    assert (found.page, found.place, found.heading, found.where) == (
        3,
        "line 2",
        "Part",
        "a.pdf, p. 3",
    )


@given(st.text(max_size=80), st.data())
def test_every_stretch_of_whole_words_is_found(text: str, data: st.DataObject) -> None:
    words = text.split()
    if not words:
        return
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    quote = " ".join(words[first : last + 1])
    found = paper(text).find(quote)
    assert found is not None or not quote.strip("\u2026 \u00ad")

"""What nobody sees is written out, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.core.unseen import reveal

RANGES = [
    (0x00, 0x08),
    (0x0B, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF9, 0xFFFB),
    (0xE0000, 0xE007F),
    (0xE0100, 0xE01EF),
]


@pytest.mark.parametrize(("first", "last"), RANGES, ids=[f"{first:04X}" for first, _ in RANGES])
def test_what_is_not_seen_is_written_out_and_counted(first: int, last: int) -> None:
    for code in range(first, last + 1):
        found = reveal(f"a{chr(code)}b{chr(code)}")
        assert (found.text, found.unseen) == (f"a⟨U+{code:04X}⟩b⟨U+{code:04X}⟩", 2)


def test_the_line_that_only_looks_like_a_comment() -> None:
    found = reveal(
        "access = 'user'\nif access != 'none\u202e \u2066# check\u2069 \u2066':\n    delete()\n"
    )
    assert "none⟨U+202E⟩ ⟨U+2066⟩# check⟨U+2069⟩ ⟨U+2066⟩'" in found.text
    assert (found.lines, found.unseen) == (3, 4)


def test_a_return_that_hides_what_stood_before_it() -> None:
    assert reveal("import os; os.remove('a')\rprint('harmless')").text.count("⟨U+000D⟩") == 1
    assert reveal("one\r\ntwo\r\n") == reveal("one\ntwo\n")


@pytest.mark.parametrize(
    ("text", "lines"), [("", 1), ("a", 1), ("a\n", 1), ("a\n\n\nb", 4), ("a\n" + "\n" * 99, 1)]
)
def test_lines_are_counted(text: str, lines: int) -> None:
    assert reveal(text).lines == lines


@pytest.mark.parametrize(
    "text", ["Größe = 'Ærø'\n\tprint(\"日本語　空白\")", "שלום = 'مرحبا'", "π² ≤ 10 € … – ’"]
)
def test_what_is_seen_stays(text: str) -> None:
    assert (reveal(text).text, reveal(text).unseen) == (text, 0)


@given(st.text(st.characters()))
def test_nothing_unseen_is_left(text: str) -> None:
    found = reveal(text)
    assert reveal(found.text).unseen == 0
    assert len(found.text) >= len(text.replace("\r\n", "\n"))


def test_a_megabyte_of_all_kinds() -> None:
    kinds = "".join(map(chr, range(0xE0000, 0xE1000)))
    assert reveal(kinds * 250).unseen == 250 * 4096

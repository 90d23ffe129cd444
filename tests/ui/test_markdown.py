"""Texts that are shown: nothing in them may act as markup that was not meant."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.ui.text import markdown

PICTURE = "![x](http://evil/y)"


@given(st.text())
def test_a_literal_text_keeps_its_characters_and_loses_its_markup(text: str) -> None:
    shown = markdown.literal(text)
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown) == " ".join(text.split())
    assert not re.search(r"(?<!\\)(?:\\\\)*[*_`\[\]<$]", shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It costs $5 [1].", r"It costs \$5 [\[1\]](#cite-m-1)."),
        ("Both [1, 2] and [3].", r"Both [\[1\]](#cite-m-1)[\[2\]](#cite-m-2) and \[3\]."),
        (
            "`a[1]` and\n```\nb[1] $x\n```\n[1]",
            "`a[1]` and\n```\nb[1] $x\n```\n[\\[1\\]](#cite-m-1)",
        ),
        ("A picture ![x](http://evil/y)", r"A picture !\[x](http://evil/y)"),
        ("A link [1](http://there)", "A link [1](http://there)"),
        (r"Already \$5", r"Already \$5"),
    ],
)
def test_an_answer_links_its_markers_and_nothing_else(text: str, shown: str) -> None:
    assert markdown.answer(text, "m", {1, 2}) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("So $E = m c^2$ holds [1].", "So $E = m c^2$ holds [\\[1\\]](#cite-m-1)."),
        (r"A \(x_1\) and $n$, $10^{-3}$.", "A $x_1$ and $n$, $10^{-3}$."),
        (
            "So:\n\n  \\[a = \\frac{1}{2}\\]\n\nThen.",
            "So:\n\n  $$\n  a = \\frac{1}{2}\n  $$\n\nThen.",
        ),
        ("$$\na = b\n$$", "$$\na = b\n$$"),
        ("Here $$a = b$$ too.", "Here $a = b$ too."),
        ("$x_{[1]}$", "$x_{[1]}$"),
        ("`$a = b$`", "`$a = b$`"),
        ("From $5 to $6, $1,200 or $a.", r"From \$5 to \$6, \$1,200 or \$a."),
        ("| $5 (= 4.60 euros)$ |", r"| \$5 (= 4.60 euros)\$ |"),
        (r"$HOME/$USER, \$x = 1$", r"\$HOME/\$USER, \$x = 1\$"),
        (r"As in \[1\] (\(see there\)).", r"As in \[1\] (\(see there\))."),
        ("$a = \n\nb$ and $$a =\n\nb$$", "\\$a = \n\nb\\$ and \\$\\$a =\n\nb\\$\\$"),
    ],
)
def test_formulas_are_formulas_and_prices_are_prices(text: str, shown: str) -> None:
    assert markdown.answer(text, "m", {1}) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (PICTURE, "!\\[x](http://evil/y)"),
        (rf"\\{PICTURE}", r"\\!\[x](http://evil/y)"),
        (f"`{PICTURE}`", "`!` `[x](http://evil/y)`"),
        (f"``a{PICTURE}``", "``a!`` ``[x](http://evil/y)``"),
        (f"```\n{PICTURE}\n```", f"```\n{PICTURE}\n```"),
        (f"> ~~~\n> {PICTURE}\n> ~~~", f"> ~~~\n> {PICTURE}\n> ~~~"),
        (f"> ```\n{PICTURE}", "> ```\n!\\[x](http://evil/y)"),
        (f"```\na\n```\n    {PICTURE}", "```\na\n```\n    !\\[x](http://evil/y)"),
        ("It works![1]", r"It works\![\[1\]](#cite-m-1)"),
        ("[^1]: A note", r"\[^1]: A note"),
        (":::note\n$$", "\\:::note\n\\$\\$"),
        (r"\\$5", r"\\\$5"),
        (r"\`$5`", r"\`\$5`"),
        ("```\n$5\n```\n<div>\n\\[a^2\\]\n</div>", "```\n$5\n```\n<div>\n\\[a^2\\]\n</div>"),
    ],
)
def test_nothing_begins_that_the_browser_alone_would_see(text: str, shown: str) -> None:
    assert markdown.answer(text, "m", {1}) == shown


def test_a_doubtful_marker_is_shown_as_such_at_its_place_only() -> None:
    text = "$5 and\r\n`[1]` [1], [2](u) ![1]\n```\n[1]\n```\nthen [1, 7] $x_{[1]}$ [1]."
    at = [match.start() for match in re.finditer(r"\[1", text)]
    shown = markdown.answer(text, "m", {1, 2}, [(at[2], 1), (at[4], 1), (at[4], 7), (at[3], 1)])
    assert shown == (
        "\\$5 and\n`[1]` [\\[1\\]](#cite-m-1), [2](u) "
        "\\![\\[1?\\]](#cite-m-1?)\n```\n[1]\n```\n"
        "then [\\[1?\\]](#cite-m-1?)\\[7?\\] $x_{[1]}$ [\\[1\\]](#cite-m-1)."
    )


@given(
    st.lists(
        st.sampled_from(
            [
                "[1]",
                "[2, 3]",
                "![1]",
                "[1](u)",
                "\\",
                "!",
                "`",
                "```\n",
                "\n",
                "\r\n",
                "$",
                "a^2",
                "\\[",
            ]
        )
    )
)
def test_a_doubt_changes_nothing_but_its_own_marker(parts: list[str]) -> None:
    text = "".join(parts)
    plain = markdown.answer(text, "m", {1, 2})
    for match in re.finditer(r"\[(\d)", text):
        shown = markdown.answer(text, "m", {1, 2}, [(match.start(), int(match[1]))])
        assert shown.replace("?", "") == plain
        assert shown.count("?") in (0, 1, 2)


def test_a_citation_stays_one_whatever_its_number_is_said_to_lead_to() -> None:
    shown = markdown.answer("So it is [1].\n\n[1]: http://evil/y", "m", {1})
    assert shown.startswith(r"So it is [\[1\]](#cite-m-1).")


def test_a_text_longer_than_anybody_reads_is_shown_as_it_stands() -> None:
    text = f"{PICTURE} ```` $a_1$ " * 5_000
    assert markdown.prose(text) == f"`````\n{text}\n`````"
    assert markdown.split_finished(text) == ("", text)


@given(st.lists(st.sampled_from([PICTURE, "```", "~~~", "`", "\n", "\\", "$", "> ", "a^2"])))
def test_no_picture_is_left_outside_of_fenced_code(parts: list[str]) -> None:
    outside = re.sub(r"(?ms)^[> ]*(```|~~~).*", "", markdown.prose("".join(parts)))
    assert "![" not in re.sub(r"\\.", "", outside)  # of an escaped "!" a link is left


@given(st.text(st.sampled_from("$\\\\[]()a1= \n`^")))
def test_nothing_is_lost_around_formulas(text: str) -> None:
    def bare(text: str) -> str:
        return re.sub(r"[\\\s$\[\]()]", "", text)

    assert bare(markdown.prose(text)) == bare(text)


@given(st.lists(st.sampled_from(["word", "\n\n", "\n", "```", " ", "[1]"])).map("".join))
def test_what_is_finished_never_changes_while_the_text_grows(text: str) -> None:
    before = ""
    for end in range(len(text) + 1):
        done, rest = markdown.split_finished(text[:end])
        assert text[:end].startswith(done)
        assert text[:end].endswith(rest)
        assert not text[len(done) : end - len(rest)].strip()
        assert done.startswith(before)
        before = done


def test_code_with_blank_lines_stays_in_one_piece() -> None:
    assert markdown.split_finished("First.\n\n```\na\n\nb") == ("First.", "```\na\n\nb")


def test_marked_words_are_shown_as_they_stand() -> None:
    shown = markdown.mark_parts([("    It is ", False), ("*hot*\nnow", True), (".", False)])
    assert shown == "It is :primary-background[\\*hot\\*]  \n:primary-background[now]\\."

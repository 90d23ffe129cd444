"""Where an input ends: what is written as JSON or in quotes is read whole or refused, never cut."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentkit.agents.rewoo import parse_plan
from agentkit.errors import ResponseParsingError
from tests.timing import processor_time


def read(written: str, before: str = "", after: str = "") -> str:
    """The input that is read where this was written, between other steps."""
    steps = parse_plan(f"{before}Plan: p\n#E1 = run[{written}]\n{after}", ["run"]).steps
    assert len(steps) == 1 + bool(before) + bool(after)
    return steps[bool(before)].arguments


@pytest.mark.parametrize(
    "written",
    [
        "x = ']'\nprint(x)",
        "x = ']'\nprint(y[0])\nprint('[')",
        "print('it\\'s ]')\nprint(1)",
        "'a ] b'",
        "'a\n] b'",
        "“a\n] b”",
        '"a\n] b"',
        '"a \\\' ] \n b"',
        "it's [Ann's] dogs' ] x",
        "{'a': ']', 'b': [1, ']']}",
        "('a ] b', 3)",
        "['a ]', 'b']",
        '{"a": #E0, "b": "]"}',
        "```py\nx = ']'\nprint(x)\n```",
        '"a"] + x["b"]',
    ],
)
def test_a_closing_bracket_in_the_input_is_part_of_it(written: str) -> None:
    before = "Plan: o\n#E0 = run[x]\n"
    assert read(written, before) == written
    assert read(written, before, "Plan: q\n#E2 = run[y]\n") == written


@pytest.mark.parametrize(
    "written",
    [
        "# a ] b\nprint(1)",
        "# a ] b\nprint(x) # [ c",
        "x = '''\n]\n'''",
        '{"a": #E1, "b": "x ] \n [ y"}',
        "{'a': 'x } ]\n[ y'}",
        '[#E1, "a\n] b"]',
        'x = "' + "a" * 300 + "]\" + '['",
        "'a]\nPlan: b\n#E2 = run[x]'",
        '{"a": "b]\nPlan: b\n#E2 = run[x]"}',
    ],
)
def test_an_input_that_may_end_elsewhere_is_refused(written: str) -> None:
    with pytest.raises(
        ResponseParsingError, match=r"where the input of #E1 ends is unclear; write it as JSON"
    ):
        read(written)


@pytest.mark.parametrize(
    "after",
    ["\nGood luck [really].", " # see [1]", " (it's [1])\nAnn's", "]\n]", "\n```\n[1] is a source"],
)
def test_what_follows_an_action_is_passed_over(after: str) -> None:
    [step] = parse_plan(
        f"Plan: p\n#E1 = run[x{'' if after.startswith(']') else ']'}{after}", ["run"]
    ).steps
    assert step.arguments == "x"


def test_code_in_a_fence_within_a_plan_in_a_fence() -> None:
    code = "```py\nx = [1]\n```"
    assert read(f"\n{code}\n", "```\nPlan: o\n#E0 = run[x]\n", "Plan: q\n#E2 = run[y]\n```") == code
    [step] = parse_plan(f"Sure.\n```\nPlan: p\n#E1 = run[\n{code}\n]\n```\n", ["run"]).steps
    assert step.arguments == code


def test_the_word_for_the_end_of_reasoning_in_an_input() -> None:
    assert read('"what is </think>"', after="Plan: q\n#E2 = run[y]\n") == '"what is </think>"'


PIECES = st.sampled_from(
    [
        "[",
        "]",
        '"',
        "'",
        "“",
        "”",
        "\\",
        "{",
        "}",
        "］",
        "\n",
        " ",
        "]\nPlan: b\n#E2 = run[x",
        "\n```\n",
        "Plan: ",
        "</think>",
        "#E2 = run[",
        "it's",
        "x",
        ",",
        ":",
        "(",
        '": "',
        "]\n",
        " ]",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=2), max_size=12).map("".join)


def in_quotes(opened: str, closed: str) -> Callable[[str], str]:
    """The text in these quotes, with a backslash before those that it contains; lines as they
    are.
    """

    def form(text: str) -> str:
        for each in dict.fromkeys(("\\", opened, closed)):
            text = text.replace(each, "" if opened == "“" else "\\" + each)
        return f"{opened}{text}{closed}"

    form.__name__ = opened
    return form


def as_object(text: str) -> str:
    return json.dumps({"q": text, "r": [text]}, ensure_ascii=False)


def with_reference(text: str) -> str:
    return f'{{"r": #E0, "q": {json.dumps(text)}}}'


FORMS = [
    json.dumps,
    as_object,
    with_reference,
    repr,
    in_quotes('"', '"'),
    in_quotes("'", "'"),
    in_quotes("“", "”"),
]
SURE = [json.dumps, as_object]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@settings(max_examples=30, deadline=None)
@given(text=TEXTS, follows=st.booleans())
@example(text="a]\nPlan: b\n#E2 = run[x", follows=True)
@example(text="a ]\n[ b", follows=False)
def test_a_quoted_input_comes_back_unchanged_or_is_refused(
    form: Callable[[str], str], text: str, follows: bool
) -> None:
    text = text.replace("\r", "").replace("#E2", "#" if form in SURE else "#E2")
    written = form(text)
    after = "Plan: q\n#E2 = run[y]\n" if follows else ""
    try:
        assert read(written, "Plan: o\n#E0 = run[x]\n", after) == written
    except ResponseParsingError:
        assert form not in SURE  # JSON is always read


@pytest.mark.parametrize(
    "piece",
    [
        "#E1=A['x] ",
        "#E1=A['x]'",
        "#E1=A[“x]",
        '#E1=A[\\"] ',
        "]\n",
        "' ",
        "\\'",
        "</think>x",
        "#E1=A[{'] ",
    ],
)
@pytest.mark.parametrize("ending", ["", "”", "'", "]"])
def test_reading_takes_linear_time(piece: str, ending: str) -> None:
    with (
        processor_time(2),
        pytest.raises(ResponseParsingError),
    ):  # quadratic time would be some 20 s
        parse_plan("Plan: x\n#E1 = A['" + piece * (40_000 // len(piece)) + ending, ["B"])

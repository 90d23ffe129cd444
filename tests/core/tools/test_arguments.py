"""Arguments as models write them: read where they have one meaning, refused with a reason
otherwise.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.core.tools import parse_arguments
from agentkit.errors import WrongArgument

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON), st.booleans(), st.sampled_from([None, 2]))
def test_arguments_survive_the_way_through_json(
    arguments: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(arguments, ensure_ascii=ascii_only, indent=indent)
    assert parse_arguments(text) == arguments
    assert parse_arguments(f"```json\n{text}\n```\n") == arguments


@given(st.text(st.characters(exclude_characters='"\\', exclude_categories=["Cs"])))
def test_raw_control_characters_are_taken_as_they_are(text: str) -> None:
    assert parse_arguments('{"code": "' + text + '"}') == {"code": text}


@given(st.text(st.sampled_from('{}[]":,\\ntu0 1e.-`\n'), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert isinstance(parse_arguments(text), dict)
    except WrongArgument as error:
        assert "JSON" in str(error)  # noqa: PT017 (both ways are right)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        (" \n", {}),
        ("null", {}),
        (None, {}),
        ("{}", {}),
        ("```\n{}\n```", {}),
        ({"a": 1}, {"a": 1}),
        ('{\n "a":\n {"x": 1}}', {"a": {"x": 1}}),
        ('{"s": "line1\nline2\tend\r\x00"}', {"s": "line1\nline2\tend\r\x00"}),
        ('{"s": "a\\nb \\"q\\"\nnew"}', {"s": 'a\nb "q"\nnew'}),
        (r'{"s": "C:\data"}', {"s": "C:\\data"}),
        (r'{"s": "C:\users\u00e9"}', {"s": "C:\\users\u00e9"}),
        (r'{"s": "\\d+ \d+ \u00e9 \n"}', {"s": "\\d+ \\d+ é \n"}),
        ('{"s": "one \\\ntwo"}', {"s": "one \\\ntwo"}),
        ('{"s": "```python\\nx\\n```"}', {"s": "```python\nx\n```"}),
        ('```json\n{"s": "```\nx\n```"}\n```', {"s": "```\nx\n```"}),
    ],
)
def test_arguments_as_models_write_them(text: Any, arguments: dict[str, Any]) -> None:
    assert parse_arguments(text) == arguments


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ', "they end too early, at line 1 after '{\"a\": '"),
        ('{\n"a": "cut o', r"they end too early, at line 2 after .*cut o"),
        ('{"a": 1,}', "at line 1, column 9, near"),
        ("{'a': 1}", "expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"a": 1} more', "extra data at line 1, column 10, near '{\"a\": 1} more'"),
        ('{\n"a" 1}', "expecting ':' delimiter at line 2, column 5"),
        ("[1]", "must be a JSON object .* but they are an array"),
        ('"text"', "but they are a string"),
        ("3", "but they are a number"),
        ("true", "but they are a boolean"),
        (r'{"a": "\u12"}', r"invalid \\uxxxx escape at line 1, column"),
        ("[" * 100_000, "cannot be read as JSON"),
        ("1" * 5_000, "cannot be read as JSON"),
        (3, "but they are 3"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_model_is_told_what_is_wrong_with_its_json(text: Any, message: str) -> None:
    with pytest.raises(WrongArgument, match=message):
        parse_arguments(text)

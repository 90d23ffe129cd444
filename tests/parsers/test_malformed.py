"""What becomes of replies that miss the format, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.errors import ResponseParsingError
from agentkit.parsers import MarkdownJsonDictParser, ModelResponse
from tests.parsers.malformed import PARSED, REFUSED, Refusal

PARSER = MarkdownJsonDictParser(
    {"thought": "...", "speak": "...", "end": "true/false"}, required_keys=["speak"]
)


@pytest.mark.parametrize(
    ("reply", "parsed"),
    [
        pytest.param(*row, id=f"{kind} {n}")
        for kind, rows in PARSED.items()
        for n, row in enumerate(rows)
    ],
)
def test_is_parsed(reply: str, parsed: dict[str, Any]) -> None:
    response = PARSER.parse(reply)
    assert response.parsed == parsed
    assert [type(value) for value in response.parsed.values()] == [
        type(value) for value in parsed.values()
    ]
    assert response.text == reply


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        pytest.param(*row, id=f"{kind} {n}")
        for kind, rows in REFUSED.items()
        for n, row in enumerate(rows)
    ],
)
def test_is_refused(reply: str, refusal: Refusal) -> None:
    response = ModelResponse(text=reply, parsed="of an earlier reply")
    with pytest.raises(ResponseParsingError) as raised:
        PARSER.parse(response)
    assert type(raised.value) is refusal[0]
    assert refusal[1] in raised.value.message
    assert raised.value.raw_response == reply
    assert response.parsed is None
    assert response.text == reply


def test_the_table_is_long_and_nothing_is_in_it_twice() -> None:
    replies = [reply for table in (PARSED, REFUSED) for rows in table.values() for reply, _ in rows]
    assert len(replies) >= 200
    assert len(set(replies)) == len(replies)

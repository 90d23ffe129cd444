"""MarkdownCodeBlockParser."""

from __future__ import annotations

import pytest

from agentkit.errors import TagNotFoundError
from agentkit.parsers import MarkdownCodeBlockParser


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("```python\nx = 1\n```", "\nx = 1\n"),
        ("Sure:\n```python\nx = 1\n```\nDone.", "\nx = 1\n"),
        ("```Python\nx\n```", "\nx\n"),
        ("``` python\nx\n```", "\nx\n"),
        ("```python\n```", "\n"),
        ("```python x = 1```", " x = 1"),
        ("```python x = 1``` and\n```js\ny\n```", " x = 1"),
        ("~~~python\nx\n~~~", "\nx\n"),
        ("```python3\nx\n```\n```python\ny\n```", "\ny\n"),
        ("```python\nx = '```'\n```", "\nx = '```'\n"),
        ("````python\n```\n````", "\n```\n"),
        ("```python\n~~~\n```", "\n~~~\n"),
        ("```python\nx\n  ```", "\nx\n  "),
        ("```python\nx = 1 ``` done", "\nx = 1 "),
        ("```python\nx\n````", "\nx\n"),
        ("```js\ny\n```\n```python\nx\n```", "\nx\n"),
        ("```\nx\n```", "\nx\n"),
        ("```js\ny\n```\ntext\n```\nx\n```", "\nx\n"),
        ("```\nz\n```\n```python\nx\n```", "\nx\n"),
        ("```python\nx\n```\n```python\ny\n```", "\nx\n"),
        ("<think>```python\ndraft\n```</think>```python\nx\n```", "\nx\n"),
        ("```python\r\nx\r\n```", "\r\nx\r\n"),
        ("Use the ```python fence. Here:\n```python\nx\n```", "\nx\n"),
        ("Run ```python x.py```, then\n```python \nx\n```", " \nx\n"),
    ],
)
def test_finds_the_block(reply: str, code: str) -> None:
    response = MarkdownCodeBlockParser("python").parse(reply)
    assert (response.parsed, response.text) == (code, reply)


def test_a_language_is_compared_as_a_whole() -> None:
    parser = MarkdownCodeBlockParser("c")
    assert parser.parse("```cpp\nint a;\n```\n```C\nint b;\n```").parsed == "\nint b;\n"
    assert MarkdownCodeBlockParser("c++").parse("```c++\nx\n```").parsed == "\nx\n"
    with pytest.raises(TagNotFoundError, match="no block of c in the reply"):
        parser.parse("```cpp\nint a;\n```")


@pytest.mark.parametrize(
    ("reply", "begin", "end"),
    [
        ("no code", True, True),
        ("", True, True),
        ("```js\ny\n```", True, False),
        ("```python\nx", False, True),
        ("```\nx", False, True),
        ("x\n```", True, False),
        ("````python\nx\n```", False, True),
        ("```python\nx\n~~~", False, True),
    ],
)
def test_says_which_fence_is_missing(reply: str, begin: bool, end: bool) -> None:
    with pytest.raises(TagNotFoundError) as raised:
        MarkdownCodeBlockParser("python").parse(reply)
    assert (raised.value.missing_begin_tag, raised.value.missing_end_tag) == (begin, end)
    assert raised.value.raw_response == reply


def test_attributes_and_instruction() -> None:
    parser = MarkdownCodeBlockParser("python", "print(...)")
    assert (parser.name, parser.tag_begin, parser.tag_end) == ("python block", "```python", "```")
    assert parser.content_hint == "print(...)"
    assert "```python\nprint(...)\n```" in parser.format_instruction
    assert "python" in MarkdownCodeBlockParser("python").content_hint
    assert parser.api_format() is None

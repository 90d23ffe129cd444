"""Blocks of code in Markdown: what is one, its language, and texts that try to confuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.coding import CommandLineCodeResult, IPythonCodeResult, MarkdownCodeExtractor
from agentkit.coding.code_blocks import content_str, infer_lang
from agentkit.errors import WrongArgument, WrongType
from tests.timing import processor_time


def blocks(text: str | list[dict[str, object]] | None) -> list[tuple[str, str]]:
    return [
        (block.language, block.code) for block in MarkdownCodeExtractor().extract_code_blocks(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```python\nprint(1)\n```", [("python", "print(1)")]),
        ("```Python   \na\n   ```  ", [("Python", "a")]),
        ("text ```python\na\n``` text", [("python", "a")]),
        ("use `x` in ```sh\nls\n```", [("sh", "ls")]),
        ("a\n```python\n1\n```\nb\n```sh\n2\n```\nc", [("python", "1"), ("sh", "2")]),
        ("```python\n\n```", [("python", "")]),
        ("```\nimport os\n```", [("python", "import os")]),
        ("```\npip install x\n```", [("sh", "pip install x")]),
        ("```\n$ ls\n```", [("", "$ ls")]),
        ("```bash\n\n\necho\n\n\n```", [("bash", "\n\necho\n\n")]),
        ("```python\na", []),
        ("```python\n```", []),
        ("```python print(1)```", []),
        ("`a` text ```b``` c", []),
        ("", []),
        (None, []),
        ([], []),
    ],
)
def test_what_autogen_finds(text: str | None, expected: list[tuple[str, str]]) -> None:
    assert blocks(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("````markdown\na\n```\nb\n````", [("markdown", "a\n```\nb")]),
        ("~~~python\na\n~~~", [("python", "a")]),
        ("~~~\n```\n~~~", [("", "```")]),
        ("```python title=x\na\n```", [("python", "a")]),
        ("```c++\na\n```", [("c++", "a")]),
        ("```{.python}\na\n```", [("python", "a")]),
        ("```python:main.py\na\n```", [("python", "a")]),
        ("1. so\n   ```python\n   if a:\n     b\n c\n   ```", [("python", "if a:\n  b\nc")]),
        ("\t```sh\n\tls\n\t```", [("sh", "ls")]),
        ("```python\r\na\r\nb\r\n```\r\n", [("python", "a\nb")]),
        ("```markdown\nrun\n```sh\nls\n```\nend\n```", [("markdown", "run\n```sh\nls\n```\nend")]),
        ("```python\na\n```sh\nb\n```", [("python", "a"), ("sh", "b")]),
        ("``` opens a block\n```python\na\n```", [("python", "a")]),
    ],
)
def test_what_autogen_misses_or_cuts(text: str, expected: list[tuple[str, str]]) -> None:
    assert blocks(text) == expected


def test_parts_of_a_message_are_one_text() -> None:
    parts: list[dict[str, object]] = [
        {"type": "text", "text": "```python\na"},
        {"type": "text", "text": "b\n```"},
        {"type": "image_url", "image_url": {"url": "x"}},
    ]
    assert blocks(parts) == [("python", "ab")]


FENCED = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "```",
                "````",
                "~~~",
                "\n",
                "\r\n",
                "  ",
                "\t",
                "python",
                "sh",
                "`",
                "a ```",
                "\x00",
                "(" * 300,
            ]
        ),
        st.text(),
    )
).map("".join)


@given(FENCED)
def test_any_text_is_read_and_no_line_invented(text: str) -> None:
    at = 0
    for _, code in blocks(text):
        for line in code.split("\n"):
            at = text.index(line, at) + len(line)


@pytest.mark.parametrize(
    "text",
    [
        "```x\n" * 20_000,
        "a ```\n" * 20_000 + "~~~\n" * 20_000,
        "a ````\n" * 20_000 + "```\n" * 20_000,
        "```" + " " * 200_000 + "`",
    ],
)
def test_hostile_texts_take_no_time(text: str) -> None:
    with processor_time(5):
        blocks(text)


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("print(1)", "python"),
        ("pip install x", "sh"),
        ("python3 x.py", "sh"),
        ("<html>", "unknown"),
        ("a b", "unknown"),
        ("\x00", "unknown"),
        ("pipx y", "unknown"),
        ("'\\d' is 'a'", "python"),
    ],
)
def test_languages_are_guessed(code: str, language: str) -> None:
    assert infer_lang(code) == language


def test_content_becomes_text() -> None:
    assert (
        content_str(
            [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]
        )
        == "a<image>"
    )
    assert content_str(None) == ""


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (5, WrongType),
        ({"a": 1}, WrongType),
        (["a"], WrongType),
        ([{"type": "x"}], WrongArgument),
        ([{}], WrongArgument),
    ],
)
def test_what_is_no_content_is_refused(content: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="content"):
        content_str(content)  # type: ignore[arg-type]


def test_results_can_be_dumped_as_dicts() -> None:
    written = CommandLineCodeResult(0, "done", "a.py")
    assert written.model_dump() == {"exit_code": 0, "output": "done", "code_file": "a.py"}
    assert IPythonCodeResult(1, "", ["a.png"]).model_dump() == {
        "exit_code": 1,
        "output": "",
        "output_files": ["a.png"],
    }

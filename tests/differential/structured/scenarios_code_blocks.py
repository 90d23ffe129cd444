"""Code in a fenced block of one language."""

from __future__ import annotations

from typing import Any

from tests.differential.structured.kit import Better, Kit, each, scenario

CODE = "def f():\n    return 1\n"


@each(
    block=f"```python\n{CODE}```",
    prose_around=f"Here:\n```python\n{CODE}```\nThat is all.",
    on_one_line="```python print(1)```",
    empty="```python\n```",
    blank_lines="```python\n\n\nx = 1\n\n```",
    indentation="```python\n    x = 1\n```",
    windows_line_ends="```python\r\nx = 1\r\n```",
    the_first_of_two="```python\nx = 1\n```\n```python\ny = 2\n```",
    another_language_before="```bash\nls\n```\n```python\nx = 1\n```",
    no_end="```python\nx = 1",
    no_begin="x = 1\n```",
    no_fences="x = 1",
    empty_reply="",
    another_language="```bash\nls\n```",
    an_abbreviation="```py\nx = 1\n```",
    upper_case=Better(
        "```Python\nx = 1\n```", "the word's case does not matter", {"parsed": "\nx = 1\n"}
    ),
    plain=Better("```\nx = 1\n```", "a fence without a word may hold it", {"parsed": "\nx = 1\n"}),
    of_tildes=Better(
        "~~~python\nx = 1\n~~~", "tildes are a fence of Markdown", {"parsed": "\nx = 1\n"}
    ),
    of_four_ticks=Better(
        "````python\nx = 1\n```\ny = 2\n````",
        "a fence ends with as many ticks as it began",
        {"parsed": "\nx = 1\n```\ny = 2\n"},
    ),
    with_ticks_inside=Better(
        "```python\nx = '```'\ny = 2\n```",
        "a fence ends at the beginning of a line",
        {"parsed": "\nx = '```'\ny = 2\n"},
    ),
    of_a_longer_word=Better(
        "```python3\nx = 1\n```",
        "`python` is not the beginning of `python3`",
        {"raises": "TagNotFoundError", "raw": True, "missing": [True, False]},
    ),
    in_thoughts=Better(
        "<think>```python\nx = 1\n```</think>```python\ny = 2\n```",
        "what is only thought is no answer",
        {"parsed": "\ny = 2\n"},
    ),
)
def code(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownCodeBlockParser("python"), text)


@each(
    cpp=Better(
        "```cpp\nint x;\n```\n```c\nint y;\n```",
        "`c` is not the beginning of `cpp`",
        {"parsed": "\nint y;\n"},
    ),
    c_plus_plus=Better(
        "```c++\nint x;\n```\n```c\nint y;\n```", "`c` is not `c++`", {"parsed": "\nint y;\n"}
    ),
    csharp=Better(
        "```c#\nint x;\n```\n```c\nint y;\n```", "`c` is not `c#`", {"parsed": "\nint y;\n"}
    ),
    upper_case=Better(
        "```C\nint y;\n```", "the word's case does not matter", {"parsed": "\nint y;\n"}
    ),
    c="```c\nint y;\n```",
)
def code_in_c(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownCodeBlockParser("c"), text)


@scenario
def code_attributes(kit: Kit) -> Any:
    plain, hinted = (
        kit.MarkdownCodeBlockParser("python"),
        kit.MarkdownCodeBlockParser("c++", "your answer"),
    )
    hints = ["python" in plain.content_hint, hinted.content_hint]
    return [[[p.name, p.tag_begin, p.tag_end] for p in (plain, hinted)], hints]


@scenario
def code_instruction(kit: Kit) -> Any:
    made = [
        kit.MarkdownCodeBlockParser("rust"),
        kit.MarkdownCodeBlockParser("rust", "{the function}"),
    ]
    return [
        ["```rust" in p.format_instruction, p.content_hint in p.format_instruction] for p in made
    ]


@scenario
def code_parsers_do_not_share(kit: Kit) -> Any:
    one, two = kit.MarkdownCodeBlockParser("python"), kit.MarkdownCodeBlockParser("sql", "x")
    return [
        one.tag_begin,
        two.tag_begin,
        kit.MarkdownCodeBlockParser("python").content_hint == one.content_hint,
    ]


@scenario
def code_returns_the_response_it_was_given(kit: Kit) -> Any:
    response = kit.ModelResponse(text="```python\nx\n```")
    return [
        kit.MarkdownCodeBlockParser("python").parse(response) is response,
        response.parsed,
        response.text,
    ]


@scenario
def code_needs_a_language(kit: Kit) -> Any:
    return kit.raised(kit.MarkdownCodeBlockParser)

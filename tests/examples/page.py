"""The Python blocks of a page in docs/, and how those of agents.md are run against a server, as
they stand and as coroutines.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.servers.openai_server import Answer, OpenAIServer, Script

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
ADDRESS = "http://localhost:11434/v1"


def blocks(page: Path = PAGE) -> dict[str, str]:
    """Heading -> the Python block below it; every heading has at most one."""
    found: dict[str, str] = {}
    for section in re.split(r"^#{1,3} ", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        codes = re.findall(r"^```python\n(.*?)^```", section, flags=re.DOTALL | re.MULTILINE)
        assert len(codes) <= 1, f"two blocks in one section: {section[:40]!r}"
        found |= {section.split("\n", 1)[0]: code for code in codes}
    return found


def run(code: str, server: OpenAIServer, *, as_coroutine: bool = False) -> dict[str, Any]:
    """Run a block against the server; the names that it leaves behind. As a coroutine, its chats
    are awaited.
    """
    code = code.replace(ADDRESS, server.base_url)
    if as_coroutine:
        code, awaited = re.subn(r"(\w+)\.initiate_chat\(", r"await \1.a_initiate_chat(", code)
        assert awaited, "there is no chat to await in this block"
    names: dict[str, Any] = {"__name__": "example"}
    made = eval(compile(code, PAGE.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.isawaitable(made):
        asyncio.run(_finished(made))
    return names


async def _finished(made: Any) -> None:
    await made


def one_after_the_other(*answers: Answer) -> Script:
    """A script that gives these answers in turn; another request is an error that shows."""
    left: Iterator[Answer] = iter(answers)
    return lambda _body: next(
        left, Answer(status=400, error={"message": "the script is at its end"})
    )


def tool_call(
    name: str, arguments: dict[str, Any] | str, call_id: str = "call_1"
) -> dict[str, Any]:
    """A call as OpenAI's servers send it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def roles(body: dict[str, Any]) -> list[str]:
    """The roles of the messages in a request."""
    return [message["role"] for message in body["messages"]]

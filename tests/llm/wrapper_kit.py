"""What the tests of OpenAIWrapper share: a server that answers by the model's name, configurations
for it, a console.
"""

from __future__ import annotations

import json
from typing import Any

from agentkit.core.io import IOStream
from agentkit.llm.compatible.wrapper import OpenAIWrapper
from tests.servers.openai_server import Answer, OpenAIServer

KEY = "sk-verysecret-0123456789"
ASK = [{"role": "user", "content": "hello"}]
CALLS = [
    {"id": "c0", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 22}'}}
]
PRICE = [1, 2]
COST = 120 / 1000 + (2 + 5) / 1000 * 2
"""Of two words at PRICE, as the server counts."""


def by_model(body: dict[str, Any]) -> Answer:
    """How the server answers is said by the name of the model."""
    model = body.get("model", "")
    named = {
        "empty": Answer(""),
        "refusing": Answer(refusal="I will not"),
        "calling": Answer(tool_calls=CALLS),
        "old": Answer(function_call={"name": "f", "arguments": '{"x": 1}'}),
        "twice": Answer("first one", others=("second two",)),
        "half": Answer("one two three", drop_after=2),
        "broken": Answer(body="{oops"),
        "slow": Answer("late", delay_s=30),
        "json": Answer('{"a": 1}'),
        "echo": Answer(json.dumps(body)),
    }
    if model.startswith("status-"):
        return Answer(status=int(model[7:]), error={"message": f"no {model}"})
    return named.get(model, Answer(f"from {model}"))


class Console(IOStream):
    """Keeps what is printed."""

    def __init__(self) -> None:
        self.text = ""

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        self.text += sep.join(map(str, objects)) + end

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        raise AssertionError("nobody is asked")


def config(server: OpenAIServer, model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "base_url": server.base_url, "api_key": KEY, "max_retries": 0, **more}


def wrapper(server: OpenAIServer, *models: str, **base: Any) -> OpenAIWrapper:
    return OpenAIWrapper(
        config_list=[config(server, model) for model in models], **{"cache_seed": None, **base}
    )


def texts(response: Any) -> list[Any]:
    return OpenAIWrapper.extract_text_or_completion_object(response)

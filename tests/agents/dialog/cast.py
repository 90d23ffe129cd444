"""Who plays in the tests of dialog agents: scripted models, listeners, and a parser for a
discussion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentkit import DictDialogAgent, MarkdownJsonDictParser
from agentkit.llm.calls.scripted import Script, ScriptedClient, scripted_model
from tests.conversation.cast import hearing

__all__ = ["asked_last", "discussion", "fenced", "hearing", "says", "thinker", "turn"]

Replies = Sequence[Script] | Callable[[Mapping[str, Any]], Any]


def says(replies: Replies) -> tuple[dict[str, Any], ScriptedClient]:
    """An `llm_config` whose model gives these replies, and its client, which keeps the requests."""
    model = scripted_model(replies)
    client = model.client
    assert isinstance(client, ScriptedClient)
    return {"config_list": [{"model": model}], "cache_seed": None}, client


def thinker(name: str, replies: Replies, **options: Any) -> tuple[DictDialogAgent, ScriptedClient]:
    """An agent with a parser for discussions."""
    config, client = says(replies)
    agent = DictDialogAgent(name, f"You are {name}.", llm_config=config, **options)
    agent.set_parser(discussion())
    return agent, client


def discussion() -> MarkdownJsonDictParser:
    """The parser of the design note: a thought to remember, words to say, and a sign for the
    program.
    """
    return MarkdownJsonDictParser(
        content_hint={
            "thought": "what you think",
            "speak": "what you say",
            "end_discussion": "true/false",
        },
        required_keys=["thought", "speak", "end_discussion"],
        keys_to_memory=["speak", "thought"],
        keys_to_content="speak",
        keys_to_metadata=["end_discussion"],
    )


def fenced(text: str) -> str:
    """As models write JSON."""
    return f"```json\n{text}\n```"


def turn(thought: str, speak: str, end: bool = False) -> str:
    """A reply that the parser of a discussion can read."""
    return fenced(
        f'{{"thought": "{thought}", "speak": "{speak}", "end_discussion": {str(end).lower()}}}'
    )


def asked_last(client: ScriptedClient) -> list[tuple[str, str]]:
    """Role and text of the messages of the last request."""
    return [(message["role"], message["content"]) for message in client.requests[-1]["messages"]]

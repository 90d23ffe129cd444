"""The people of the scenarios: agents with fixed replies, models with fixed answers, a typist at
the console.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.differential.kit import Kit


def speaker(kit: Kit, name: str, *replies: Any, **options: Any) -> Any:
    """An agent that gives these replies in turn, then "<name> speaks"."""
    left = list(replies)
    agent = kit.agent(name, **options)

    def reply(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, Any]:
        return True, left.pop(0) if left else f"{name} speaks"

    agent.register_reply([kit.Agent, None], reply, position=2)
    return agent


def three(kit: Kit, *replies: Any) -> list[Any]:
    """Ann, Bob and Cid; Bob has the replies."""
    return [speaker(kit, "Ann"), speaker(kit, "Bob", *replies), speaker(kit, "Cid")]


def group_of(
    kit: Kit, agents: list[Any], manager: dict[str, Any] | None = None, **options: Any
) -> tuple[Any, Any]:
    """A group chat of four rounds and its manager."""
    group = kit.GroupChat(**{"agents": agents, "messages": [], "max_round": 4, **options})
    return group, kit.GroupChatManager(
        groupchat=group, **{"llm_config": False, "silent": True, **(manager or {})}
    )


def said(messages: list[Any]) -> list[list[Any]]:
    """Who said what."""
    return [[m.get("name"), m.get("content")] for m in messages]


def talk(
    kit: Kit, agents: list[Any], manager: dict[str, Any] | None = None, **options: Any
) -> list[list[Any]]:
    """What a group of these agents says after the first one began with "start"."""
    group, chair = group_of(kit, agents, manager, **options)
    kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    return said(group.messages)


def scripted_model(answers: list[Any], seen: list[Any], price: float = 0.0) -> type:
    """A model client class that gives these answers in turn and notes the requests.

    An answer is a text, an exception to raise, or a dict of a message's fields; each call uses 10
    and 5 tokens.
    """

    class ScriptedModel:
        def __init__(self, config: dict[str, Any], **kwargs: Any) -> None:
            self.config = config

        def create(self, params: dict[str, Any]) -> Any:
            seen.append(params)
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            fields = answer if isinstance(answer, dict) else {"content": answer}
            message = SimpleNamespace(
                **{"content": None, "function_call": None, "tool_calls": None, **fields}
            )
            return SimpleNamespace(
                choices=[SimpleNamespace(message=message)], model=params.get("model")
            )

        def message_retrieval(self, response: Any) -> list[Any]:
            return [choice.message.content for choice in response.choices]

        def cost(self, response: Any) -> float:
            return price

        @staticmethod
        def get_usage(response: Any) -> dict[str, Any]:
            used = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            return {**used, "cost": response.cost, "model": response.model}

    return ScriptedModel


def config_for(name: str = "scripted", **more: Any) -> dict[str, Any]:
    """The llm_config of a scripted model."""
    return {
        "config_list": [{"model": name, "model_client_cls": "ScriptedModel"}],
        "cache_seed": None,
        **more,
    }


class Typist:
    """A console that answers from a list and keeps what is printed."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.lines: list[str] = []

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        self.lines.append(sep.join(map(str, objects)))

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        self.asked += 1
        return self.answers.pop(0)

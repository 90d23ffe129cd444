"""Two faces of everything: what plays a case by one of them, and what it leaves behind."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentkit import ConversableAgent
from agentkit.event_json import to_json
from agentkit.events import Event
from tests.conversation import cast
from tests.conversation.cast import Console, modelled, speaker

PACKAGES = ("agentkit.conversation", "agentkit.agents")
IDS = ("id", "parent_id", "call_id", "request_id", "plan_id")


@dataclass
class Face:
    """One face of everything, with who takes part."""

    is_async: bool
    console: Console = field(default_factory=Console)
    people: list[ConversableAgent] = field(default_factory=list)

    def call(self, owner: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call this face of a method."""
        return cast.call(self.is_async, owner, method, *args, **kwargs)

    def add(self, *people: ConversableAgent) -> Any:
        """Look at these people afterwards; gives them back."""
        self.people += people
        return people if len(people) > 1 else people[0]

    def speaker(self, name: str, *lines: Any, **settings: Any) -> ConversableAgent:
        """See `cast.speaker`."""
        made: ConversableAgent = self.add(speaker(name, *lines, **settings))
        return made

    def agent(self, name: str, **settings: Any) -> ConversableAgent:
        """See `cast.agent`."""
        made: ConversableAgent = self.add(cast.agent(name, **settings))
        return made

    def modelled(self, name: str, *replies: Any, **settings: Any) -> ConversableAgent:
        """See `cast.modelled`."""
        made: ConversableAgent = self.add(modelled(name, *replies, **settings)[0])
        return made

    def chat(
        self, one: ConversableAgent, other: ConversableAgent, message: Any = "hi", **settings: Any
    ) -> Any:
        """A chat, as a dict."""
        return dataclasses.asdict(
            self.call(one, "initiate_chat", other, message=message, **settings)
        )


Case = Callable[[Face], Any]
CASES: defaultdict[str, list[Case]] = defaultdict(list)


def case(pair: str) -> Callable[[Case], Case]:
    """This function plays the pair `Class.method` or `function`."""

    def register(function: Case) -> Case:
        CASES[pair].append(function)
        return function

    return register


def pairs() -> Iterator[str]:
    """Every pair of the package's agents and of the functions beside them; protocols only promise
    them.
    """
    for package in PACKAGES:
        home = importlib.import_module(package)
        for found in pkgutil.walk_packages(home.__path__, f"{package}."):
            module = importlib.import_module(found.name)
            for name, thing in list(vars(module).items()):
                if getattr(thing, "__module__", None) != module.__name__:
                    continue
                if inspect.isclass(thing) and not getattr(thing, "_is_protocol", False):
                    yield from (
                        f"{name}.{each[2:]}"
                        for each in vars(thing)
                        if each.startswith("a_") and hasattr(thing, each[2:])
                    )
                elif name.startswith("a_") and hasattr(module, name[2:]):
                    yield name[2:]


def outcome(play: Case, is_async: bool) -> dict[str, Any]:
    """What a case leaves behind."""
    face = Face(is_async)
    left: dict[str, Any] = {"result": None, "raised": None}
    with cast.hearing(face.console) as events:
        try:
            left["result"] = play(face)
        except Exception as error:  # noqa: BLE001 (it is to be the same one in both faces)
            left["raised"] = (type(error).__name__, str(error))
    left["events"] = normalised(events)
    left["printed"] = face.console.text
    left["people"] = {each.name: state(each) for each in face.people}
    return left


def normalised(events: list[Event]) -> list[dict[str, Any]]:
    """The events with ids numbered by first appearance and without durations."""
    numbers: dict[Any, str] = {}
    made = []
    for event in map(to_json, events):
        for key in IDS:
            if event.get(key) is not None:
                event[key] = numbers.setdefault(event[key], f"#{len(numbers) + 1}")
        made.append(
            {
                key: 0 if key in ("seconds", "first_token_s") else value
                for key, value in event.items()
            }
        )
    return made


def state(agent: ConversableAgent) -> dict[str, Any]:
    """All that an agent keeps of its chats."""

    def by_name(kept: Any) -> dict[str, Any]:
        return {getattr(peer, "name", str(peer)): value for peer, value in kept.items()}

    return {
        "messages": by_name(agent.chat_messages),
        "counters": by_name(agent._consecutive_auto_reply_counter),
        "limits": by_name(agent._max_consecutive_auto_reply_dict),
        "reply_at_receive": by_name(agent.reply_at_receive),
        "reasons": by_name(agent._engine.human.reasons),
        "human_input": list(agent._human_input),
        "context": dict(agent._context_variables),
        "cache": agent.client_cache,
        "usage": [agent.get_actual_usage(), agent.get_total_usage()],
        "functions": list(agent.function_map),
    }

"""What a scenario needs to run the same on pyautogen 0.6.0 (the oracle) and on agentkit: public
names, scripted models, people.

This file runs in the oracle's environment too: standard library only.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, overload

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded"
ORACLE, OURS = "autogen", "agentkit"
# Where the oracle keeps what is public; ours has it under `agentkit.autogen`, or elsewhere where
# the oracle hides it too.
HOMES = {
    ORACLE: (
        "autogen",
        "autogen.agentchat.chat",
        "autogen.agentchat",
        "autogen.io",
        "autogen.coding",
        "autogen.agentchat.contrib.capabilities.transforms",
        "autogen.agentchat.contrib.capabilities.transform_messages",
    ),
    OURS: (
        "agentkit.autogen",
        "agentkit.agents",
        "agentkit.conversation.transforms",
        "agentkit.coding.legacy",
        "agentkit.coding",
        "agentkit.core.io",
        "agentkit.llm",
    ),
}
MESSAGE_KEYS = ("role", "name", "content")


class Raised(str):
    """The name of the exception that was raised; equal to the name of any of its classes (ours
    often have two).
    """

    names: frozenset[str]

    @classmethod
    def by(cls, error: BaseException) -> Raised:
        """The name of this error's class."""
        raised = cls(type(error).__name__)
        raised.names = frozenset(
            kind.__name__
            for kind in type(error).__mro__
            if kind not in (Exception, BaseException, object)
        )
        return raised

    def __eq__(self, other: object) -> bool:
        return other in self.names

    def __ne__(self, other: object) -> bool:
        return other not in self.names

    __hash__ = str.__hash__


class Kit:
    """One of the two systems: its public names as attributes, and what scenarios share.

    `is_async` says which face `call` uses. Nothing is printed that a scenario does not ask for.
    """

    def __init__(self, package: str, is_async: bool = False) -> None:
        self.package = package
        self.is_async = is_async

    def __getattr__(self, name: str) -> Any:
        reasons = []
        for home in HOMES[self.package]:
            try:
                return getattr(importlib.import_module(home), name)
            except (AttributeError, ModuleNotFoundError) as error:
                reasons.append(str(error))
        raise AttributeError(f"{self.package} has no public name {name!r}: {'; '.join(reasons)}")

    def call(self, owner: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method (or a function of the kit) by its sync face, or by its `a_` face in a loop
        of its own.
        """
        if not self.is_async:
            return getattr(owner, method)(*args, **kwargs)
        return asyncio.run(getattr(owner, f"a_{method}")(*args, **kwargs))

    def agent(self, name: str, **options: Any) -> Any:
        """A ConversableAgent that never asks a person, unless the options say so."""
        return self.ConversableAgent(name, **{"human_input_mode": "NEVER", **options})

    def speaker(self, name: str, replies: Iterable[Any], **options: Any) -> Any:
        """An agent whose model gives these replies, one a call (see `scripted`)."""
        agent = self.agent(name, llm_config=self.llm_config(), **options)
        self.scripted(agent, replies)
        return agent

    @staticmethod
    def llm_config(**more: Any) -> dict[str, Any]:
        """A config for one scripted model without a cache; `more` are further keys of it."""
        return {
            "config_list": [{"model": "scripted", "model_client_cls": "Scripted"}],
            "cache_seed": None,
            **more,
        }

    @staticmethod
    def scripted(
        agent: Any, replies: Iterable[Any], cost: float = 0.0
    ) -> list[list[dict[str, Any]]]:
        """Let the agent's model give these replies (texts or message dicts) in turn; an exception
        is raised instead.

        The agent needs `llm_config`. Returns a list that fills with the messages of every request;
        each call costs `cost` and counts 10 prompt and 5 completion tokens. A request beyond the
        last reply raises IndexError.
        """
        queue, seen = list(replies), []

        class Scripted:
            def __init__(self, config: dict[str, Any], **options: Any) -> None:
                self.config = config

            def create(self, params: dict[str, Any]) -> Any:
                seen.append([dict(message) for message in params["messages"]])
                reply = queue.pop(0)
                if isinstance(reply, Exception):
                    raise reply
                return SimpleNamespace(choices=[reply], model="scripted", cost=cost)

            def message_retrieval(self, response: Any) -> list[Any]:
                return list(response.choices)

            def cost(self, response: Any) -> float:
                return float(response.cost)

            @staticmethod
            def get_usage(response: Any) -> dict[str, Any]:
                tokens = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                return {**tokens, "cost": response.cost, "model": response.model}

        agent.register_model_client(Scripted)
        return seen

    @staticmethod
    def human(agent: Any, answers: Iterable[str]) -> list[str]:
        """Let a person give these answers in turn, in both faces; returns a list that fills with
        the answers given.
        """
        queue, given = list(answers), []

        def answer(prompt: str) -> str:
            given.append(queue.pop(0))
            return given[-1]

        async def a_answer(prompt: str) -> str:
            return answer(prompt)

        agent.get_human_input, agent.a_get_human_input = answer, a_answer
        return given

    @staticmethod
    def transcript(agent: Any, other: Any) -> list[list[Any]]:
        """What `agent` keeps of its chat with `other`: [role, name, content] a message, and a dict
        of its further keys.
        """
        return [message_row(message) for message in agent.chat_messages[other]]

    @staticmethod
    def rows(messages: Iterable[dict[str, Any]]) -> list[list[Any]]:
        """Messages in the form of `transcript`."""
        return [message_row(message) for message in messages]

    @staticmethod
    def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str | None:
        """The name of the exception that the call raises; None when it raises none."""
        try:
            result = function(*args, **kwargs)
            if inspect.iscoroutine(result):
                asyncio.run(result)
        except Exception as error:  # noqa: BLE001 (which one is the question)
            return Raised.by(error)
        return None


def message_row(message: dict[str, Any]) -> list[Any]:
    """A message as [role, name, content], and a dict of its further keys when it has any."""
    more = {key: value for key, value in message.items() if key not in MESSAGE_KEYS}
    return [*(message.get(key) for key in MESSAGE_KEYS), *([more] if more else [])]


_SAME = object()
SYNC = "(what the oracle's sync face gives)"
"""For `expected=` of a scenario with both faces: the oracle's sync face is right, its async face is
not.
"""


@dataclass(frozen=True)
class Scenario:
    """A function that plays something through, where it belongs, and what is said about it.

    `better` says which defect of the oracle ours has not (numbers are those of
    docs/compatibility.md), and `expected` what ours returns instead of the recorded result (SYNC:
    what the oracle's sync face returns). With `both` it is played by the sync and by the async
    face, which must agree.
    """

    name: str
    area: str
    function: Callable[[Kit], Any]
    better: str = ""
    expected: Any = None
    both: bool = False

    def play(self, package: str) -> list[Any]:
        """The result by each face, as JSON gives it back; an exception that leaves the scenario is
        "raises <its name>".
        """
        return [
            self._once(Kit(package, is_async))
            for is_async in ((False, True) if self.both else (False,))
        ]

    def _once(self, kit: Kit) -> Any:
        try:
            return plain(self.function(kit))
        except Exception as error:
            if kit.package == ORACLE and self.better:
                return f"raises {type(error).__name__}"
            raise


SCENARIOS: dict[str, Scenario] = {}


@overload
def scenario(function: Callable[[Kit], Any], /) -> Callable[[Kit], Any]: ...


@overload
def scenario(
    *, better: str = "", expected: Any = _SAME, both: bool = False
) -> Callable[[Callable[[Kit], Any]], Callable[[Kit], Any]]: ...


def scenario(
    function: Callable[[Kit], Any] | None = None,
    /,
    *,
    better: str = "",
    expected: Any = _SAME,
    both: bool = False,
) -> Callable[..., Any]:
    """Make a function a scenario: `@scenario`, `@scenario(both=True)` or `@scenario(better="what is
    better", expected=...)`.
    """
    if bool(better) != (expected is not _SAME):
        raise TypeError("a scenario has both of better= and expected=, or neither")

    def register(function: Callable[[Kit], Any]) -> Callable[[Kit], Any]:
        name, area = function.__name__, function.__module__.rpartition("scenarios_")[2]
        if name in SCENARIOS and SCENARIOS[name].function.__code__ != function.__code__:
            raise NameError(f"two scenarios are called {name}")
        SCENARIOS[name] = Scenario(
            name, area, function, better, None if expected is _SAME else plain(expected), both
        )
        return function

    return register(function) if function else register


def load() -> dict[str, Scenario]:
    """Every scenario by its name, from all files `scenarios_*.py`."""
    for file in sorted(FOLDER.glob("scenarios_*.py")):
        importlib.import_module(f"tests.differential.{file.stem}")
    return SCENARIOS


def recorded(area: str, folder: Path = RECORDED) -> dict[str, dict[str, Any]]:
    """What was recorded of an area: scenario's name -> {"expected": ...}, with "oracle" and "why"
    where ours is better.
    """
    file = folder / f"{area}.json"
    if not file.is_file():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["scenarios"]
    return found


def plain(value: Any) -> Any:
    """The value as JSON would give it back: tuples are lists, keys are texts, functions and agents
    are named.
    """
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, dict):
        return {
            str(key) if isinstance(key, str | int) else plain(key): plain(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    if callable(value):
        return f"<{getattr(value, '__name__', 'callable')}>"
    return f"<{getattr(value, 'name', type(value).__name__)}>"


def text_of(origin: str, scenarios: dict[str, dict[str, Any]]) -> str:
    """The text of a file of recordings: JSON with a line for each scenario, in the order of their
    names.
    """
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in sorted(scenarios.items())
    ]
    return f'{{"origin": {json.dumps(origin)}, "scenarios": {{\n' + ",\n".join(lines) + "\n}}\n"

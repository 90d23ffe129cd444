"""What a scenario needs to run the same on agentscope 0.1.6 (the oracle) and on agentkit: public
names, speakers, listeners.

This file runs in the oracle's environment too: standard library only.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.differential.kit import Raised, plain

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded"
ORACLE, OURS = "agentscope", "agentkit"
# Where each has its public names.
HOMES = {
    ORACLE: tuple(
        f"agentscope{part}"
        for part in (
            ".parsers",
            ".parsers.parser_base",
            ".exception",
            ".message",
            ".agents",
            ".agents._agent",
            ".msghub",
            ".pipelines",
            ".memory",
            ".models",
        )
    ),
    OURS: ("agentkit.agentscope", "agentkit.parsers", "agentkit.errors", "agentkit.agents.dialog"),
}
# Parameters that only one of the two has, none of them needed: ours say more, the oracle's
# distribute an agent.
EXTRAS = {
    "json_schema",
    "keys_to_speak",
    "keys_to_return",
    "llm_config",
    "fault_handler",
    "to_dist",
}
INSTRUCTION = "(the format instruction)"


class Kit:
    """One of the two systems: its public names as attributes, and what scenarios share."""

    def __init__(self, package: str) -> None:
        self.package = package

    def __getattr__(self, name: str) -> Any:
        for home in HOMES[self.package]:
            try:
                return getattr(importlib.import_module(home), name)
            except (AttributeError, ModuleNotFoundError):
                continue
        raise AttributeError(
            f"{self.package} has no public name {name!r} in any of {', '.join(HOMES[self.package])}"
        )

    def raised(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> str | None:
        """The name of the exception that the call raises; None when it raises none."""
        try:
            function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 (which one is the question)
            return named(error)
        return None

    def read(self, parser: Any, text: str | None) -> dict[str, Any]:
        """What the parser makes of a reply: {"parsed": value}, or which error it raises and what
        that tells.
        """
        try:
            return {"parsed": parser.parse(self.ModelResponse(text=text)).parsed}
        except Exception as error:  # noqa: BLE001 (which one is the question)
            return failure(error)

    @staticmethod
    def signature(function: Callable[..., Any]) -> list[list[Any]]:
        """[name, kind, default] of each parameter but those that only one of the two has; no
        default is "required".
        """
        found = inspect.signature(function).parameters.values()
        return [
            [p.name, p.kind.name, "required" if p.default is p.empty else p.default]
            for p in found
            if p.name not in EXTRAS and p.kind is not p.VAR_KEYWORD
        ]

    def msg(self, name: str, content: Any, metadata: Any = None) -> Any:
        """A message of the role `user`."""
        return self.Msg(name, content, "user", metadata)

    def speaker(
        self, kind: str, name: str, replies: Iterable[str], parser: Any = None, **options: Any
    ) -> Any:
        """An agent of this kind whose model gives these replies in turn; `agent.asked` fills with
        the requests' messages.

        A request beyond the last reply raises IndexError. `parser` is set on the agent, and its
        format instruction shows in `asked` as INSTRUCTION.
        """
        options = {"sys_prompt": "Be brief.", **options}
        queue, asked = list(replies), []

        def answer(messages: Iterable[Any]) -> str:
            asked.append([[m["role"], _shown(m["content"], agent)] for m in messages])
            return queue.pop(0)

        if self.package == ORACLE:
            agent = getattr(self, kind)(name, model_config_name=None, **options)
            agent.model = self._oracle_model(answer)
        else:
            scripted = importlib.import_module("agentkit.llm.calls.scripted")
            model = scripted.scripted_model(lambda params: answer(params["messages"]))
            config = {"config_list": [{"model": model}], "cache_seed": None}
            agent = getattr(self, kind)(name, model_config_name=None, llm_config=config, **options)
        if parser is not None:
            agent.set_parser(parser)
        agent.asked = asked
        return agent

    def _oracle_model(self, answer: Callable[[Iterable[Any]], str]) -> Any:
        formatter = importlib.import_module("agentscope.formatters").OpenAIFormatter
        respond = self.ModelResponse

        class Scripted:
            format = staticmethod(formatter.format_chat)

            def __call__(self, prompt: Iterable[Any]) -> Any:
                return respond(text=answer(prompt))

        return Scripted()

    def listener(self, name: str) -> Any:
        """An agent that answers each message with "<name>: <what it got>", without a model."""
        make = self.Msg

        class Listener(self.AgentBase):  # type: ignore[misc, name-defined]
            def reply(self, x: Any = None) -> Any:
                got = x if x is None or isinstance(x, self.one) else x[-1]
                return make(
                    self.name,
                    f"{self.name}: {got.content if got is not None else 'nothing'}",
                    "assistant",
                )

        Listener.one = make
        return Listener(name)

    @staticmethod
    def heard(agent: Any) -> list[Any]:
        """What stands in an agent's memory: [name, content] a message."""
        return said(agent.memory.get_memory())


def said(messages: Iterable[Any]) -> list[Any]:
    """Messages as [name, content]."""
    return [[message.name, message.content] for message in messages]


def named(error: BaseException) -> str:
    """The name of the error's class; those of pydantic and json are the ValueErrors that they are,
    too.
    """
    return (
        "ValueError"
        if type(error).__name__ in ("ValidationError", "JSONDecodeError")
        else Raised.by(error)
    )


def failure(error: Exception) -> dict[str, Any]:
    """Which error it is, whether it has the raw reply, and which tags are missing."""
    told: dict[str, Any] = {"raises": named(error)}
    if hasattr(error, "raw_response"):
        told["raw"] = error.raw_response is not None
    if hasattr(error, "missing_begin_tag"):
        told["missing"] = [error.missing_begin_tag, error.missing_end_tag]  # type: ignore[attr-defined]
    return told


def _shown(content: Any, agent: Any) -> Any:
    text = (
        content
        if isinstance(content, str)
        else "".join(part.get("text", "") for part in content or [])
    )
    parser = getattr(agent, "parser", None)
    return text.replace(parser.format_instruction, INSTRUCTION) if parser is not None else text


@dataclass(frozen=True)
class Scenario:
    """A function that plays something through, where it belongs, and what is said about it.

    `better` says which defect of the oracle ours has not, and `expected` what ours returns instead
    of the recorded result.
    """

    name: str
    area: str
    home: str
    """The name of the function in the file."""
    function: Callable[[Kit], Any]
    better: str = ""
    expected: Any = None

    def play(self, package: str) -> Any:
        """The result as JSON gives it back; what the oracle raises where ours is better is "raises
        <its name>".
        """
        try:
            return plain(self.function(Kit(package)))
        except Exception as error:
            if package == ORACLE and self.better:
                return f"raises {named(error)}"
            raise


@dataclass(frozen=True)
class Better:
    """A case where the oracle is wrong: what is given, what is better in ours, and what ours
    returns.
    """

    given: Any
    why: str
    expected: Any


SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Callable[[Kit], Any]) -> Callable[[Kit], Any]:
    """Make a function a scenario of its file's area."""
    return _register(function.__name__, function, function)


def better(why: str, expected: Any) -> Callable[[Callable[[Kit], Any]], Callable[[Kit], Any]]:
    """Make a function a scenario in which the oracle is wrong; `expected` is what ours returns."""
    return lambda function: _register(function.__name__, function, function, why, expected)


def each(**cases: Any) -> Callable[[Callable[[Kit, Any], Any]], Callable[[Kit, Any], Any]]:
    """Make a scenario of every case: the function is given the case's value, or the `given` of a
    Better.
    """

    def register(function: Callable[[Kit, Any], Any]) -> Callable[[Kit, Any], Any]:
        for name, case in cases.items():
            full, told = (
                f"{function.__name__}_{name}",
                case if isinstance(case, Better) else Better(case, "", None),
            )
            _register(full, function, _with(function, told.given), told.why, told.expected)
        return function

    return register


def _with(function: Callable[[Kit, Any], Any], given: Any) -> Callable[[Kit], Any]:
    return lambda kit: function(kit, given)


def _register(
    name: str,
    home: Callable[..., Any],
    function: Callable[[Kit], Any],
    why: str = "",
    expected: Any = None,
) -> Callable[[Kit], Any]:
    area = home.__module__.rpartition("scenarios_")[2]
    if name in SCENARIOS and (SCENARIOS[name].area, SCENARIOS[name].home) != (area, home.__name__):
        raise NameError(f"two scenarios are called {name}")
    SCENARIOS[name] = Scenario(name, area, home.__name__, function, why, plain(expected))
    return function


def load() -> dict[str, Scenario]:
    """Every scenario by its name, from all files `scenarios_*.py` of this folder."""
    for file in sorted(FOLDER.glob("scenarios_*.py")):
        importlib.import_module(f"tests.differential.structured.{file.stem}")
    return SCENARIOS

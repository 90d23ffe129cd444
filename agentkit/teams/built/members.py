"""The agents of a document, made for one task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentkit.agents.compressible import CompressibleAgent
from agentkit.agents.dialog.agents import DictDialogAgent
from agentkit.conversation import ConversableAgent, compression
from agentkit.conversation.compression.shape import Messages
from agentkit.core import bus
from agentkit.core.given import find_first, list_missing
from agentkit.events import Noted
from agentkit.llm.model import Model
from agentkit.messages import AnyMessage, has_calls, text_of
from agentkit.options import InputMode
from agentkit.teams.approval import Unasked
from agentkit.teams.built.agents import (
    AgentDocument,
    Code,
    CompressConfig,
    Documents,
    Ending,
    ModelChoice,
    ToolUse,
    WrittenFunction,
)
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.offers.catalog import CATALOG, choose_offer, make_offers
from agentkit.teams.built.offers.running import make_written
from agentkit.teams.built.tools import Asking, guard, mark, offer_tool
from agentkit.teams.ending import is_ending
from agentkit.teams.findings import FIND, SEARCH, Findings
from agentkit.teams.memory.long_memory import keep_short
from agentkit.teams.task import LookUp, Note, Task
from agentkit.teams.tools import CODE, Runner, explain_code, find_cells

_ENDS: Mapping[str, Callable[[str, str], bool]] = {
    "is": lambda said, text: said.strip() == text,
    "ends": lambda said, text: said.rstrip().rstrip(".").endswith(text) or _is_done(said, text),
    "holds": lambda said, text: text in said,
}


def _is_done(said: str, text: str) -> bool:
    """Whether TERMINATE ends it in whatever dress."""
    return text == "TERMINATE" and is_ending(said)


DEFAULT_PROMPT = "You are a helpful AI Assistant."
"""AutoGen's, for an agent that is told nothing of its own."""
Strategy = compression.Strategy
_STRATEGIES: Mapping[str, Callable[[], list[Strategy]]] = {
    "SlidingWindow": lambda: [compression.SlidingWindow()],
    "ModelSummary": lambda: [compression.ModelSummary()],
    "Extraction": lambda: [compression.Extraction()],
    "ToolOutput": lambda: [compression.ToolOutput()],
}


class Members:
    """Makes each agent once, with its model; what it may call is offered by `offer`."""

    def __init__(self, document: TeamDocument, task: Task, found: Findings) -> None:
        self.document = document
        self.runners: list[Runner] = []
        self._task, self._found = task, found
        self._made: dict[str, ConversableAgent] = {}
        self._executors: dict[str, ConversableAgent] = {}

    def __getitem__(self, name: str) -> ConversableAgent:
        """The agent of that name; raises ConfigError for one that the team does not have."""
        if name not in self._made:
            self._made[name] = self._make(self.document.agent(name))
        return self._made[name]

    def dialog(self, name: str) -> DictDialogAgent:
        """The agent of that name, as one that answers in fields."""
        known = self.document.agent(name)
        agent = DictDialogAgent(
            known.name,
            known.system_message or None,
            use_memory=known.dialog.use_memory,
            max_retries=known.dialog.max_retries,
            llm_config=self.llm_config(known.choice),
            description=known.description or None,
        )
        self.offer(known.name, agent, agent)
        return agent

    def offer(self, name: str, caller: ConversableAgent, executor: ConversableAgent) -> None:
        """Let the agent call what its document says; `executor` does it, after it was approved.

        Offered again, another executor does the same.
        """
        first = self._executors.get(name)
        if first is not None:
            _hand_on(first.function_map, executor)
            return
        self._executors[name] = executor
        known = self.document.agent(name)
        if known.documents:
            shelf = self.shelf(known.documents)
            shelf.offer(caller, executor)
        for use in self.list_uses(known):
            tool = self.tool(use, executor.name)
            if tool is None:
                continue
            asking = Asking(
                executor.name,
                name,
                self._task.allowed,
                use.approval,
                self._task.agreed,
            )
            offer_tool(use.name, guard(tool, asking), caller, executor)

    def list_uses(self, known: AgentDocument) -> list[ToolUse]:
        """What an agent may call: the named tools, then the person's own where it may."""
        named = [use.name for use in known.tools]
        uses = list(known.tools)
        if known.documents:  # they bring these tools
            uses = [use for use in uses if use.name not in (SEARCH, FIND)]
        if not known.own_tools:
            return uses
        own = [tool.__name__ for tool in self._task.tools]
        unnamed = list_missing(own, named)
        uses += [ToolUse(name=name) for name in unnamed]
        return uses

    def close(self) -> None:
        """Let go of the places where code ran."""
        for runner in self.runners:
            runner.close()
        if self._task.served:
            self._task.served.close()

    def notes(self) -> list[Note]:
        """What those who ran code want the person to know; it may grow."""
        if not self.runners:
            return []
        return self.runners[0].notes

    def chat_config(self) -> dict[str, Any]:
        """For agents that the chat's model speaks for."""
        return self._task.llm_config

    def model(self, choice: ModelChoice) -> Model:
        """The model that speaks for an agent; raises NotFound for one that is not connected."""
        if choice.model:
            return self._task.model_of(choice.model)
        return self._task.model

    def llm_config(self, choice: ModelChoice) -> dict[str, Any]:
        """For the model that speaks for an agent; raises NotFound for one that is not connected."""
        given = {**self._task.llm_config, "config_list": [{"model": self.model(choice)}]}
        return given | choice.to_parameters()

    def _make(self, known: AgentDocument) -> ConversableAgent:
        if known.code is not None:
            return self._make_runner(known)
        shared: dict[str, Any] = {
            "is_termination_msg": ends_with(known.is_termination_msg),
            "max_consecutive_auto_reply": known.max_consecutive_auto_reply,
            "human_input_mode": self._ask_by(known),
            "llm_config": False,
            "default_auto_reply": known.default_auto_reply,
            "description": known.description or None,
            "context_variables": dict(known.context_variables),
            "silent": known.silent or None,
            "system_message": self._instruct(known) or DEFAULT_PROMPT,
        }
        if known.llm is None:
            return ConversableAgent(known.name, **shared)
        shared["llm_config"] = self.llm_config(known.llm)
        if known.compress_config is not None:
            return self._make_compressible(known.name, shared, known.compress_config)
        agent = ConversableAgent(known.name, **shared)
        keep_short(agent, self._task.model)
        return agent

    def _ask_by(self, known: AgentDocument) -> InputMode:
        """When the person is asked: where the document never does, those who stand for one ask as
        the chat is set.
        """
        if known.human_input_mode != "NEVER":
            return known.human_input_mode
        is_persons = known.role == "person" or known.code is not None
        if is_persons:
            return self._task.human_input
        return "NEVER"

    def _instruct(self, known: AgentDocument) -> str:
        if CODE not in known.system_message:
            return known.system_message
        return explain_code(known.system_message, find_cells(self._task))

    def _make_runner(self, known: AgentDocument) -> ConversableAgent:
        """Who runs code, in the chat's kernel where it has one."""
        code = known.code or Code()
        runner = Runner(
            known.name,
            self._task.allowed,
            find_cells(self._task),
            self._ask_by(known),
            last_n_messages=code.last_n_messages,
            timeout_s=code.timeout,
        )
        if known.max_consecutive_auto_reply is not None:
            runner.update_max_consecutive_auto_reply(known.max_consecutive_auto_reply)
        self.runners.append(runner)
        return runner

    def _make_compressible(
        self, name: str, shared: dict[str, Any], config: CompressConfig
    ) -> ConversableAgent:
        given = config.model_dump(by_alias=True, exclude={"strategy"})
        given["trigger_count"] = config.trigger
        if config.mode == "CUSTOMIZED":
            given["compress_function"] = make_shortener(config, lambda: self[name])
        return CompressibleAgent(name, compress_config=given, **shared)

    def model_of(self, name: str) -> Model:
        """The model that speaks for the agent of that name; raises NotFound."""
        known = self.document.agent(name)
        return self.model(known.choice)

    def look_up(self, name: str) -> LookUp:
        """What gives the agent of that name passages by meaning."""
        documents = self.document.agent(name).documents
        if documents is None:
            return self._task.retrieve
        if not documents.collection:
            return self._task.retrieve
        by_meaning, _ = self._task.look_into(documents.collection)
        return by_meaning

    def shelf(self, documents: Documents) -> Findings:
        """Where an agent looks things up."""
        found = self._found
        if documents.collection:
            ways = self._task.look_into(documents.collection)
            found = found.elsewhere(*ways)
        if documents.exact:
            return found
        return found.without_exact()

    def tool(self, use: ToolUse, agent: str) -> Callable[..., Any] | None:
        """The tool, as the agent that runs it can; None for one that cannot run here, which the
        person is told. Raises ConfigError for one that there is not.
        """
        found = self._find_tool(use.name, agent)
        if found is None:
            return None
        return mark(found, use.marked)

    def _find_tool(self, name: str, agent: str) -> Callable[..., Any] | None:
        if "/" in name:
            return self._find_served(name, agent)
        function = find_first(self.document.functions, lambda one: one.name == name)
        if function is not None:
            return self._make_written(function, agent)
        own = {tool.__name__: tool for tool in self._task.tools}
        is_own = name in own and name not in CATALOG
        if is_own:
            return own[name]
        offers = make_offers(self._task, self._found, agent)
        return choose_offer(offers, name)

    def _make_written(self, function: WrittenFunction, agent: str) -> Callable[..., Any] | None:
        cells = find_cells(self._task)
        if cells is None:
            told = f"{function.name} was left out: nothing on this machine can isolate code."
            bus.emit(Noted(agent, told))
            return None
        return make_written(function, cells, agent)

    def _find_served(self, name: str, agent: str) -> Callable[..., Any] | None:
        tool = None
        if self._task.served:
            tool = self._task.served.find(name)
        if tool is None:
            told = f"{name} was left out: the Settings page does not allow it, or not any more."
            bus.emit(Noted(agent, told))
        return tool


class LoneRunner(Runner):
    """For scripts: it asks nobody, and runs code in isolation only."""

    asks_by = Unasked


def _hand_on(functions: Mapping[str, Callable[..., Any]], executor: ConversableAgent) -> None:
    """Let the executor do the same, as far as it does not yet."""
    for name, function in functions.items():
        if executor.function_map.get(name) is not function:
            executor.register_function({name: function})


def ends_with(ending: Ending) -> Callable[[AnyMessage], bool]:
    """Whether a message is one that ends the chat; one with calls never is."""
    holds = _ENDS[ending.where]

    def ends(message: AnyMessage) -> bool:
        if not ending.text or has_calls(message):
            return False
        return holds(text_of(message.get("content")), ending.text)

    return ends


def make_shortener(
    config: CompressConfig, find_agent: Callable[[], ConversableAgent]
) -> Callable[[Messages], tuple[bool, Messages | None]]:
    """The `compress_function` of a strategy: what it gives back, and whether it is shorter."""
    made = compression.Compression(
        _STRATEGIES[config.strategy](),
        config.trigger,
        max(1, config.leave_last_n),
    )

    def shorten(messages: Messages) -> tuple[bool, Messages | None]:
        shorter = made.compress(messages, find_agent())
        return shorter is not messages, shorter

    return shorten

"""The kits of the differential scenarios, with agents, groups and settings that went through the
JSON of a team: what a document can say is read out of it again, and the rest is given beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError

from agentkit.agents import GroupChat, RetrieveUserProxyAgent
from agentkit.agents.dialog.agents import DictDialogAgent
from agentkit.conversation import ConversableAgent
from agentkit.llm.calls.scripted import scripted_model
from agentkit.teams import Question, Task
from agentkit.teams.built.agents import ModelChoice, RetrieveConfig
from agentkit.teams.built.document import TeamDocument, read_document
from agentkit.teams.built.flows import Group
from agentkit.teams.built.members import Members
from agentkit.teams.built.talking import to_group_settings, to_retrieve_config
from agentkit.teams.findings import Findings
from tests.agents.compressible.scenarios import Client
from tests.agents.compressible.scenarios import Kit as CompressibleKit
from tests.differential.kit import OURS, Kit
from tests.differential.structured.kit import Kit as StructuredKit

_SAID_BY_AGENTS = frozenset(
    [
        *("system_message", "description", "human_input_mode", "default_auto_reply"),
        *("max_consecutive_auto_reply", "silent", "context_variables"),
    ]
)
_END = {"text": "TERMINATE", "where": "is"}
"""AutoGen's, where nothing else is said."""


class Cast(Members):
    """The members of a document, whose models and, in a group, agents are those of a scenario."""

    def __init__(
        self,
        document: TeamDocument,
        llm_config: Any = False,
        known: Mapping[str, ConversableAgent] | None = None,
    ) -> None:
        task = Task(Question("?"), scripted_model([]), lambda query: [])
        super().__init__(document, task, Findings(task))
        self._llm_config, self._known = llm_config, known or {}

    def llm_config(self, choice: ModelChoice) -> dict[str, Any]:
        """That of the scenario."""
        given: dict[str, Any] = self._llm_config
        return given

    def __getitem__(self, name: str) -> ConversableAgent:
        """Of the scenario, where it is there already."""
        return self._known[name] if name in self._known else super().__getitem__(name)


def to_document(agents: Sequence[Mapping[str, Any]], flow: Mapping[str, Any]) -> TeamDocument:
    """Read out of the JSON, as it is kept and exported."""
    read = read_document({"name": "Team", "agents": agents, "flow": flow})
    return read_document(json.dumps(read.to_json()))


def to_single(agent: Mapping[str, Any]) -> TeamDocument:
    return to_document([agent], {"kind": "single", "agent": agent["name"]})


class ByDocument(Kit):
    """AutoGen's scenarios; `made` counts what was made of documents."""

    def __init__(self, is_async: bool = False) -> None:
        super().__init__(OURS, is_async)
        self.made = 0

    def agent(self, name: str, **options: Any) -> Any:
        said = {key: value for key, value in options.items() if key in _SAID_BY_AGENTS}
        config = options.get("llm_config") or False
        llm: dict[str, str] | None = {} if config else None
        agent = {"name": name, "llm": llm, "is_termination_msg": _END, **said}
        if set(options) - set(said) - {"llm_config"} or options.get("system_message") == "":
            return super().agent(name, **options)
        try:
            document = to_single(agent)
        except Exception:  # noqa: BLE001 (wrong arguments are what the scenario is about)
            return super().agent(name, **options)
        self.made += 1
        return Cast(document, config)[name]

    @property
    def GroupChat(self) -> Callable[..., GroupChat]:
        return partial(make_group, self)

    @property
    def RetrieveUserProxyAgent(self) -> type[RetrieveUserProxyAgent]:
        kit = self

        class Proxy(RetrieveUserProxyAgent):
            def __init__(self, *args: Any, **options: Any) -> None:
                options["retrieve_config"] = pass_on(kit, options.get("retrieve_config"))
                super().__init__(*args, **options)

        return Proxy


def make_group(
    kit: ByDocument, agents: list[Any], messages: Any, *args: Any, **options: Any
) -> GroupChat:
    """A group whose settings stood in a document."""
    names = [getattr(agent, "name", "") for agent in agents]
    flow = {"kind": "group", "agents": names, "writer": "", **_to_flow(options)}
    known = {key: value for key, value in flow.items() if key in Group.model_fields}
    if args or len(known) < len(flow) or len(set(names)) < len(names):
        return GroupChat(agents, messages, *args, **options)
    try:
        document = to_document([{"name": name} for name in names], {**known, "writer": names[0]})
    except Exception:  # noqa: BLE001 (wrong arguments are what the scenario is about)
        return GroupChat(agents, messages, **options)
    kit.made += 1
    cast = Cast(document, known=dict(zip(names, agents, strict=True)))
    assert isinstance(document.flow, Group)
    settings = {"max_round": 10, **to_group_settings(document.flow, cast)}
    return GroupChat(agents, messages, **settings)


def _to_flow(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as a document says them; by default as many rounds as GroupChat has."""
    flow = {"max_round": 10, "speaker_selection_method": "auto", **options}
    if isinstance(flow.get("allow_repeat_speaker"), list):
        flow["allow_repeat_speaker"] = [agent.name for agent in flow["allow_repeat_speaker"]]
    order = flow.pop("allowed_or_disallowed_speaker_transitions", None)
    if isinstance(order, dict):
        flow["transitions"] = [
            {"after": after.name, "speakers": [agent.name for agent in speakers]}
            for after, speakers in order.items()
        ]
    return flow


def pass_on(kit: ByDocument, config: Any) -> Any:
    """A `retrieve_config` whose keys stood in a document, as far as they are values."""
    if not isinstance(config, dict):
        return config
    said = {key: value for key, value in config.items() if key in RetrieveConfig.model_fields}
    try:
        read = RetrieveConfig.model_validate(json.loads(json.dumps(_to_json(said))))
    except (TypeError, ValidationError):  # wrong ones are what the scenario is about
        return config
    kit.made += 1
    given = to_retrieve_config(read, "gpt-4")
    return {**config, **{key: given[key] for key in _to_json(said) if key in given}}


def _to_json(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is set, and several paths always, as a document has them."""
    given = {key: value for key, value in said.items() if value is not None}
    values = {key: value for key, value in given.items() if key not in ("vector_db", "model")}
    paths = values.get("docs_path", [])
    if not isinstance(paths, list):
        values["docs_path"] = [str(paths)]
    elif paths:
        values["docs_path"] = list(map(str, paths))
    return values


class StructuredByDocument(StructuredKit):
    """AgentScope's scenarios; `made` counts the agents that were made of documents."""

    def __init__(self) -> None:
        super().__init__("agentkit")
        self.made = 0

    @property
    def DictDialogAgent(self) -> Callable[..., DictDialogAgent]:
        return partial(make_dialog, self)


def make_dialog(
    kit: StructuredByDocument, name: str, *, llm_config: Any, **options: Any
) -> DictDialogAgent:
    """An agent whose role and settings stood in a document."""
    dialog = {key: options[key] for key in ("use_memory", "max_retries") if key in options}
    role = options.get("sys_prompt") or ""
    kit.made += 1
    document = to_single({"name": name, "system_message": role, "dialog": dialog})
    return Cast(document, llm_config).dialog(name)


class CompressibleByDocument(CompressibleKit):
    """AutoGen's scenarios of compression; `made` counts the agents that were made of documents."""

    def __init__(self) -> None:
        super().__init__(OURS)
        self.made = 0

    def agent(self, compress_config: Any, summary: Any = "A summary.", reply: Any = "Yes.") -> Any:
        plain = super().agent(compress_config, summary, reply)
        agent = {
            "name": "bob",
            "system_message": "Be short.",
            "compress_config": compress_config,
            "is_termination_msg": _END,
        }
        try:
            document = to_single(agent)
        except Exception:  # noqa: BLE001 (functions, and what is wrong: no document says it)
            return plain
        if not compress_config:
            return plain
        self.made += 1
        made: Any = Cast(document, plain.llm_config)["bob"]
        made.client, made.compress_client = Client(reply), Client(summary)
        return made

"""Teams of others as documents: workflows of AutoGen Studio, and scripts, which are read and never
run.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentkit.core.given import pick_given
from agentkit.errors import ConfigError
from agentkit.teams.built.document import (
    LONGEST,
    MOST_AGENTS,
    TeamDocument,
    describe_errors,
    read_document,
)
from agentkit.teams.built.offers.catalog import ask_always

LONGEST_SCRIPT = 200_000
"""Characters of a script."""
_MOST_REMARKS = 100
_AGENTS = ("ConversableAgent", "AssistantAgent", "UserProxyAgent", "CompressibleAgent")
_OF_TYPE = {"userproxy": "UserProxyAgent", "assistant": "AssistantAgent"}
"""The classes of the agents of AutoGen Studio."""
_COPIED: Mapping[str, type] = {
    "system_message": str,
    "description": str,
    "human_input_mode": str,
    "max_consecutive_auto_reply": int,
    "default_auto_reply": str,
}
"""Arguments of agents that a document has under the same name."""
_OF_GROUP: Mapping[str, type] = {
    "max_round": int,
    "speaker_selection_method": str,
    "admin_name": str,
    "allow_repeat_speaker": bool,
    "func_call_filter": bool,
    "enable_clear_history": bool,
    "send_introductions": bool,
    "select_speaker_message_template": str,
    "select_speaker_prompt_template": str,
    "max_retries_for_selecting_speaker": int,
}
"""Arguments of groups that a document has under the same name."""
_OF_MODEL = ("temperature", "max_tokens", "seed")
_NONE = ast.dump(ast.Constant(None))
_MOST = {"max_consecutive_auto_reply": 1_000, "max_round": 200, "max_turns": 200}
_SILENT = ("name", "llm_config", "code_execution_config", "agents", "messages", "groupchat")
"""Arguments that are read elsewhere, or that say nothing of a team."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that was not taken, or not as it was."""

    place: str
    """Of what it was an argument, such as the name of an agent."""
    text: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The team as a document, and what of it did not fit."""

    document: TeamDocument
    remarks: Sequence[Remark] = ()


def import_team(text: str | bytes) -> Imported:
    """The team of a document of ours, of a workflow of AutoGen Studio, or of a Python script.

    Nothing of it is run, and no keys of models are taken. Raises ConfigError for what is too long,
    cannot be read, or has no agents.
    """
    if len(text) > LONGEST:
        raise ConfigError(
            f"The team has {len(text):,} characters; more than {LONGEST:,} are not read."
        )
    plain = text if isinstance(text, str) else text.decode("utf-8", "replace")
    if not plain.lstrip("\ufeff \t\r\n").startswith("{"):
        return import_script(plain)
    try:
        data = json.loads(plain.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The team cannot be read: it is no JSON ({error}).") from error
    if {"flow", "format"} & data.keys() or isinstance(data.get("version"), int):
        return _take_document(read_document(data))
    return import_studio(data)


def _take_document(document: TeamDocument) -> Imported:
    """A document of ours; its tools ask, whatever it says."""
    careful = ask_always(document)
    told = "you are asked before each call of a dangerous tool, whatever the file says"
    remarks = (Remark("tools", told),) if careful != document else ()
    return Imported(careful, remarks)


@dataclass(slots=True)
class _Taken:
    """What was taken so far."""

    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    def remark(self, place: str, text: str) -> None:
        """Note what did not fit; the first hundred are told."""
        if len(self.remarks) < _MOST_REMARKS:
            self.remarks.append(Remark(place[:80], text))

    def agent(self, kind: str, given: Mapping[str, Any]) -> str:
        """Take an agent of a class with its arguments; its name."""
        name = str(given.get("name") or f"agent{len(self.agents) + 1}")
        if len(self.agents) >= MOST_AGENTS:
            raise ConfigError(f"It has more than {MOST_AGENTS} agents, which are not read.")
        made = {"name": name, **self._copy(name, given, _COPIED)}
        if name in self.agents:
            return name
        is_user = kind == "UserProxyAgent"
        made["llm"] = self._take_model(name, given.get("llm_config", not is_user))
        if "human_input_mode" not in made and is_user:
            made["human_input_mode"] = "ALWAYS"
        if _runs_code(given.get("code_execution_config"), is_user):
            made["code"] = {}
            self.remark(name, "its code runs in isolation, where code of this app runs")
        made["role"] = _find_role(is_user, "code" in made)
        self.agents[name] = made
        return name

    def group(self, given: Mapping[str, Any], names: list[str], starts: str) -> dict[str, Any]:
        """The flow of a group of these agents."""
        members = list(dict.fromkeys(names))
        if self.agents.get(starts, {}).get("code") is not None and starts not in members:
            members.append(starts)
            self.remark(starts, "it runs code, so it is a member of the group here")
        thinking = [name for name in members if self.agents[name]["llm"] is not None]
        writer = [*members, *thinking][-1] if members else ""
        self.remark("group", f"what {writer} says last is the answer")
        flow = {"kind": "group", "agents": members, "writer": writer}
        return {**flow, **self._copy("group", given, _OF_GROUP)}

    def finish(self, name: str, about: str, flow: Mapping[str, Any]) -> Imported:
        """The document; raises ConfigError where it cannot be one."""
        agents = list(self.agents.values())
        draft = {"name": name, "description": about[:2_000], "agents": agents, "flow": flow}
        return Imported(read_document(draft), tuple(self.remarks))

    def _copy(
        self, place: str, given: Mapping[str, Any], known: Mapping[str, type]
    ) -> dict[str, Any]:
        """The arguments that are there under the same names; others are told."""
        copied: dict[str, Any] = {}
        for key, value in given.items():
            if value is None or key in _SILENT:
                continue
            if key not in known or not isinstance(value, known[key]):
                self.remark(place, f"{key[:60]} was not taken")
                continue
            copied[key] = self._limit(place, key, value)
        return copied

    def _limit(self, place: str, key: str, value: Any) -> Any:
        most = _MOST.get(key)
        if most is None or value <= most:
            return value
        self.remark(place, f"{key} is {most:,} at most here")
        return most

    def _take_model(self, place: str, config: object) -> dict[str, Any] | None:
        """Parameters of a model; which one it was is told, its keys are left alone."""
        if not config:
            return None
        try:
            given = _Model.model_validate({} if config is True else config)
        except ValidationError:
            self.remark(place, "llm_config was not taken; it speaks with the chat's model")
            return {}
        for named in given.config_list[:1]:
            text = f"its model was {named.model[:80]!r}; it speaks with the chat's"
            self.remark(place, text)
        return given.model_dump(include=set(_OF_MODEL), exclude_none=True)


def _runs_code(config: object, is_user: bool) -> bool:
    """Whether an agent runs code: a UserProxyAgent does unless it is told not to."""
    if config is None:
        return is_user
    return config is not False and config != "none"


def _find_role(is_user: bool, runs_code: bool) -> str:
    if runs_code:
        return "runner"
    return "person" if is_user else "assistant"


def import_studio(data: object) -> Imported:
    """A workflow as AutoGen Studio 0.1 exports it; of a whole set of defaults the first one."""
    taken = _Taken()
    flow = _find_workflow(data, taken)
    linked = sorted(flow.agents, key=lambda one: one.link.sequence_id)
    in_turn = [one.agent for one in linked if one.link.agent_type == "sequential"]
    if in_turn:
        made = _take_sequence(in_turn, taken)
        return taken.finish(flow.name, flow.description, made)
    ends = {"sender": flow.sender, "receiver": flow.receiver}
    ends |= {one.link.agent_type: one.agent for one in linked}
    sender, receiver = ends["sender"], ends["receiver"]
    if sender is None or receiver is None:
        raise ConfigError("It has no workflow with a sender and a receiver, and none in sequence.")
    starts = _take_studio_agent(sender, taken)
    made = _take_receiver(receiver, starts, taken)
    return taken.finish(flow.name, flow.description, made)


M = TypeVar("M", bound=BaseModel)


class _Loose(BaseModel):
    """What is read of others: keys that are not known here are left alone."""

    model_config = ConfigDict(extra="ignore")


class _Skill(_Loose):
    name: str = ""
    title: str = ""


class _StudioAgent(_Loose):
    type: str = ""
    config: dict[str, Any] = {}
    groupchat_config: dict[str, Any] = {}
    skills: Annotated[list[_Skill], Field(max_length=MOST_AGENTS)] = []
    agents: Annotated[list[_StudioAgent], Field(max_length=MOST_AGENTS)] = []
    task_instruction: str | None = None


class _Link(_Loose):
    agent_type: str = ""
    sequence_id: int = 0


class _Linked(_Loose):
    agent: _StudioAgent
    link: _Link = _Link()


class _Workflow(_Loose):
    name: str = "Imported team"
    description: str = ""
    agents: Annotated[list[_Linked], Field(max_length=MOST_AGENTS)] = []
    sender: _StudioAgent | None = None
    receiver: _StudioAgent | None = None


class _Defaults(_Loose):
    workflows: list[_Workflow] = []


class _Named(_Loose):
    model: str = ""


class _Model(_Named):
    config_list: list[_Named] = []
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


def _read(model: type[M], data: object) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"The workflow cannot be read. {describe_errors(error)}") from error


def _find_workflow(data: object, taken: _Taken) -> _Workflow:
    first, *others = _read(_Defaults, data).workflows or [_read(_Workflow, data)]
    for other in others:
        taken.remark(other.name, "this workflow was not taken; import it by itself")
    return first


def _take_sequence(agents: list[_StudioAgent], taken: _Taken) -> dict[str, Any]:
    """A queue: each agent is asked in turn, and knows what came before."""
    lead = taken.agent("UserProxyAgent", {"name": "Lead", "human_input_mode": "NEVER"})
    chats = []
    for one in agents:
        message = f"{one.task_instruction or ''}\n{{question}}".lstrip()
        recipient = _take_studio_agent(one, taken)
        chats.append({"sender": lead, "recipient": recipient, "message": message})
    return {"kind": "queue", "chats": chats}


def _take_receiver(receiver: _StudioAgent, starts: str, taken: _Taken) -> dict[str, Any]:
    """The flow of a chat with this agent, or with the group that it leads."""
    if receiver.type != "groupchat":
        answers = _take_studio_agent(receiver, taken)
        return {"kind": "two_agents", "starts": starts, "answers": answers}
    settings = {**receiver.config, **receiver.groupchat_config}
    within = _read(_StudioAgent, {"agents": settings.get("agents", [])})
    names = [_take_studio_agent(one, taken) for one in (*within.agents, *receiver.agents)]
    shared = settings.keys() & _OF_GROUP.keys()
    return taken.group({key: settings[key] for key in sorted(shared)}, names, starts)


def _take_studio_agent(agent: _StudioAgent, taken: _Taken) -> str:
    own = agent.config.keys() - _OF_GROUP.keys()
    kind = _OF_TYPE.get(agent.type, "ConversableAgent")
    name = taken.agent(kind, {key: agent.config[key] for key in sorted(own)})
    for skill in agent.skills:
        called = f"{skill.name}{skill.title}"[:60]
        text = f"the skill {called!r} was not taken; AGENTKIT_TOOLS names files with functions"
        taken.remark(name, text)
    return name


def import_script(text: str) -> Imported:
    """The agents that a Python script makes with arguments that stand there as they are."""
    if len(text) > LONGEST_SCRIPT:
        raise ConfigError(
            f"The script has {len(text):,} characters; more than {LONGEST_SCRIPT:,} are not read."
        )
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"The script cannot be read as Python: {error}.") from error
    return _Reader(tree).read()


_FUNCTIONS = ("initiate_chats", "register_function")
"""Functions of AutoGen that do something with agents."""


@dataclass(frozen=True, slots=True)
class _Made:
    """What a script keeps in a variable."""

    kind: str
    given: Mapping[str, Any]
    nodes: Mapping[str, ast.expr]


class _Reader:
    """Reads a script from top to bottom."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._taken = _Taken()
        self._values: dict[str, Any] = {}
        self._made: dict[str, _Made] = {}
        self._names: dict[str, str] = {}

    def read(self) -> Imported:
        """The team; raises ConfigError for a script that makes no agents."""
        for target, value in self._list_assigned():
            self._take(target, value)
        if not self._names:
            raise ConfigError("The script makes no agents whose arguments stand there as they are.")
        functions = [one.name for one in self._tree.body if isinstance(one, ast.FunctionDef)]
        if functions:
            text = f"functions were not taken ({', '.join(functions)[:200]}); AGENTKIT_TOOLS names"
            self._taken.remark("script", f"{text} files with functions that agents may call")
        flow = self._find_flow()
        for target, method in dict.fromkeys(self._list_calls()):
            self._taken.remark(target, f"{method} was not taken")
        return self._taken.finish("Imported team", "Read from a script.", flow)

    def _list_calls(self) -> Iterator[tuple[str, str]]:
        """What else is done with the agents: the name of each method, and chats after the first."""
        done = [_find_call(one) for one in ast.walk(self._tree) if isinstance(one, ast.Call)]
        begun = [target for target, method in done if method == "initiate_chat"]
        for target, method in done:
            if target in {*self._names, *_FUNCTIONS} and method != "initiate_chat":
                yield target, method
        yield from ((target, "a further chat") for target in begun[1:])

    def _list_assigned(self) -> Iterator[tuple[str, ast.expr]]:
        for node in self._tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                yield node.targets[0].id, node.value

    def _take(self, target: str, value: ast.expr) -> None:
        if not isinstance(value, ast.Call):
            self._values[target] = self._evaluate(value)
            return
        kind = _name_of(value.func)
        given, nodes = self._read_arguments(target, value)
        self._made[target] = _Made(kind, given, nodes)
        if kind in _AGENTS:
            self._names[target] = self._taken.agent(kind, {"name": target, **given})
        elif kind.endswith("Agent"):
            self._taken.remark(target, f"an agent of the kind {kind[:60]} was not taken")

    def _read_arguments(
        self, target: str, call: ast.Call
    ) -> tuple[dict[str, Any], dict[str, ast.expr]]:
        """What stands there as it is, and all of it as it is written."""
        first = "name" if _name_of(call.func) in _AGENTS else "agents"
        nodes = dict(zip((first, "system_message"), call.args, strict=False))
        nodes |= {str(word.arg): word.value for word in call.keywords}
        values = {key: self._evaluate(node) for key, node in nodes.items()}
        given = pick_given(values)
        for key in nodes.keys() - given.keys() - set(_SILENT):
            self._note_computed(target, key, nodes[key])
        if "llm_config" in nodes:
            given.setdefault("llm_config", True)
        return given, nodes

    def _note_computed(self, target: str, key: str, node: ast.expr) -> None:
        written = ast.dump(node)
        if written == _NONE or (key == "is_termination_msg" and "TERMINATE" in written):
            return
        self._taken.remark(target, f"{key} is computed, so it was not taken")

    def _evaluate(self, node: ast.expr) -> Any:
        """The value that is written there, or that a variable was given; None for any other."""
        if isinstance(node, ast.Name):
            return self._values.get(node.id)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None

    def _find_flow(self) -> dict[str, Any]:
        starts, answers, turns = self._find_opening()
        managed = self._made.get(answers)
        if managed is not None and managed.kind == "GroupChatManager":
            return self._find_group(managed, self._names.get(starts, ""))
        if starts in self._names and answers in self._names:
            pair = {"starts": self._names[starts], "answers": self._names[answers]}
            return {"kind": "two_agents", **pair, **turns}
        names = list(self._names.values())
        self._taken.remark("script", "no chat is begun there, so its agents talk as they come")
        first, last = names[0], names[-1]
        alone = {"kind": "single", "agent": first}
        by_count = {1: alone, 2: {"kind": "two_agents", "starts": first, "answers": last}}
        return by_count.get(len(names)) or self._taken.group({}, names, "")

    def _find_group(self, manager: _Made, starts: str) -> dict[str, Any]:
        node = manager.nodes.get("groupchat") or manager.nodes.get("agents")
        chat = self._made.get(_name_of(node))
        if chat is None:
            raise ConfigError("The group of the script's GroupChatManager was not found.")
        listed = chat.nodes.get("agents")
        names: list[str] = []
        if isinstance(listed, ast.List):
            written = map(_name_of, listed.elts)
            names = [self._names[name] for name in written if name in self._names]
        if not names:
            raise ConfigError("The agents of the script's GroupChat do not stand there by name.")
        return self._taken.group(chat.given, names, starts)

    def _find_opening(self) -> tuple[str, str, dict[str, Any]]:
        """Who begins the first chat with whom, by their variables, and its turns."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and _name_of(node.func) == "initiate_chat":
                return self._read_opening(node)
        return "", "", {}

    def _read_opening(self, call: ast.Call) -> tuple[str, str, dict[str, Any]]:
        words = {word.arg: word.value for word in call.keywords}
        recipient = words.get("recipient")
        if recipient is None and call.args:
            recipient = call.args[0]
        sender = ""
        if isinstance(call.func, ast.Attribute):
            sender = _name_of(call.func.value)
        most: dict[str, Any] = {}
        turns = self._evaluate(words.get("max_turns", ast.Constant(None)))
        if isinstance(turns, int) and turns > 0:
            most = {"max_turns": min(turns, _MOST["max_turns"])}
        return sender, _name_of(recipient), most


def _find_call(node: ast.Call) -> tuple[str, str]:
    """The variable and the method that is called of it; of a function, its name twice."""
    name = _name_of(node.func)
    if isinstance(node.func, ast.Attribute):
        return _name_of(node.func.value), name
    return name, name


def _name_of(node: ast.expr | None) -> str:
    """The last part of a dotted name; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""

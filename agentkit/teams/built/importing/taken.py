"""What is taken of a team of others, and what of it is told as left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentkit.errors import ConfigError
from agentkit.teams.built.agents import CompressConfig
from agentkit.teams.built.document import (
    MOST_AGENTS,
    MOST_FUNCTIONS,
    TeamDocument,
    describe_errors,
    read_document,
)
from agentkit.teams.built.importing.functions import find_fault

_MOST_REMARKS = 100
_COPIED: Mapping[str, type] = {
    "system_message": str,
    "description": str,
    "human_input_mode": str,
    "max_consecutive_auto_reply": int,
    "default_auto_reply": str,
    "compress_config": dict,
}
"""Arguments of agents that a document has under the same name."""
OF_GROUP: Mapping[str, type] = {
    "max_round": int,
    "speaker_selection_method": str,
    "admin_name": str,
    "allow_repeat_speaker": bool,
    "speaker_transitions_type": str,
    "func_call_filter": bool,
    "enable_clear_history": bool,
    "send_introductions": bool,
    "select_speaker_message_template": str,
    "select_speaker_prompt_template": str,
    "max_retries_for_selecting_speaker": int,
}
"""Arguments of groups that a document has under the same name."""
_OF_MODEL = ("temperature", "max_tokens", "seed")
MOST = {"max_consecutive_auto_reply": 1_000, "max_round": 200, "max_turns": 200}
SILENT = (
    *("name", "llm_config", "code_execution_config", "agents", "messages", "groupchat"),
    *("retrieve_config", "allowed_or_disallowed_speaker_transitions"),
)
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


class Loose(BaseModel):
    """What is read of others: keys that are not known here are left alone."""

    model_config = ConfigDict(extra="ignore")


class _Named(Loose):
    model: str = ""


class _Model(_Named):
    config_list: list[_Named] = Field(default_factory=list)
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(slots=True)
class Taken:
    """What was taken so far."""

    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    """Code by name."""

    def remark(self, place: str, text: str) -> None:
        """Note what did not fit; the first hundred are told."""
        if len(self.remarks) < _MOST_REMARKS:
            self.remarks.append(Remark(place[:80], text))

    def agent(self, kind: str, given: Mapping[str, Any]) -> str:
        """Take an agent of a class with its arguments; its name."""
        if len(self.agents) >= MOST_AGENTS:
            raise ConfigError(f"It has more than {MOST_AGENTS} agents, which are not read.")
        name = str(given.get("name") or f"agent{len(self.agents) + 1}")
        copied = self._copy(name, given, _COPIED)
        if name in self.agents:
            return name
        is_user = kind == "UserProxyAgent"
        made = {"name": name, **copied}
        made["llm"] = self._take_model(name, given.get("llm_config", not is_user))
        if is_user:
            made.setdefault("human_input_mode", "ALWAYS")
            made["role"] = "person"
        else:
            made["role"] = "assistant"
        if _runs_code(given.get("code_execution_config"), is_user):
            made["code"] = {}
            made["role"] = "runner"
            self.remark(name, "its code runs in isolation, where code of this app runs")
        self.agents[name] = made
        return name

    def group(self, given: Mapping[str, Any], names: list[str], starts: str) -> dict[str, Any]:
        """The flow of a group of these agents."""
        members = list(dict.fromkeys(names))
        beginner = self.agents.get(starts, {})
        runs_code = beginner.get("code") is not None
        if runs_code and starts not in members:
            members.append(starts)
            self.remark(starts, "it runs code, so it is a member of the group here")
        thinking = [name for name in members if self.agents[name]["llm"] is not None]
        *_, writer = ("", *members, *thinking)
        self.remark("group", f"what {writer} says last is the answer")
        copied = self._copy("group", given, OF_GROUP)
        return {
            "kind": "group",
            "agents": members,
            "writer": writer,
            **copied,
        }

    def bring(
        self, name: str, code: str, callers: Sequence[str], missing: Sequence[str] = ()
    ) -> None:
        """Take a function that these agents may call, or tell why not; `missing` are names that it
        needs and that are not in its code.
        """
        place = ", ".join(callers)
        fault = find_fault(name, code)
        if fault:
            self.remark(place, f"the function {name[:60]!r} was not taken: {fault}")
            return
        self.functions[name] = code
        for caller in callers:
            tools = self.agents[caller].setdefault("tools", [])
            tools.append({"name": name})
        told = "came along; it runs in isolation, and you are asked before each call"
        self.remark(place, f"the function {name!r} {told}")
        if missing:
            needed = f"it needs {', '.join(missing)[:200]}, which the script computes or imports"
            told = f"fails as it is: {needed} from autogen; write that into its code"
            self.remark(place, f"the function {name!r} {told}")

    def finish(self, name: str, about: str, flow: Mapping[str, Any]) -> Imported:
        """The document; raises ConfigError where it cannot be one."""
        written = [{"name": one, "code": code} for one, code in self.functions.items()]
        draft = {
            "name": name,
            "description": about[:2_000],
            "agents": list(self.agents.values()),
            "flow": flow,
            "functions": written[:MOST_FUNCTIONS],
        }
        return Imported(read_document(draft), tuple(self.remarks))

    def _copy(
        self, place: str, given: Mapping[str, Any], known: Mapping[str, type]
    ) -> dict[str, Any]:
        """The arguments that are there under the same names; others are told."""
        copied: dict[str, Any] = {}
        for key, value in given.items():
            if value is None or key in SILENT:
                continue
            if isinstance(value, known.get(key, ())):
                copied[key] = self._limit(place, key, value)
            else:
                self.remark(place, f"{key[:60]} was not taken")
        compression = copied.get("compress_config")
        if compression is not None:
            copied["compress_config"] = self._read_compression(place, compression)
        return copied

    def _read_compression(self, place: str, config: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            return CompressConfig.model_validate(config).model_dump(by_alias=True)
        except ValidationError as error:
            self.remark(place, f"compress_config was not taken: {describe_errors(error)}")
            return None

    def _limit(self, place: str, key: str, value: Any) -> Any:
        most = MOST.get(key)
        if most is None:
            return value
        if value <= most:
            return value
        self.remark(place, f"{key} is {most:,} at most here")
        return most

    def _take_model(self, place: str, config: object) -> dict[str, Any] | None:
        """Parameters of a model; which one it was is told, its keys are left alone."""
        if not config:
            return None
        written = {} if config is True else config
        try:
            given = _Model.model_validate(written)
        except ValidationError:
            self.remark(place, "llm_config was not taken; it speaks with the chat's model")
            return {}
        if given.config_list:
            first = given.config_list[0]
            text = f"its model was {first.model[:80]!r}; it speaks with the chat's"
            self.remark(place, text)
        return given.model_dump(include=set(_OF_MODEL), exclude_none=True)


def _runs_code(config: object, is_user: bool) -> bool:
    """Whether an agent runs code: a UserProxyAgent does unless it is told not to."""
    if config is None:
        return is_user
    return config is not False and config != "none"

"""The settings of a group chat, checked when it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentkit.agents.group import templates
from agentkit.agents.group.members import Group
from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import is_whole_number
from agentkit.core.given import is_list_of, list_missing
from agentkit.errors import AgentkitError, WrongArgument, WrongType

METHODS = ("auto", "manual", "random", "round_robin")
_TRANSITIONS = ("allowed", "disallowed")
_TEMPLATES = (
    "select_speaker_message_template",
    "select_speaker_auto_multiple_template",
    "select_speaker_auto_none_template",
)
_PROMPT = "select_speaker_prompt_template"


@dataclass(frozen=True, slots=True)
class _Rule:
    """What the value of a setting must be, and the error that is raised when it is not."""

    setting: str
    is_kept_by: Callable[[Any], bool]
    what: str
    error: type[AgentkitError] = WrongArgument

    def check(self, chat: Group) -> None:
        value = getattr(chat, self.setting)
        if not self.is_kept_by(value):
            raise self.error(f"GroupChat: {self.setting} must be {self.what}, not {value!r:.200}.")


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_list_or_tuple(value: object) -> bool:
    return isinstance(value, list | tuple)


def _has_only_agents(value: object) -> bool:
    return is_list_of(value, Agent)


def _is_natural(value: int) -> bool:
    return value >= 0


def _is_flag(value: object) -> bool:
    return value in (True, False)


def _is_transform(value: object) -> bool:
    return value is None or callable(getattr(value, "add_to_agent", None))


def _is_text_or_none(value: object) -> bool:
    return isinstance(value, str | None)


def _may_say_who_repeats(value: object) -> bool:
    return isinstance(value, bool | list | None)


def _is_method(value: object) -> bool:
    return callable(value) or str(value).lower() in METHODS


_RULES = (
    _Rule("agents", _is_list_or_tuple, "a list of agents", WrongType),
    _Rule("agents", _has_only_agents, "a list of agents, and nothing else"),
    _Rule("messages", _is_list, "a list", WrongType),
    _Rule("max_round", is_whole_number, "a whole number", WrongType),
    _Rule("max_round", _is_natural, "at least 0"),
    _Rule("max_retries_for_selecting_speaker", is_whole_number, "a whole number"),
    _Rule("max_retries_for_selecting_speaker", _is_natural, "at least 0"),
    _Rule("select_speaker_auto_verbose", _is_flag, "a bool"),
    _Rule("select_speaker_transform_messages", _is_transform, "TransformMessages or None"),
    *(
        rule
        for name in (*_TEMPLATES, "role_for_select_speaker_messages")
        for rule in (
            _Rule(name, bool, "a text that is not empty"),
            _Rule(name, _is_text_or_none, "a text", WrongType),
        )
    ),
    _Rule(_PROMPT, _is_text_or_none, "a text", WrongType),
    _Rule("speaker_selection_method", _is_method, f"one of {', '.join(METHODS)} or a callable"),
    _Rule("allow_repeat_speaker", _may_say_who_repeats, "a bool or a list of agents"),
)


def check_settings(chat: Group) -> dict[str, object]:
    """The settings in the form in which they count; raises WrongArgument or WrongType that name the
    argument.
    """
    for rule in _RULES:
        rule.check(chat)
    for name in _TEMPLATES:
        templates.fill(getattr(chat, name), [])
    prompt = chat.select_speaker_prompt_template or None
    if prompt is not None:
        templates.fill(prompt, [])
    method = chat.speaker_selection_method
    return {
        "agents": _to_list(chat.agents),
        "speaker_selection_method": method if callable(method) else read_method(method),
        "speaker_transitions_type": _read_transitions_type(chat),
        "allow_repeat_speaker": _read_repeating(chat),
        "select_speaker_prompt_template": prompt,
    }


def _to_list(agents: object) -> object:
    """The list itself, so that later changes of it count."""
    if isinstance(agents, tuple):
        return list(agents)
    return agents


def read_method(name: object) -> str:
    """The selection method of that name in any case; raises WrongArgument."""
    wanted = str(name).lower()
    if wanted not in METHODS:
        raise WrongArgument(
            f"GroupChat: speaker_selection_method must be one of {', '.join(METHODS)} or a"
            f" callable, not {name!r}."
        )
    return wanted


def _read_transitions_type(chat: Group) -> str | None:
    kind: object = chat.speaker_transitions_type
    if kind is None:
        if chat.allowed_or_disallowed_speaker_transitions is None:
            return None
        raise WrongArgument(
            "GroupChat: allowed_or_disallowed_speaker_transitions needs"
            " speaker_transitions_type 'allowed' or 'disallowed'."
        )
    wanted = str(kind).lower()
    if wanted not in _TRANSITIONS:
        raise WrongArgument(
            "GroupChat: speaker_transitions_type must be 'allowed', 'disallowed' or None, not"
            f" {kind!r}."
        )
    return wanted


def _read_repeating(chat: Group) -> object:
    """True unless said otherwise; None where a graph of transitions says who may repeat."""
    repeat = chat.allow_repeat_speaker
    if chat.allowed_or_disallowed_speaker_transitions is not None:
        if repeat is None:
            return None
        raise WrongArgument(
            "GroupChat: allow_repeat_speaker and allowed_or_disallowed_speaker_transitions"
            " exclude each other; leave out one."
        )
    if not isinstance(repeat, list):
        return repeat is not False
    strangers = list_missing(repeat, chat.agents)
    if strangers:
        name = getattr(strangers[0], "name", strangers[0])
        raise WrongArgument(
            f"GroupChat: allow_repeat_speaker names {name!r}, which is not among the agents of"
            " the group."
        )
    return repeat

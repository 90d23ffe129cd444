"""The settings of a group chat, checked when it is made."""

from __future__ import annotations

from agentkit.agents.group import templates
from agentkit.agents.group.members import Group
from agentkit.conversation.agent import Agent
from agentkit.errors import WrongArgument, WrongType

_TEMPLATES = (
    "select_speaker_message_template",
    "select_speaker_auto_multiple_template",
    "select_speaker_auto_none_template",
)
METHODS = ("auto", "manual", "random", "round_robin")


def check_settings(chat: Group) -> dict[str, object]:
    """The settings in the form in which they count; raises WrongArgument or WrongType that name the
    argument.
    """
    _check_agents(chat.agents)
    if not isinstance(chat.messages, list):
        raise WrongType(f"GroupChat: messages must be a list, not {chat.messages!r}.")
    _check_count("max_round", chat.max_round, WrongType)
    _check_count(
        "max_retries_for_selecting_speaker", chat.max_retries_for_selecting_speaker, WrongArgument
    )
    method = chat.speaker_selection_method
    if chat.select_speaker_auto_verbose not in (True, False):
        raise WrongArgument(
            "GroupChat: select_speaker_auto_verbose must be a bool, not"
            f" {chat.select_speaker_auto_verbose!r}."
        )
    transform = chat.select_speaker_transform_messages
    if transform is not None and not callable(getattr(transform, "add_to_agent", None)):
        raise WrongArgument(
            "GroupChat: select_speaker_transform_messages must be TransformMessages or None, not"
            f" {transform!r}."
        )
    _check_texts(chat)
    return {
        "agents": _to_list(chat.agents),
        "speaker_selection_method": method if callable(method) else read_method(method),
        "speaker_transitions_type": _read_transitions_type(chat),
        "allow_repeat_speaker": _read_repeating(chat),
        "select_speaker_prompt_template": chat.select_speaker_prompt_template or None,
    }


def read_method(name: object) -> str:
    """The selection method of that name in any case; raises WrongArgument."""
    if not isinstance(name, str) or name.lower() not in METHODS:
        raise WrongArgument(
            f"GroupChat: speaker_selection_method must be one of {', '.join(METHODS)} or a"
            f" callable, not {name!r}."
        )
    return name.lower()


def _to_list(agents: object) -> object:
    return list(agents) if isinstance(agents, tuple) else agents


def _check_agents(agents: object) -> None:
    if not isinstance(agents, list | tuple):
        raise WrongType(f"GroupChat: agents must be a list of agents, not {agents!r}.")
    for index, agent in enumerate(agents):
        if not isinstance(agent, Agent):
            raise WrongArgument(f"GroupChat: agents[{index}] must be an agent, not {agent!r}.")


def _check_count(name: str, value: object, error: type[Exception]) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise error(f"GroupChat: {name} must be a whole number, not {value!r}.")
    if value < 0:
        raise WrongArgument(f"GroupChat: {name} must be at least 0, not {value}.")


def _check_texts(chat: Group) -> None:
    for name in (*_TEMPLATES, "role_for_select_speaker_messages"):
        if not getattr(chat, name):
            raise WrongArgument(f"GroupChat: {name} must not be empty or None.")
        _check_text(name, getattr(chat, name))
    _check_text("select_speaker_prompt_template", chat.select_speaker_prompt_template)
    for name in (*_TEMPLATES, "select_speaker_prompt_template"):
        templates.fill(getattr(chat, name) or "", [])


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str | None):
        raise WrongType(f"GroupChat: {name} must be a text, not {text!r}.")


def _read_transitions_type(chat: Group) -> str | None:
    kind: object = chat.speaker_transitions_type
    given = chat.allowed_or_disallowed_speaker_transitions
    if kind is None and given is None:
        return None
    if kind is None:
        raise WrongArgument(
            "GroupChat: allowed_or_disallowed_speaker_transitions needs"
            " speaker_transitions_type 'allowed' or 'disallowed'."
        )
    if not isinstance(kind, str) or kind.lower() not in ("allowed", "disallowed"):
        raise WrongArgument(
            "GroupChat: speaker_transitions_type must be 'allowed', 'disallowed' or None, not"
            f" {kind!r}."
        )
    return kind.lower()


def _read_repeating(chat: Group) -> object:
    """True unless said otherwise; None where a graph of transitions says who may repeat."""
    repeat = chat.allow_repeat_speaker
    if chat.allowed_or_disallowed_speaker_transitions is not None:
        if repeat is not None:
            raise WrongArgument(
                "GroupChat: allow_repeat_speaker and allowed_or_disallowed_speaker_transitions"
                " exclude each other; leave out one."
            )
        return None
    if isinstance(repeat, bool | None):
        return repeat is not False
    if not isinstance(repeat, list):
        raise WrongArgument(
            f"GroupChat: allow_repeat_speaker must be a bool or a list of agents, not {repeat!r}."
        )
    if strangers := [agent for agent in repeat if agent not in chat.agents]:
        name = getattr(strangers[0], "name", strangers[0])
        raise WrongArgument(
            f"GroupChat: allow_repeat_speaker names {name!r}, which is not among the agents of"
            " the group."
        )
    return repeat

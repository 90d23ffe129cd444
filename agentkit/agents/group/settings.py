"""The settings of a group chat, checked when it is made."""

from __future__ import annotations

from agentkit.agents.group import templates
from agentkit.agents.group.members import Group
from agentkit.conversation.agent import Agent
from agentkit.errors import WrongArgument, WrongType

METHODS = ("auto", "manual", "random", "round_robin")


def checked(chat: Group) -> dict[str, object]:
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
        "agents": _listed(chat.agents),
        "speaker_selection_method": method if callable(method) else method_named(method),
        "speaker_transitions_type": _transitions_type(chat),
        "allow_repeat_speaker": _repeating(chat),
        "select_speaker_prompt_template": chat.select_speaker_prompt_template or None,
    }


def method_named(name: object) -> str:
    """The selection method of that name in any case; raises WrongArgument."""
    if not isinstance(name, str) or name.lower() not in METHODS:
        raise WrongArgument(
            f"GroupChat: speaker_selection_method must be one of {', '.join(METHODS)} or a"
            f" callable, not {name!r}."
        )
    return name.lower()


def _listed(agents: object) -> object:
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
    needed = (
        "select_speaker_message_template",
        "select_speaker_auto_multiple_template",
        "select_speaker_auto_none_template",
        "role_for_select_speaker_messages",
    )
    for name in (*needed, "select_speaker_prompt_template"):
        text = getattr(chat, name)
        if not text and name in needed:
            raise WrongArgument(f"GroupChat: {name} must not be empty or None.")
        if text is not None and not isinstance(text, str):
            raise WrongType(f"GroupChat: {name} must be a text, not {text!r}.")
        if text and name != "role_for_select_speaker_messages":
            templates.filled(text, [])


def _transitions_type(chat: Group) -> str | None:
    kind: object = chat.speaker_transitions_type
    given = chat.allowed_or_disallowed_speaker_transitions
    if kind is None:
        if given is not None:
            raise WrongArgument(
                "GroupChat: allowed_or_disallowed_speaker_transitions needs"
                " speaker_transitions_type 'allowed' or 'disallowed'."
            )
        return None
    if not isinstance(kind, str) or kind.lower() not in ("allowed", "disallowed"):
        raise WrongArgument(
            "GroupChat: speaker_transitions_type must be 'allowed', 'disallowed' or None, not"
            f" {kind!r}."
        )
    return kind.lower()


def _repeating(chat: Group) -> object:
    """True unless said otherwise; None where a graph of transitions says who may repeat."""
    repeat = chat.allow_repeat_speaker
    if chat.allowed_or_disallowed_speaker_transitions is not None:
        if repeat is not None:
            raise WrongArgument(
                "GroupChat: allow_repeat_speaker and allowed_or_disallowed_speaker_transitions"
                " exclude each other; leave out one."
            )
        return None
    if repeat is None:
        return True
    if isinstance(repeat, bool):
        return repeat
    if not isinstance(repeat, list):
        raise WrongArgument(
            f"GroupChat: allow_repeat_speaker must be a bool or a list of agents, not {repeat!r}."
        )
    for agent in repeat:
        if agent not in chat.agents:
            name = getattr(agent, "name", agent)
            raise WrongArgument(
                f"GroupChat: allow_repeat_speaker names {name!r}, which is not among the agents of"
                " the group."
            )
    return repeat

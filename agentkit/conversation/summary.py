"""What stays of a chat when it is over, and how it goes into the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentkit.conversation import announcing
from agentkit.conversation.agent import ChatAgent
from agentkit.conversation.model import list_tools, model_reply
from agentkit.core.given import coalesce, to_list
from agentkit.errors import InvalidCarryOverType, ModelError, WrongArgument
from agentkit.messages import AnyMessage, content_of, text_of, text_or_empty

if TYPE_CHECKING:
    from agentkit.llm.cache import AbstractCache

DEFAULT_PROMPT = (
    "Summarize the takeaway from the conversation. Do not add any introductory phrases. "
    "If the intended request is NOT properly addressed, please point it out."
)
"""AutoGen's, from its documentation."""
REFLECTION = "reflection_with_llm"
SummaryMethod = str | Callable[..., object] | None


def last_message_summary(
    sender: ChatAgent, recipient: ChatAgent, _args: Mapping[str, object]
) -> str:
    """The text of the recipient's last message, without TERMINATE."""
    # Agents of another make may keep nothing.
    if sender not in getattr(recipient, "chat_messages", ()):
        return ""
    last = coalesce(recipient.last_message(sender), {})
    content = content_of(last)
    if isinstance(content, list):
        texts = [str(part["text"]) for part in content if "text" in part]
        content = "\n".join(texts)
    return text_or_empty(content).replace("TERMINATE", "")


def reflection_summary(sender: ChatAgent, recipient: ChatAgent, args: Mapping[str, Any]) -> Any:
    """What the model of the recipient, else of the sender, makes of the chat."""
    if hasattr(recipient, "chat_messages_for_summary"):
        messages = recipient.chat_messages_for_summary(sender)
    else:  # an agent of another make
        messages = sender.chat_messages[recipient]
    try:
        return reflect_as_told(sender, messages, recipient, args)
    except ModelError as error:
        announcing.note(sender.name, f"no summary by reflection, the model failed: {error}")
        return ""


def reflect_as_told(
    agent: ChatAgent, messages: Sequence[AnyMessage], llm_agent: Any, args: Mapping[str, Any]
) -> Any:
    """`reflect` with the prompt, role and cache that `summary_args` hold, or their defaults."""
    prompt = coalesce(args.get("summary_prompt"), agent.DEFAULT_SUMMARY_PROMPT)
    role = args.get("summary_role")
    return reflect(agent, prompt, messages, llm_agent, args.get("cache"), role)


def reflect(
    agent: ChatAgent,
    prompt: str,
    messages: Sequence[AnyMessage],
    llm_agent: Any,
    cache: AbstractCache | None,
    role: str | None,
) -> Any:
    """What the model of `llm_agent`, else of the agent, replies to the messages with the prompt
    behind them.
    """
    for speaker in (llm_agent, agent):
        client = getattr(speaker, "client", None)
        if client is not None:
            offered = list_tools(getattr(speaker, "llm_config", False))
            asked = [*messages, {"role": coalesce(role, "system"), "content": prompt}]
            return model_reply(client, asked, cache, speaker, offered)
    raise WrongArgument(
        f"{agent.name}: neither agent has a model to reflect with; give one of them an llm_config."
    )


def summarize(
    agent: ChatAgent,
    method: SummaryMethod,
    args: Mapping[str, object],
    recipient: ChatAgent,
    cache: AbstractCache | None,
) -> object:
    """The summary of the chat with the recipient; empty without a method."""
    summary_of = find_method(agent.name, method)
    return summary_of(agent, recipient, {"cache": cache, **args})


def _no_summary(_sender: object, _recipient: object, _args: Mapping[str, object]) -> str:
    return ""


_METHODS: dict[str | None, Callable[..., object]] = {
    None: _no_summary,
    "last_msg": last_message_summary,
    REFLECTION: reflection_summary,
}


def find_method(owner: str, method: object) -> Callable[..., object]:
    """The function that makes a summary; raises WrongArgument for an unknown method."""
    if callable(method):
        return method
    if isinstance(method, str | None) and method in _METHODS:
        return _METHODS[method]
    raise WrongArgument(
        f"{owner}: summary_method must be 'last_msg', 'reflection_with_llm', a callable or None,"
        f" not {method!r}."
    )


def check_reflection(owner: str, args: Mapping[str, object]) -> None:
    """Raise WrongArgument unless the prompt and the role of a reflection are texts."""
    for name in ("summary_prompt", "summary_role"):
        if not isinstance(args.get(name), str | None):
            raise WrongArgument(f"{owner}: {name} must be a text, not {args[name]!r}.")


def check_carryover(owner: str, carryover: object) -> None:
    """Raise InvalidCarryOverType for anything but a text or a list; nothing at all may be
    written in any way.
    """
    if carryover and not isinstance(carryover, str | list):
        raise InvalidCarryOverType(
            f"{owner}: carryover must be a text or a list, not {carryover!r:.200}."
        )


def with_carryover(owner: str, message: object, carryover: Any) -> object:
    """The first message of a chat with what is carried over from others behind it.

    Raises InvalidCarryOverType for a message or a carryover that cannot be combined.
    """
    check_carryover(owner, carryover)
    items = list_items(carryover)
    if not items:
        return message
    context = "\nContext: \n" + "\n".join(map(format_item, items))
    if isinstance(message, dict):
        return {**message, **_add_context(message.get("content"), context)}
    if isinstance(message, str):
        return message + context
    raise InvalidCarryOverType(
        f"{owner}: a carryover needs a text or a dict as message, not {message!r:.200}."
    )


def _add_context(content: object, context: str) -> dict[str, object]:
    """The content of a message with the context, under its key; nothing where a text cannot be
    added.
    """
    if isinstance(content, list):
        return {"content": [{"type": "text", "text": context}, *content]}
    if isinstance(content, str):
        return {"content": content + context}
    return {}


def list_items(carryover: str | list[object] | None) -> list[object]:
    """What is carried over, one by one; a text is one item, unless it is empty."""
    return to_list(carryover or None, str)


def format_item(item: object) -> str:
    """One item of a carryover as text."""
    if isinstance(item, dict) and "content" in item:
        return text_of(item["content"])
    return str(item)

"""What stays of a chat when it is over, and how it goes into the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentkit.conversation import announcing
from agentkit.conversation.agent import ChatAgent
from agentkit.conversation.model import model_reply, offered_tools
from agentkit.errors import InvalidCarryOverType, ModelError, WrongArgument
from agentkit.messages import AnyMessage, content_of, text_of

if TYPE_CHECKING:
    from agentkit.llm.cache import AbstractCache

DEFAULT_PROMPT = (
    "Summarize the takeaway from the conversation. Do not add any introductory phrases. "
    "If the intended request is NOT properly addressed, please point it out."
)
"""AutoGen's, from its documentation."""
SummaryMethod = str | Callable[..., object] | None


def last_message_summary(
    sender: ChatAgent, recipient: ChatAgent, _args: Mapping[str, object]
) -> str:
    """The text of the recipient's last message, without TERMINATE."""
    known = sender in getattr(
        recipient, "chat_messages", ()
    )  # agents of another make may keep nothing
    last = recipient.last_message(sender) if known else None
    content = content_of(last or {})
    if isinstance(content, list):
        return "\n".join(
            str(part["text"]).replace("TERMINATE", "") for part in content if "text" in part
        )
    return content.replace("TERMINATE", "") if isinstance(content, str) else ""


def reflection_summary(sender: ChatAgent, recipient: ChatAgent, args: Mapping[str, Any]) -> Any:
    """What the model of the recipient, else of the sender, makes of the chat."""
    prompt, role = args.get("summary_prompt"), args.get("summary_role")
    if prompt is None:
        prompt = sender.DEFAULT_SUMMARY_PROMPT
    if hasattr(recipient, "chat_messages_for_summary"):
        messages = recipient.chat_messages_for_summary(sender)
    else:  # an agent of another make
        messages = sender.chat_messages[recipient]
    try:
        return reflect(sender, prompt, messages, recipient, args.get("cache"), role)
    except ModelError as error:
        announcing.note(sender.name, f"no summary by reflection, the model failed: {error}")
        return ""


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
    asked_first = ((each, getattr(each, "client", None)) for each in (llm_agent, agent))
    speaker, client = next((pair for pair in asked_first if pair[1] is not None), (agent, None))
    if client is None:
        raise WrongArgument(
            f"{agent.name}: neither agent has a model to reflect with; give one of them an"
            " llm_config."
        )
    asked = [*messages, {"role": role or "system", "content": prompt}]
    return model_reply(
        client, asked, cache, speaker, offered_tools(getattr(speaker, "llm_config", False))
    )


def summarize(
    agent: ChatAgent,
    method: SummaryMethod,
    args: Mapping[str, object],
    recipient: ChatAgent,
    cache: AbstractCache | None,
) -> object:
    """The summary of the chat with the recipient; empty without a method."""
    if method is None:
        return ""
    args = {"cache": cache, **args}
    if method == "last_msg":
        method = last_message_summary
    elif method == "reflection_with_llm":
        method = reflection_summary
    return check_method(agent.name, method)(agent, recipient, args)


def check_method(owner: str, method: SummaryMethod) -> Callable[..., object]:
    """The method, if it can be one; raises WrongArgument."""
    if method in (None, "last_msg", "reflection_with_llm") or callable(method):
        return method  # type: ignore[return-value]  # the names are replaced by the caller
    raise WrongArgument(
        f"{owner}: summary_method must be 'last_msg', 'reflection_with_llm', a callable or None,"
        f" not {method!r}."
    )


def check_reflection(owner: str, args: Mapping[str, object]) -> None:
    """Raise WrongArgument for a prompt or a role of a reflection that is no text."""
    for name in ("summary_prompt", "summary_role"):
        if not isinstance(args.get(name), str | None):
            raise WrongArgument(f"{owner}: {name} must be a text, not {args[name]!r}.")


def check_carryover(owner: str, carryover: object) -> None:
    """Raise InvalidCarryOverType for what is neither a text nor a list; nothing at all may be
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
    if not carryover:
        return message
    check_carryover(owner, carryover)
    if isinstance(message, str):
        return message + _context(carryover)
    if isinstance(message, dict):
        content = message.get("content")
        if isinstance(content, list):
            return {**message, "content": [{"type": "text", "text": _context(carryover)}, *content]}
        if isinstance(content, str):
            return {**message, "content": content + _context(carryover)}
        return message
    raise InvalidCarryOverType(
        f"{owner}: a carryover needs a text or a dict as message, not {message!r:.200}."
    )


def _context(carryover: str | list[object]) -> str:
    return "\nContext: \n" + (
        carryover if isinstance(carryover, str) else "\n".join(carried(item) for item in carryover)
    )


def carried(item: object) -> str:
    """One item of a carryover as text."""
    if isinstance(item, dict) and "content" in item:
        return text_of(item["content"]) if not isinstance(item["content"], str) else item["content"]
    return str(item)

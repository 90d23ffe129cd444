"""Messages whose content is a template or a function of a context, filled in before a model is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentkit.errors import WrongArgument
from agentkit.messages import Message

Template = str | list[Any] | Callable[[dict[str, Any]], Any] | None


def instantiate(template: Template, context: Mapping[str, Any] | None = None, allow_format_str_template: bool = False) -> Any:
    """The text of a template: a function is called with the context, `{name}` is filled in where that is allowed.

    Without a context texts stay as they are. Raises WrongArgument for a function without a context, and for a name that
    the context lacks.
    """
    if callable(template):
        if context is None:
            raise WrongArgument(f"The content {template!r} is a function of the context, but no context is given; pass context=.")
        return template(dict(context))
    if not context or not allow_format_str_template:
        return template
    if isinstance(template, list):
        return [_filled_part(part, context) for part in template]
    return _filled(template, context) if isinstance(template, str) else template


def instantiated(
    messages: Sequence[Mapping[str, Any]], context: Mapping[str, Any] | None, allow_format_str_template: bool
) -> list[Message]:
    """Copies of the messages with their content filled in."""
    made: list[Any] = []
    for message in messages:
        content = instantiate(message.get("content"), context, allow_format_str_template)
        made.append({**message, "content": content} if content is not message.get("content") else dict(message))
    return made


def _filled_part(part: object, context: Mapping[str, object]) -> Any:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return {**part, "text": _filled(part["text"], context)}
    return part


def _filled(template: str, context: Mapping[str, object]) -> str:
    try:
        return template.format(**context)
    except (KeyError, IndexError, ValueError) as error:
        raise WrongArgument(
            f"The template {template!r} cannot be filled from a context with the keys {sorted(map(str, context))} "
            f"({type(error).__name__}: {error}); add what is missing, or write {{{{ and }}}} for plain braces."
        ) from error

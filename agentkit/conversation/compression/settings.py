"""AutoGen's `compress_config`: its keys, what they may be, and what a function of one's own gives
back.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from agentkit.conversation.checks import check_count, check_kind
from agentkit.conversation.compression.shape import Messages
from agentkit.core.given import list_missing
from agentkit.core.lenient import is_number
from agentkit.errors import AgentkitError, WrongArgument, WrongType
from agentkit.messages import Stored, copy_message, has_calls, tool_responses_of

MODES = ("TERMINATE", "COMPRESS", "CUSTOMIZED")
DEFAULT: dict[str, Any] = {
    "mode": "TERMINATE",
    "compress_function": None,
    "trigger_count": 0.7,
    "async": False,
    "broadcast": True,
    "verbose": False,
    "leave_last_n": 0,
}


class Failed(tuple[bool, None]):
    """`(False, None)` of a compression, with the reason."""

    reason: str

    def __new__(cls, reason: str) -> Failed:
        """It failed for this reason."""
        made = super().__new__(cls, (False, None))
        made.reason = reason
        return made


def complete(owner: str, given: object) -> dict[str, Any]:
    """The settings with the defaults for those that are not given (True: for all).

    Raises WrongType and WrongArgument for unknown keys and impossible values.
    """
    if given is True:
        return dict(DEFAULT)
    if not isinstance(given, Mapping):
        raise WrongArgument(
            f"{owner}: compress_config must be True, False or a dict, not {given!r:.80}."
        )
    unknown = sorted(map(str, list_missing(given, DEFAULT)))
    if unknown:
        raise WrongArgument(
            f"{owner}: compress_config has the unknown key {unknown[0]!r}; it may have"
            f" {', '.join(DEFAULT)}."
        )
    config = {**DEFAULT, **given}
    if config["mode"] not in MODES:
        raise WrongArgument(
            f"{owner}: the mode of compress_config is {config['mode']!r}; choose one of"
            f" {', '.join(MODES)}."
        )
    for key in ("async", "broadcast", "verbose"):
        check_kind(owner, f"{key} of compress_config", config[key], bool, "True or False")
    _check_leave_last_n(owner, config["leave_last_n"])
    _check_function(owner, config)
    return config


def count_trigger_tokens(owner: str, trigger: object, window: int | None, why: str) -> int:
    """The trigger in tokens: itself, or its share of the window; `why` there is none, goes into the
    error.

    Raises WrongArgument for anything but a positive number, and for a share of a window that is not
    known.
    """
    if not is_trigger(trigger):
        raise WrongArgument(
            f"{owner}: trigger_count of compress_config must be a share up to 1.0 or a number of"
            f" tokens, not {trigger!r:.80}."
        )
    if isinstance(trigger, int) or trigger > 1:
        return int(trigger)
    if window is None:
        raise WrongArgument(
            f"{owner}: trigger_count={trigger} is a share of a window, and {why}, or give a number"
            " of tokens."
        )
    return int(trigger * window)


def is_trigger(value: object) -> TypeGuard[float]:
    """Whether it is a positive number that is not infinite: a share up to 1, or tokens."""
    return is_number(value) and 0 < value < math.inf


def read_result(function: object, given: object) -> Messages:
    """The messages that a compressing function gave; raises AgentkitError when it failed or gave
    something else.
    """
    name = getattr(function, "__name__", repr(function))
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise AgentkitError(f"{name} must return (success, messages), not {given!r:.80}")
    success, messages = given
    if not success:
        raise AgentkitError(getattr(given, "reason", f"{name} reported no success"))
    if not isinstance(messages, list | tuple):
        raise AgentkitError(f"{name} must give a list of messages, not {messages!r:.80}")
    return [_read_message(name, message) for message in messages]


def _read_message(function: str, message: Any) -> Stored:
    """A message that a compressing function gave; raises AgentkitError for anything else."""
    if not _is_message(message):
        raise AgentkitError(
            f"{function} gave no message of a chat, which has a role and content or a call:"
            f" {message!r:.80}"
        )
    return copy_message({"content": None, **message})


def _is_message(message: object) -> bool:
    """Whether it has a role, and content, a call or a result."""
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        return False
    has_content = message.get("content") is not None
    return any((has_content, has_calls(message), tool_responses_of(message)))


def _check_leave_last_n(owner: str, value: object) -> None:
    try:
        check_count(owner, "leave_last_n of compress_config", value)
    except WrongType as error:  # AutoGen's is a ValueError for any impossible value
        raise WrongArgument(str(error)) from None


def _check_function(owner: str, config: Mapping[str, Any]) -> None:
    function = config["compress_function"]
    wanted = config["mode"] == "CUSTOMIZED"
    check_kind(owner, "compress_function of compress_config", function, Callable | None, "callable")
    if wanted and function is None:
        raise WrongArgument(
            f"{owner}: compress_config with mode CUSTOMIZED needs a compress_function."
        )
    if function is not None and not wanted:
        warnings.warn(
            f"{owner}: compress_function is only used with mode CUSTOMIZED, not with"
            f" {config['mode']}.",
            UserWarning,
            stacklevel=5,
        )

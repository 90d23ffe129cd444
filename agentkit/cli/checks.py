"""What `doctor` finds, and the attempt to look at one thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentkit.errors import AgentkitError


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `advice` says what to do about it."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


def judge(name: str, ok: bool, detail: str, advice: str) -> Check:
    """The check, with the advice where it failed."""
    return Check(name, ok, detail, "" if ok else advice)


def attempt(name: str, check: Callable[[], Check]) -> Check:
    """The check; one that cannot be made has failed, and the others go on."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001  # what is broken may break anything
        return fail(name, "it does not work", error)


def fail(name: str, what: str, error: Exception) -> Check:
    """The check that ended in this error."""
    if isinstance(error, AgentkitError):
        return Check(name, False, what, str(error))
    reason = f"{what}: {type(error).__name__}: {error}"
    return Check(name, False, reason, "Nobody expected this error; report it.")

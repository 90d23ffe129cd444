"""What went wrong with a model server, told in our own errors, with what to do about it; keys never
appear in them.
"""

from __future__ import annotations

import email.utils
import re
import sys
import time
from typing import TYPE_CHECKING

from agentkit.core.address import without_login
from agentkit.errors import (
    BadModelReply,
    ContextTooLong,
    ModelAuthFailed,
    ModelError,
    ModelNotFound,
    ModelTimedOut,
    ModelUnreachable,
    RateLimited,
)

if TYPE_CHECKING:
    import openai

_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum context|too many (input )?tokens|prompt is too"
    r" long|reduce the length"
    r"|exceed.{0,50}tokens",
    re.IGNORECASE,
)
_LONGEST_SAID = 3000  # characters that are looked at of what a server says: it may send any number
_BAD_KEY = re.compile(r"(sk|key|tok)[-_][\w*.-]{6,}", re.IGNORECASE)


def mapped(error: Exception, server: str, model: str, key: str) -> ModelError:
    """Our error for one of the SDK's; `server` is the address as shown to people."""
    import openai

    if isinstance(error, (openai.APITimeoutError, *of_http("TimeoutException"))):
        return _retry(
            ModelTimedOut(
                f"{server} did not answer in time; it may be overloaded or still loading the model."
                " Try again later, or allow a longer `timeout`."
            )
        )
    if _broke_off(error):
        return _retry(
            ModelUnreachable(
                f"{server} broke the connection off before its answer was whole ({_cause(error)});"
                " try again."
            )
        )
    if isinstance(error, (openai.APIConnectionError, *of_http("TransportError"))):
        return _retry(
            ModelUnreachable(
                f"{server} cannot be reached ({_cause(error)}); check that it runs and that the"
                " address is right."
            )
        )
    if isinstance(error, openai.APIStatusError):
        if 300 <= error.status_code < 400:
            return _elsewhere(error, server, key)
        return _of_status(error, server, model, redacted(_said(error), key))
    return _unanswered(redacted(_line(str(error)) or type(error).__name__, key), server, model)


def told_by_server(error: object, server: str, model: str, key: str) -> ModelError:
    """Our error for an `error` that a server sends in place of a reply, or in the middle of one."""
    return _unanswered(redacted(_line(_words(error)) or "no reason given", key), server, model)


def redacted(text: str, key: str) -> str:
    """`text` without the key, or anything that looks like one."""
    shown = text.replace(key, "***") if len(key) >= 4 else text
    return _BAD_KEY.sub("***", shown)


def _unanswered(said: str, server: str, model: str) -> ModelError:
    if _TOO_LONG.search(said):
        return _too_long(server, model, said)
    return BadModelReply(
        f"{server} could not answer with the model {model}: {said}; try again, or choose another"
        " model."
    )


def _of_status(error: openai.APIStatusError, server: str, model: str, said: str) -> ModelError:
    status = error.status_code
    if status in (401, 403):
        return ModelAuthFailed(
            f"{server} refuses the key ({status}: {said}); enter a valid one in the settings or in"
            " OPENAI_API_KEY."
        )
    if status in (400, 413, 422) and _TOO_LONG.search(said):
        return _too_long(server, model, said)
    if status == 404:
        return _not_found(server, model, said)
    if status == 429:
        return _rate_limited(error, server, said)
    if status >= 500 or status in (408, 409):
        return _retry(
            ModelUnreachable(
                f"{server} has a problem of its own ({status}: {said}); try again later."
            ),
            _retry_after_s(error),
        )
    return ModelError(
        f"{server} rejects the request ({status}: {said}); check the model's name and its settings."
    )


def _elsewhere(error: openai.APIStatusError, server: str, key: str) -> ModelError:
    """A redirect is not followed: the key is for this server alone."""
    place = (
        redacted(without_login(_line(error.response.headers.get("location", ""))), key)
        or "no address"
    )
    return ModelError(
        f"{server} sends the request on to {place} ({error.status_code}), which is not followed;"
        " enter that address in the settings if it is the right one."
    )


def _not_found(server: str, model: str, said: str) -> ModelError:
    if "model" in said.lower() or (model and model.lower() in said.lower()):
        return ModelNotFound(
            f"{server} has no model {model!r} ({said}); choose one that it lists, or load it there"
            " first."
        )
    return ModelNotFound(
        f"{server} has no chat API at this address or no model {model!r} (404: {said}); the address"
        " usually ends in /v1."
    )


def _too_long(server: str, model: str, said: str) -> ContextTooLong:
    return ContextTooLong(
        f"The request is longer than the context of {model} on {server} ({said}); ask with fewer"
        " passages, start a new chat, or use a model with a larger context."
    )


def _rate_limited(error: openai.APIStatusError, server: str, said: str) -> RateLimited:
    if "quota" in said.lower() or error.code == "insufficient_quota":
        return RateLimited(
            f"The quota at {server} is used up ({said}); add credit there or choose another model."
        )
    wait = _retry_after_s(error)
    advice = f"it asks to wait {wait:.0f} s" if wait else "wait a little"
    limited = RateLimited(f"{server} gets too many requests ({said}); {advice}, then try again.")
    limited.retry_after_s = wait
    return limited


def _retry(error: ModelError, after_s: float = 0.0) -> ModelError:
    error.retry_after_s = after_s
    return error


def _retry_after_s(error: openai.APIStatusError) -> float:
    """Seconds of the Retry-After header, which may be a number or a date; 0 without one."""
    value = error.response.headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass  # not a number: a date, or nothing
    parsed = email.utils.parsedate_tz(value)
    return max(0.0, email.utils.mktime_tz(parsed) - time.time()) if parsed else 0.0


def _said(error: openai.APIStatusError) -> str:
    """The server's own words in one line."""
    return _line(_words(error.body) or error.message) or "no reason given"


def _words(body: object) -> str:
    """The server's own words, in whichever of the usual places they stand."""
    for _ in range(3):
        if not isinstance(body, dict):
            break
        body = next(
            (body[key] for key in ("error", "message", "detail", "msg") if body.get(key)), ""
        )
    return body if isinstance(body, str) else ""


def _line(text: str) -> str:
    """What of it is shown: without tags, and without halves of characters, which nothing can
    store.
    """
    plain = text[:_LONGEST_SAID].encode("utf-8", "replace").decode()
    return " ".join(re.sub(r"<[^<>]*>", " ", plain).split())[:300].rstrip(".")


def of_http(*names: str) -> tuple[type[Exception], ...]:
    """The errors of these names of the HTTP libraries that are in use: scripts may bring a client
    of the older one.
    """
    modules = [module for name in ("httpx2", "httpx") if (module := sys.modules.get(name))]
    return tuple(getattr(module, name) for module in modules for name in names)


def _broke_off(error: BaseException | None) -> bool:
    """Whether the server was there and went away while it answered."""
    while error is not None and not isinstance(error, of_http("RemoteProtocolError", "ReadError")):
        error = error.__cause__
    return error is not None


def _cause(error: Exception) -> str:
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return str(cause).rstrip(".") or type(cause).__name__

"""What went wrong with a model server, told in our own errors, with what to do about it; keys never
appear in them.
"""

from __future__ import annotations

import email.utils
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
from agentkit.messages import text_or_empty

if TYPE_CHECKING:
    import openai

_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum context|too many (input )?tokens|prompt is too"
    r" long|reduce the length"
    r"|exceed.{0,50}tokens",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"(?<![/-])quota\b", re.IGNORECASE)
"""But for addresses, such as the one under which Azure sells a larger one."""
_WAIT = re.compile(r"(?:re)?try (?:again )?(?:after|in) (\d+(\.\d+)?) ?s(econds?)?\b", re.I)
_LONGEST_SAID = 3000  # characters that are looked at of what a server says: it may send any number
_WORD_KEYS = ("error", "message", "detail", "msg")
_DEEPEST_WORDS = 3
_BAD_KEY = re.compile(r"(sk|key|tok)[-_][\w*.-]{6,}", re.IGNORECASE)


def to_model_error(error: Exception, server: str, model: str, key: str) -> ModelError:
    """Our error for one of the SDK's; `server` is the address as shown to people."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return _explain_status(_Refused(error, server, model, redact(_find_words(error), key), key))
    if isinstance(error, (openai.APITimeoutError, *find_http_errors("TimeoutException"))):
        return _let_retry(
            ModelTimedOut(
                f"{server} did not answer in time; it may be overloaded or still loading the model."
                " Try again later, or allow a longer `timeout`."
            )
        )
    if _broke_off(error):
        return _let_retry(
            ModelUnreachable(
                f"{server} broke the connection off before its answer was whole"
                f" ({_find_cause(error)}); try again."
            )
        )
    if isinstance(error, (openai.APIConnectionError, *find_http_errors("TransportError"))):
        return _let_retry(
            ModelUnreachable(
                f"{server} cannot be reached ({_find_cause(error)}); check that it runs and that"
                " the address is right."
            )
        )
    said = redact(_shorten(str(error)) or type(error).__name__, key)
    return _explain_refusal(said, server, model)


def read_told_error(error: object, server: str, model: str, key: str) -> ModelError:
    """Our error for an `error` that a server sends in place of a reply, or in the middle of one."""
    return _explain_refusal(
        redact(_shorten(_find_text(error)) or "no reason given", key), server, model
    )


def redact(text: str, key: str) -> str:
    """`text` without the key, or anything that looks like one."""
    if len(key) >= 4:
        text = text.replace(key, "***")
    return _BAD_KEY.sub("***", text)


def _explain_refusal(said: str, server: str, model: str) -> ModelError:
    if _TOO_LONG.search(said):
        return _explain_length(server, model, said)
    return BadModelReply(
        f"{server} could not answer with the model {model}: {said}; try again, or choose another"
        " model."
    )


@dataclass(frozen=True, slots=True)
class _Refused:
    """A request that a server answered with an HTTP status in place of a reply."""

    error: openai.APIStatusError
    server: str
    model: str
    said: str
    """The server's own words."""
    key: str


def _explain_status(refused: _Refused) -> ModelError:
    """Our error for an HTTP status, with the server's own words."""
    status = refused.error.status_code
    by_hundreds = _BY_HUNDREDS.get(status // 100, _explain_other)
    return _BY_STATUS.get(status, by_hundreds)(refused)


def _explain_redirect(refused: _Refused) -> ModelError:
    """A redirect is not followed: the key is for this server alone."""
    headers = refused.error.response.headers
    address = without_login(_shorten(headers.get("location", "")))
    place = redact(address, refused.key) or "no address"
    return ModelError(
        f"{refused.server} sends the request on to {place} ({refused.error.status_code}), which is"
        " not followed; enter that address in the settings if it is the right one."
    )


def _explain_key(refused: _Refused) -> ModelError:
    return ModelAuthFailed(
        f"{refused.server} refuses the key ({refused.error.status_code}: {refused.said}); enter a"
        " valid one in the settings or in OPENAI_API_KEY."
    )


def _explain_request(refused: _Refused) -> ModelError:
    if _TOO_LONG.search(refused.said):
        return _explain_length(refused.server, refused.model, refused.said)
    return _explain_other(refused)


def _explain_missing(refused: _Refused) -> ModelError:
    server, model, said = refused.server, refused.model, refused.said
    named = re.compile(rf"model|{re.escape(model or 'model')}", re.IGNORECASE)
    if named.search(said):
        return ModelNotFound(
            f"{server} has no model {model!r} ({said}); choose one that it lists, or load it there"
            " first."
        )
    return ModelNotFound(
        f"{server} has no chat API at this address or no model {model!r} (404: {said}); the address"
        " usually ends in /v1."
    )


def _explain_problem(refused: _Refused) -> ModelError:
    problem = (
        f"{refused.server} has a problem of its own ({refused.error.status_code}: {refused.said});"
        " try again later."
    )
    return _let_retry(ModelUnreachable(problem), _read_retry_after_s(refused.error))


def _explain_other(refused: _Refused) -> ModelError:
    return ModelError(
        f"{refused.server} rejects the request ({refused.error.status_code}: {refused.said}); check"
        " the model's name and its settings."
    )


def _explain_length(server: str, model: str, said: str) -> ContextTooLong:
    return ContextTooLong(
        f"The request is longer than the context of {model} on {server} ({said}); ask with fewer"
        " passages, start a new chat, or use a model with a larger context."
    )


def _explain_rate(refused: _Refused) -> ModelError:
    server, said = refused.server, refused.said
    wait = _read_retry_after_s(refused.error) or _read_wait_s(said)
    if refused.error.code == "insufficient_quota" or (not wait and _QUOTA.search(said)):
        return RateLimited(
            f"The quota at {server} is used up ({said}); add credit there or choose another model."
        )
    advice = "wait a little"
    if wait:
        advice = f"it asks to wait {wait:.0f} s"
    return _let_retry(
        RateLimited(f"{server} gets too many requests ({said}); {advice}, then try again."), wait
    )


_BY_STATUS: Mapping[int, Callable[[_Refused], ModelError]] = {
    **dict.fromkeys((401, 403), _explain_key),
    **dict.fromkeys((400, 413, 422), _explain_request),
    **dict.fromkeys((408, 409), _explain_problem),
    404: _explain_missing,
    429: _explain_rate,
}
_BY_HUNDREDS: Mapping[int, Callable[[_Refused], ModelError]] = {
    3: _explain_redirect,
    5: _explain_problem,
}
"""For what no single status says."""


def _let_retry(error: ModelError, after_s: float = 0.0) -> ModelError:
    error.retry_after_s = after_s
    return error


def _read_retry_after_s(error: openai.APIStatusError) -> float:
    """Seconds of the Retry-After header, which may be a number or a date; 0 without one."""
    value = error.response.headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass  # not a number: a date, or nothing
    parsed = email.utils.parsedate_tz(value)
    if parsed:
        return max(0.0, email.utils.mktime_tz(parsed) - time.time())
    return 0.0


def _read_wait_s(said: str) -> float:
    """Seconds that the words ask to wait; 0 where they ask for nothing."""
    asked = _WAIT.search(said)
    return float(asked[1]) if asked else 0.0


def _find_words(error: openai.APIStatusError) -> str:
    """The server's own words in one line."""
    return _shorten(_find_text(error.body) or error.message) or "no reason given"


def _find_text(body: object) -> str:
    """The server's own words, in whichever of the usual places they stand."""
    for _ in range(_DEEPEST_WORDS):
        if isinstance(body, dict):
            body = next(filter(None, map(body.get, _WORD_KEYS)), "")
    return text_or_empty(body)


def _shorten(text: str) -> str:
    """What of it is shown: without tags, and without halves of characters, which nothing can
    store.
    """
    plain = text[:_LONGEST_SAID].encode("utf-8", "replace").decode()
    return " ".join(re.sub(r"<[^<>]*>", " ", plain).split())[:300].rstrip(".")


def find_http_errors(*names: str) -> tuple[type[Exception], ...]:
    """The errors of these names of the HTTP libraries that are in use: scripts may bring a client
    of the older one.
    """
    modules = filter(None, map(sys.modules.get, ("httpx2", "httpx")))
    return tuple(getattr(module, name) for module in modules for name in names)


def _broke_off(error: BaseException) -> bool:
    """Whether the server was there and went away while it answered."""
    kinds = find_http_errors("RemoteProtocolError", "ReadError")
    return any(isinstance(each, kinds) for each in _follow_causes(error))


def _find_cause(error: BaseException) -> str:
    """What the first of the errors says, of which this one is the last."""
    *_, first = _follow_causes(error)
    return str(first).rstrip(".") or type(first).__name__


def _follow_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__

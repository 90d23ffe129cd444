"""The form of a chat in a file: JSON, as these models describe it; docs/chats.md tells of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from agentkit.coding.chat_kernel.kept import NAME
from agentkit.events import CallStatus, MessageStatus
from agentkit.retrieval.types import Scope

FORMAT = "agentkit chat"
VERSION = 1
"""Goes up when a reader of the version before could not read what is written."""
RunState = Literal["finished", "failed", "stopped", "interrupted", "continued"]
_YEARS = range(1990, 2200)


def _check_time(value: datetime) -> datetime:
    """In UTC; raises ValueError for a year in which there was no chat."""
    if value.year not in _YEARS:
        raise ValueError("is not a time at which there was a chat")
    if value.tzinfo:
        return value.astimezone(UTC)
    return value.replace(tzinfo=UTC)


Id = Annotated[str, Field(min_length=1, max_length=100)]
Time = Annotated[datetime, AfterValidator(_check_time)]
"""In UTC, as ISO 8601."""
Name = Annotated[str, Field(max_length=1_000)]
Count = Annotated[int, Field(ge=0, lt=2**53)]
Values = dict[str, JsonValue]


class _Part(BaseModel):
    """What holds for all parts: nothing unknown stands in them, so that nothing gets lost."""

    model_config = ConfigDict(
        extra="forbid", protected_namespaces=(), frozen=True, allow_inf_nan=False
    )


class ChatPart(_Part):
    """The chat, and what is set in it."""

    id: Id
    title: Name
    team: Name
    """The team that is asked next."""
    model: Name
    collection: Name
    head_id: Id | None
    """The message at which the shown branch ends."""
    created_at: Time
    updated_at: Time
    settings: Values
    """What is set in the chat, by name; not what waits to be asked, nor what is being typed."""


class Narrowing(BaseModel):
    """What the next question looks into of one collection, and the fields that said so."""

    scope: Scope
    fields: Values


class KnownSettings(BaseModel):
    """What the app reads of the settings of a chat (`agentkit/ui/shared/kept.py` names them), and
    their kinds; others are of another version.
    """

    level: str | None = None
    human_input: str | None = None
    whole: list[str] | None = None
    mentions: list[str] | None = None
    narrowed: dict[str, Narrowing] | None = None
    settings: Values | None = None
    planning: Values | None = None
    plan: Values | None = None
    followups: Values | None = None


class ThinkingPart(_Part):
    """What a model thought before its message."""

    text: str
    seconds: float | None = None
    """Until it began to answer."""
    tokens: Count = 0
    estimated: bool = False


class MessagePart(_Part):
    """A message of the tree: a question, an answer, or what agents said among themselves."""

    id: Id
    parent_id: Id | None
    """The message before it; null where a branch begins."""
    run_id: Id | None
    sender: Name
    recipient: Name
    role: Name
    content: str
    status: MessageStatus
    extra: Values
    """Of a question whom it asked, how it was narrowed and its `pictures`; of an answer its
    `citations`; `inner` is true for what agents said among themselves.
    """
    created_at: Time
    thinking: ThinkingPart | None


class EventPart(_Part):
    """Something that happened in a run; `data` has the fields of its kind."""

    seq: Annotated[int, Field(ge=0, lt=2**31)]
    happened_at: Time
    kind: Name
    data: Values


class RunPart(_Part):
    """The work on an answer."""

    id: Id
    kind: Name
    title: str
    state: RunState
    reason: str
    started_at: Time
    finished_at: Time | None
    message_id: Id | None
    """The answer that it wrote."""
    events: list[EventPart]


class CallPart(_Part):
    """A call of a model, at one attempt, with what it took: tokens in exclusive buckets."""

    id: Id
    attempt: Annotated[int, Field(ge=0, lt=2**31)]
    run_id: Id | None
    message_id: Id | None
    agent: Name
    provider: Name
    model: Name
    purpose: Name
    status: CallStatus
    error: str
    error_type: Name
    input_tokens: Count
    cache_read_tokens: Count
    cache_write_tokens: Count
    output_tokens: Count
    reasoning_tokens: Count
    estimated: bool
    cost: float | None
    """US dollars; null when the price is unknown."""
    seconds: float
    first_token_s: float | None
    raw_usage: Values
    finished_at: Time


class ChatFile(_Part):
    """A whole chat: its tree of messages, its runs, and what they took."""

    format: Literal["agentkit chat"]
    version: Literal[1]
    chat: ChatPart
    messages: list[MessagePart]
    """In the order in which they were said, all branches."""
    runs: list[RunPart]
    calls: list[CallPart]
    requests: dict[Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")], str]
    """Messages and other parts of requests to models, as JSON, by the beginning of their sha256;
    the events `ModelCalled` name them under `sent`.
    """
    kept: dict[Annotated[str, Field(pattern=NAME)], str]
    """What the chat keeps of its cells (pictures, tables, files), and the pictures of its
    questions, in base64, by its sha256.
    """
    left_out: dict[Annotated[str, Field(pattern=NAME)], Count]
    """What of that was too much to be in the file, and its bytes."""


def make_schema() -> dict[str, Any]:
    """The JSON schema of such files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ChatFile.model_json_schema(),
    }

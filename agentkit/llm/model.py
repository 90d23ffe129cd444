"""A model that can be asked, how a kind of model is asked, and what it replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from agentkit.events import ReplyEnd, Thinking, Usage
from agentkit.llm.prices import price
from agentkit.llm.response import ModelResponse
from agentkit.messages import Message


class Client(Protocol):
    """How a kind of model is asked.

    One that changes a request before it goes out has `says_what_it_sends` true, and calls
    `stream.sent`.
    """

    def create(self, params: Mapping[str, Any]) -> ModelResponse:
        """Ask with the parameters of OpenAI's chat API; with `stream`, say each piece by
        `stream.delta` on the way.

        Raises ModelError, and Stopped as soon as the enclosing run is stopped.
        """

    def message_retrieval(self, response: Any) -> Sequence[Any]:
        """The messages of a response: texts, or objects and dicts with `content` and
        `tool_calls`.
        """

    def cost(self, response: Any) -> float | None:
        """US dollars; None when the price is unknown."""

    def get_usage(self, response: Any) -> Mapping[str, Any]:
        """OpenAI's `usage` object as a dict; empty when the server sent none."""


class ModelClient(Client, Protocol):
    """AutoGen's protocol for clients of one's own: a `Client`, and what its types are called
    there.
    """

    RESPONSE_USAGE_KEYS: ClassVar[list[str]] = [
        *("prompt_tokens", "completion_tokens", "total_tokens", "cost", "model"),
    ]
    """What `get_usage` should tell."""

    class ModelClientResponseProtocol(Protocol):
        """What `create` returns."""

        class Choice(Protocol):
            """One of the replies."""

            class Message(Protocol):
                """Its message."""

                content: str | None

            message: Message

        choices: list[Choice]
        model: str


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be asked: through which client, and under which name."""

    id: str
    """`offline` or `<connection>/<model>`."""
    label: str
    client: Client = field(repr=False)
    name: str
    provider: str
    """Whose price list counts: `openai`, the server's host, or `offline`."""
    context_window: int | None = None
    """Tokens of prompt and reply together, if known."""
    is_language_model: bool = True
    """False for the extractive one, which only quotes."""
    price_1k: tuple[float, float] | None = None
    """US dollars for 1,000 prompt and 1,000 completion tokens, where the price list is not to be
    asked.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """Itself: copies of a configuration share their connection."""
        return self

    def name_for(self, agent: str) -> str:
        """How an error begins that tells of it: with the agent that asked, if one did."""
        if not agent:
            return f"The model {self.name}"
        return f"{agent}: the model {self.name}"

    def price(self, usage: Usage) -> float | None:
        """US dollars for this usage; None when the price is unknown."""
        if self.price_1k is None:
            return price(self.name, self.provider, usage)
        return (usage.prompt * self.price_1k[0] + usage.completion * self.price_1k[1]) / 1000


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered and what that took."""

    text: str
    message: Message
    """The reply as it goes into a history, tool calls included."""
    usage: Usage
    cost: float | None
    """US dollars; None when the price is unknown."""
    model: str
    provider: str
    seconds: float
    first_token_s: float | None
    """Seconds until the first piece of text; None when nothing was streamed."""
    stopped: bool
    """True when the run was stopped meanwhile; `text` is what had come by then."""
    call_id: str
    raw: Any = None
    """The client's response; None when stopped."""
    end: ReplyEnd | None = None
    """How it ended; None when stopped."""
    thinking: Thinking | None = None
    """What the model thought before; no part of the text, nor of the message."""

"""What all parsers have in common: the reply that they read, their instruction and their errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agentkit.core.given import coalesce
from agentkit.errors import JsonParsingError, WrongArgument

EXCERPT = 200
"""How many characters of a reply an error message shows at most; the whole is in its
`raw_response`.
"""

MOST_TRIED = 50
"""How many pieces of a reply a parser tries at most; keeps hostile replies linear."""

Span = tuple[int, int]
"""Where a piece of a text begins, and where it ends (exclusive)."""


class ModelResponse:
    """What a model gave back, and in `parsed` what a parser has made of its text. Fields as in
    AgentScope.
    """

    def __init__(
        self,
        text: str | None = None,
        embedding: Sequence[Any] | None = None,
        image_urls: Sequence[str] | None = None,
        raw: Any = None,
        parsed: Any = None,
        stream: Any = None,
        tool_calls: list[Any] | None = None,
    ) -> None:
        self._text = text
        self._stream = stream
        self.embedding = embedding
        self.image_urls = image_urls
        self.raw = raw
        self.parsed = parsed
        self.tool_calls = tool_calls

    @property
    def text(self) -> str | None:
        """What was said; of a stream all of it, once the stream has been read to its end."""
        if self._text is None:
            for _ in coalesce(self.stream, ()):
                pass
        return self._text

    @text.setter
    def text(self, text: str | None) -> None:
        """Say something else."""
        self._text = text

    @property
    def stream(self) -> Iterator[tuple[bool, str]] | None:
        """The texts so far as they come, each with whether it is the last one; None for a response
        that came at once.
        """
        if self._stream is None:
            return None
        return self._read_stream(self._stream)

    def _read_stream(self, texts: Iterable[str]) -> Iterator[tuple[bool, str]]:
        for text in texts:
            if self._text is not None:
                yield False, self._text
            self._text = text
        if self._text is not None:
            yield True, self._text

    def __repr__(self) -> str:
        return f"ModelResponse(text={self.text!r}, parsed={self.parsed!r})"


class ParserBase(ABC):
    """Tells a model in which format to reply, and reads its replies in that format."""

    format_instruction: str
    """What the model is told at the end of the prompt."""

    @abstractmethod
    def parse(self, response: ModelResponse | str) -> ModelResponse:
        """The response (made from a str) with `parsed` filled and `text` as it was.

        Raises ResponseParsingError, or what is below it, when the text does not have the format;
        `parsed` is None then.
        """

    def api_format(self) -> dict[str, Any] | None:
        """The value for `response_format` of the chat API, where it can enforce the format; else
        None.
        """
        return None


class TextParser(ParserBase):
    """A parser that needs nothing but the text of the reply."""

    def parse(self, response: ModelResponse | str) -> ModelResponse:
        """The response (made from a str) with `parsed` filled and `text` as it was; raises
        ResponseParsingError.
        """
        reply = ModelResponse(text=response) if isinstance(response, str) else response
        reply.parsed = None
        text: object = reply.text
        if not isinstance(text, str):
            raise WrongArgument(
                f"The response has no text to parse, but {text!r}; parse what a model said."
            )
        try:
            reply.parsed = self._read(text)
        except RecursionError:
            raise JsonParsingError(
                "The JSON in the reply is nested too deeply (or its schema refers to itself"
                f" without end); reply with a flatter structure. The reply: {excerpt(text)}",
                text,
            ) from None
        return reply

    @abstractmethod
    def _read(self, text: str) -> Any:
        """What the text says."""


def excerpt(text: str) -> str:
    """The beginning of a reply, for an error message."""
    if len(text) <= EXCERPT:
        return repr(text)
    return f"{text[:EXCERPT]!r} (cut, {len(text):,} characters)"


def place(text: str, at: int) -> str:
    """Where the character at that index stands, for an error message; lines and columns count from
    1.
    """
    line = text.count("\n", 0, at) + 1
    return f"line {line:,}, column {at - text.rfind(chr(10), 0, at):,}"

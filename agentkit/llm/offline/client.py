"""The client of the offline model, without how it finds what to quote: that is loaded with the
first question, as every page names the models that there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from agentkit.core import stopping
from agentkit.errors import Stopped
from agentkit.llm.calls.stream import delta
from agentkit.llm.response import Response, ResponseMessage, text_response

NAME = "extractive"


class ExtractiveClient:
    """Answers by quoting. `similarity` gives the closeness in meaning of a question to each of some
    texts, up to 1.

    Without it words alone decide. Deterministic, and never asks the network.
    """

    def __init__(
        self, similarity: Callable[[str, Sequence[str]], Sequence[float]] | None = None
    ) -> None:
        self._similarity = similarity

    def create(self, params: Mapping[str, Any]) -> Response:
        """Answer the last question of the messages from the passages in them; Stopped when the run
        was stopped.
        """
        from agentkit.llm.offline import extractive

        asked = extractive.parse_prompt(params["messages"])
        text = extractive.answer(asked, self._similarity)
        if params.get("stream"):
            _stream(text)
        return text_response(text, NAME)

    def message_retrieval(self, response: Response) -> list[ResponseMessage]:
        """The messages of the choices."""
        return list(map(attrgetter("message"), response.choices))

    def cost(self, response: Response) -> float:
        """Nothing: it runs here."""
        return 0.0

    @staticmethod
    def get_usage(response: Response) -> Mapping[str, Any]:
        """Nothing: there are no tokens here, `call` estimates what a language model would have
        read.
        """
        return response.usage


def _stream(text: str) -> None:
    """Word by word; there is nothing to wait for, but a stop is honoured."""
    signal = stopping.current()
    for word in re.findall(r"\s*\S+|\s+", text):
        if signal.is_set:
            raise Stopped("stopped by the user")
        delta(word)

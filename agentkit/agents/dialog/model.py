"""A dialog agent's model as a callable, and how remembered messages look to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from itertools import chain, groupby, takewhile
from queue import SimpleQueue
from typing import Any

from agentkit.agents.dialog.memory import list_messages
from agentkit.agents.dialog.msg import Msg
from agentkit.agents.dialog.structured_reply import ParseFunction, Wish, ask
from agentkit.conversation.conversable import ConversableAgent
from agentkit.core import bus, stopping
from agentkit.core.given import coalesce
from agentkit.core.io import quietly
from agentkit.core.lenient import find_below
from agentkit.core.twin import Mode, faces
from agentkit.events import Event, TokenDelta
from agentkit.messages import Stored, text_of, tool_calls_of
from agentkit.parsers import ModelResponse


class DialogModel:
    """For `reply` methods of one's own: `response =
    self.model(self.model.format(self.memory.get_memory(), hint))`.
    """

    def __init__(self, agent: ConversableAgent) -> None:
        self._agent = agent

    def format(self, *args: Msg | Sequence[Msg] | str | None) -> list[Stored]:
        """Messages as the model is asked with them; a text is an instruction, None and nothing are
        left out.
        """
        messages = list(chain.from_iterable(map(_list_given, args)))
        leading = list(takewhile(_is_system, messages))
        rest = messages[len(leading) :]
        heard = merge(show_to(self._agent.name, message) for message in rest)
        system = "\n\n".join(text_of(message.content) for message in leading)
        if system:
            heard.insert(0, {"role": "system", "content": system})
        return heard

    async def _call(
        self,
        mode: Mode,
        /,
        messages: Sequence[Stored] | str,
        parse_func: ParseFunction | None = None,
        fault_handler: Callable[[ModelResponse], Any] | None = None,
        max_retries: int = 3,
        *,
        stream: bool | None = None,
        **kwargs: Any,
    ) -> ModelResponse:
        """Ask; with `parse_func` the reply is asked for again, with what was wrong, until it can be
        read.

        After `max_retries` further tries `fault_handler(response)` gives what counts as parsed;
        without one the error is raised.
        Where the configuration (or `stream`) says so, the response without a `parse_func` is a
        `stream`: the model is asked when that or `text` is first read. Async calls wait for the
        whole reply. `kwargs` are parameters of the chat API.
        """
        asked = _list_asked(messages)
        is_plain = parse_func is None
        configured = find_below(self._agent.llm_config, "stream")
        streams = coalesce(stream, bool(configured) and is_plain)
        if streams:
            kwargs.setdefault("stream", coalesce(configured, True))
        wish = Wish(
            coalesce(parse_func, _leave_unread),
            getattr(parse_func, "__qualname__", "none"),
            max_retries=max_retries,
            fault_handler=fault_handler,
            parameters=kwargs,
        )
        if streams and is_plain and not mode.is_async:
            return ModelResponse(stream=self._stream(asked, wish))
        return await self._whole(mode, asked, wish)

    async def _whole(self, mode: Mode, /, asked: list[Stored], wish: Wish) -> ModelResponse:
        reply = await ask(mode, self._agent, self._agent.client, asked, wish)
        if isinstance(reply, ModelResponse):
            return reply
        return ModelResponse(text=None, tool_calls=tool_calls_of(reply), raw=reply)

    whole, a_whole = faces(_whole)

    def _stream(self, asked: list[Stored], wish: Wish) -> Iterator[str]:
        """The text so far, again and again; ends the call when nobody reads on. Raises what the
        call raises.
        """
        pieces: SimpleQueue[str | None] = SimpleQueue()
        ending, done = stopping.StopSignal(), Future[ModelResponse]()

        def hear(event: Event) -> None:
            if isinstance(event, TokenDelta):
                pieces.put(event.text)

        def work() -> None:
            try:
                with stopping.stoppable(ending), bus.listening(hear), quietly(True):
                    done.set_result(self.whole(asked, wish))
            except BaseException as error:  # noqa: BLE001  # raised where the stream is read
                done.set_exception(error)
            pieces.put(None)

        threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
        text = ""
        with stopping.current().on_stop(ending.set):
            try:
                while (piece := pieces.get()) is not None:
                    text += piece
                    yield text
            finally:
                ending.set()
        said = coalesce(done.result().text, "")
        if said != text:
            yield said

    call, a_call = faces(_call)

    def __call__(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """`call`; `a_call` is the async form."""
        return self.call(*args, **kwargs)


def _list_asked(messages: Sequence[Stored] | str) -> list[Stored]:
    """What the model is asked with; a text is what a user says."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    return list(messages)


def _list_given(given: Msg | Sequence[Msg] | str | None) -> list[Msg]:
    """Messages as a list; a text is an instruction."""
    if isinstance(given, str):
        return [Msg("system", given, "system")]
    return list_messages(given)


def _is_system(message: Msg) -> bool:
    return message.role == "system"


def merge(messages: Iterable[Stored]) -> list[Stored]:
    """Texts that the model hears one after the other, as one message: many servers take no two of
    the same role in a row.

    Those of a chat stay apart: they have a `name`, and no author in the text.
    """
    merged: list[Stored] = []
    for is_plain, group in groupby(messages, _is_plain):
        run = list(group)
        if is_plain:
            text = "\n\n".join(message["content"] for message in run)
            merged.append({**run[0], "content": text})
        else:
            merged += run
    return merged


def _is_plain(message: Stored) -> bool:
    if "name" in message:
        return False
    is_from_user = message.get("role") == "user"
    has_text = isinstance(message.get("content"), str)
    return is_from_user and has_text


def show_to(name: str, message: Msg) -> Stored:
    """A remembered message as the agent of that name hears it: its own as its own, another's with
    their name in the text.

    Servers seldom show a model the `name` of a message, so that it would not know who speaks.
    """
    content = message.content
    is_own = (message.name, message.role) == (name, "assistant")
    if is_own:
        return {"role": "assistant", "content": content}
    is_persons = message.role == "user"
    if isinstance(content, str) and not is_persons:
        content = f"{message.name}: {content}"
    return {"role": "user", "content": content}


def _leave_unread(response: ModelResponse) -> ModelResponse:
    return response

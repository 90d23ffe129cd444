"""What a dialog agent remembers: a list of messages, as AgentScope's agents have it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, starmap
from pathlib import Path

from agentkit.agents.dialog.msg import Msg
from agentkit.conversation import announcing
from agentkit.core.io import is_quiet
from agentkit.errors import AgentkitError, WrongArgument, WrongType


class TemporaryMemory:
    """Messages in the order in which they came, each once; they last as long as the agent."""

    def __init__(self) -> None:
        self._messages: list[Msg] = []
        self._ids: set[str] = set()

    def __len__(self) -> int:
        return len(self._messages)

    def __bool__(self) -> bool:
        return True  # an empty memory is one, too

    def add(self, memories: Msg | Sequence[Msg] | None) -> None:
        """Remember messages; None and what is there already change nothing.

        Raises WrongArgument (a ValueError) for anything but messages.
        """
        for message in list_messages(memories):
            if message.id not in self._ids:
                self._messages.append(message)
                self._ids.add(message.id)

    def get_memory(
        self, recent_n: int | None = None, filter_func: Callable[[int, Msg], bool] | None = None
    ) -> list[Msg]:
        """The messages, oldest first: the newest `recent_n`, of those what `filter_func(index,
        message)` lets pass.
        """
        if recent_n is not None and recent_n < 0:
            raise WrongArgument(
                f"recent_n is {recent_n}; give the number of newest messages, or None for all."
            )
        recent = list(deque(self._messages, maxlen=recent_n))
        if filter_func is None:
            return recent
        return list(compress(recent, starmap(filter_func, enumerate(recent))))

    def delete(self, index: int | Iterable[int]) -> None:
        """Forget the messages at these places, counted from 0; a place that is not there is noted
        and changes nothing.
        """
        wanted = {index} if isinstance(index, int) else set(index)
        if unknown := sorted(wanted - set(range(len(self._messages)))):
            text = (
                f"there is no message at {unknown} to delete; there are {len(self._messages)},"
                " counted from 0"
            )
            announcing.note("memory", text, is_quiet())
        self._messages = [
            message for place, message in enumerate(self._messages) if place not in wanted
        ]
        self._ids = {message.id for message in self._messages}

    def clear(self) -> None:
        """Forget everything."""
        self._messages, self._ids = [], set()

    def size(self) -> int:
        """How many messages are remembered."""
        return len(self._messages)

    def export(self, file_path: str | Path | None = None, to_mem: bool = False) -> list[Msg] | None:
        """The messages as a list, or written to a file as JSON; raises WrongArgument when neither
        is asked for.
        """
        if to_mem:
            return list(self._messages)
        if file_path is None:
            raise WrongArgument(
                "Nothing says where the memory goes; give file_path, or to_mem=True for a list."
            )
        Path(file_path).write_text(
            json.dumps([message.to_dict() for message in self._messages], ensure_ascii=False),
            "utf-8",
        )
        return None

    def load(self, memories: str | Path | Msg | Sequence[Msg], overwrite: bool = False) -> None:
        """Remember messages that are given, or that `export` wrote to a file (or its text);
        `overwrite` forgets the others first.

        Raises WrongType and WrongArgument for anything else, before anything is forgotten.
        """
        if isinstance(memories, str | Path):
            loaded = _read(memories)
        else:
            loaded = list_messages(memories, WrongType)
        if overwrite:
            self.clear()
        self.add(loaded)


def list_messages(given: object, kind: type[AgentkitError] = WrongArgument) -> list[Msg]:
    """One message, several or none as a list; raises an error of this kind for what is no
    message.
    """
    if given is None:
        return []
    messages = [given] if isinstance(given, Msg) else given
    if not isinstance(messages, list | tuple) or not all(isinstance(x, Msg) for x in messages):
        raise kind(f"A message must be a Msg, a list of Msg or None, not {given!r:.200}.")
    return list(messages)


def _read(source: str | Path) -> list[Msg]:
    """The messages in a JSON text, or in a file with one."""
    if isinstance(source, str) and source.lstrip().startswith("["):
        text = source
    else:
        text = Path(source).read_text("utf-8")
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise WrongArgument(
            f"{str(source)[:200]!r} holds no memory ({error}); give a file that export() wrote."
        ) from error
    if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
        raise WrongArgument(
            f"{str(source)[:200]!r} holds no memory; it must be a JSON list of messages."
        )
    return [Msg.from_dict(each) for each in values]

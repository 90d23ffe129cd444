"""What a dialog agent remembers: a list of messages, as AgentScope's agents have it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, starmap
from pathlib import Path

from agentkit.agents.dialog.msg import Msg
from agentkit.conversation import announcing
from agentkit.core.given import coalesce, is_list_of, to_list
from agentkit.core.io import is_quiet
from agentkit.errors import AgentkitError, WrongArgument, WrongType


class TemporaryMemory:
    """Messages in the order in which they came, each once; they last as long as the agent."""

    def __init__(self) -> None:
        self._messages: dict[str, Msg] = {}

    def __len__(self) -> int:
        return len(self._messages)

    def __bool__(self) -> bool:
        return True  # an empty memory is one, too

    def add(self, memories: Msg | Sequence[Msg] | None) -> None:
        """Remember messages; None and what is there already change nothing.

        Raises WrongArgument (a ValueError) for anything but messages.
        """
        for message in list_messages(memories):
            self._messages.setdefault(message.id, message)

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
        recent = list(deque(self._messages.values(), maxlen=recent_n))
        if filter_func is None:
            return recent
        wanted = starmap(filter_func, enumerate(recent))
        return list(compress(recent, wanted))

    def delete(self, index: int | Iterable[int]) -> None:
        """Forget the messages at these places, counted from 0; a place that is not there is noted
        and changes nothing.
        """
        ids = dict(enumerate(self._messages))
        wanted = set(to_list(index, int))
        if unknown := sorted(wanted - ids.keys()):
            text = (
                f"there is no message at {unknown} to delete; there are {len(ids)}, counted from 0"
            )
            announcing.note("memory", text, is_quiet())
        for place in wanted & ids.keys():
            del self._messages[ids[place]]

    def clear(self) -> None:
        """Forget everything."""
        self._messages.clear()

    def size(self) -> int:
        """How many messages are remembered."""
        return len(self._messages)

    def export(self, file_path: str | Path | None = None, to_mem: bool = False) -> list[Msg] | None:
        """The messages as a list, or written to a file as JSON; raises WrongArgument when neither
        is asked for.
        """
        messages = list(self._messages.values())
        if to_mem:
            return messages
        if file_path is None:
            raise WrongArgument(
                "Nothing says where the memory goes; give file_path, or to_mem=True for a list."
            )
        text = json.dumps(list(map(Msg.to_dict, messages)), ensure_ascii=False)
        Path(file_path).write_text(text, "utf-8")
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
    """One message, several or none as a list; raises an error of this kind for anything else."""
    messages = [given] if isinstance(given, Msg) else coalesce(given, ())
    if not is_list_of(messages, Msg):
        raise kind(f"A message must be a Msg, a list of Msg or None, not {given!r:.200}.")
    return list(messages)


def _read(source: str | Path) -> list[Msg]:
    """The messages in a JSON text, or in a file with one."""
    shown = repr(str(source)[:200])
    try:
        values = json.loads(_read_text(source))
    except json.JSONDecodeError as error:
        raise WrongArgument(
            f"{shown} holds no memory ({error}); give a file that export() wrote."
        ) from error
    if not is_list_of(values, dict):
        raise WrongArgument(f"{shown} holds no memory; it must be a JSON list of messages.")
    return list(map(Msg.from_dict, values))


def _read_text(source: str | Path) -> str:
    if isinstance(source, str) and source.lstrip().startswith("["):
        return source
    return Path(source).read_text("utf-8")

"""Where agents print and read when they work on a console: a stream that can be exchanged, as in
AutoGen.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from agentkit.errors import WrongType


@runtime_checkable
class OutputStream(Protocol):
    """Something to print to."""

    def print(self, *objects: object, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Print as the built-in does."""


@runtime_checkable
class InputStream(Protocol):
    """Something to read a person's answer from."""

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        """Ask and return one line; with `password` it is not shown."""


class StreamLike(InputStream, OutputStream, Protocol):
    """Anything with both; it need not be made an IOStream."""


@runtime_checkable
class IOStream(StreamLike, Protocol):
    """The console of the agents; the default one is the process's own terminal.

    `set_default` exchanges it for a block of code (and the tasks begun in it), `set_global_default`
    for the process.
    """

    @staticmethod
    def set_global_default(stream: StreamLike) -> None:
        """The stream that is used where no other is set."""
        _Default.stream = stream

    @staticmethod
    def get_global_default() -> StreamLike:
        """The stream of the process."""
        return _Default.stream

    @staticmethod
    def get_default() -> StreamLike:
        """The stream that is used here."""
        stream = _stream.get()
        if stream is None:
            return _Default.stream
        return stream

    @staticmethod
    @contextmanager
    def set_default(stream: StreamLike | None) -> Iterator[None]:
        """Use this stream while the block runs; None is the process's own. Raises WrongType for
        anything else.
        """
        if stream is not None and not all(
            callable(getattr(stream, name, None)) for name in ("print", "input")
        ):
            raise WrongType(
                f"set_default: {stream!r} is not a stream; it needs the methods print and input."
            )
        token = _stream.set(stream)
        try:
            yield
        finally:
            _stream.reset(token)


class IOConsole(IOStream):
    """The terminal."""

    def print(self, *objects: object, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Print to standard output; characters that it cannot show become `?`."""
        text = sep.join(map(str, objects))
        try:
            print(text, end=end, flush=flush)  # noqa: T201 (this is the console)
        except UnicodeEncodeError as error:  # a narrow console must not end a chat
            print(  # noqa: T201
                text.encode(error.encoding, "replace").decode(error.encoding), end=end, flush=flush
            )

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        """Read a line from standard input."""
        if password:
            return getpass.getpass(prompt or "Password: ")
        return input(prompt)


class Quiet(IOConsole):
    """Prints nothing: the events tell everything. Questions still reach the person who watches the
    run.
    """

    def print(self, *objects: object, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Nothing."""


def is_quiet() -> bool:
    """Whether a chat goes on here that is to print nothing, not even what a model streams."""
    return _quiet.get()


class quietly:
    """Say whether what is done in the block belongs to a chat that prints nothing.

    Each reply is made in one, and a generator would take five times as long.
    """

    __slots__ = ("_on", "_token")

    def __init__(self, on: bool) -> None:
        self._on = on

    def __enter__(self) -> None:
        self._token = _quiet.set(self._on)

    def __exit__(self, *_: object) -> None:
        _quiet.reset(self._token)


class _Default:
    stream: StreamLike = IOConsole()


_stream: ContextVar[StreamLike | None] = ContextVar("agentkit_iostream", default=None)
_quiet: ContextVar[bool] = ContextVar("agentkit_quiet", default=False)

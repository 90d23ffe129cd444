"""One core, two faces: a method is written once as a coroutine and offered as a sync and an async
method.

A core asks for another agent's method through `mode.peer` and for anybody's callable through
`mode.invoke`, so that an override of either face is honoured. The driver keeps the stack of cores
itself: chats of any length neither recurse nor slow down.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, TypeVar

from agentkit.core import stopping

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")
Core = Callable[Concatenate[S, "Mode", P], Coroutine[Any, Any, T]]


def takes_long(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a sync callable that may take long, so that `invoke` lets an event loop go on
    meanwhile.
    """
    function.takes_long = True  # type: ignore[attr-defined]  # a mark of ours
    return function


class Mode:
    """Sync or async; handed to every core."""

    __slots__ = ("is_async", "prefix")

    def __init__(self, prefix: str, is_async: bool) -> None:
        self.prefix = prefix
        self.is_async = is_async

    def peer(self, agent: object, name: str, /, *args: object, **kwargs: object) -> Ask:
        """Await this to call the method `name` of an agent by the face of this mode: `name` or,
        where there is one, `a_name`.
        """
        return Ask(self, agent, name, args, kwargs)

    def tail(self, agent: object, name: str, /, *args: object, **kwargs: object) -> Any:
        """Return this from a core whose last step is to call a method of an agent: nothing of the
        core is kept meanwhile.
        """
        return Ask(self, agent, name, args, kwargs)

    async def invoke(
        self, function: Callable[..., object], /, *args: object, **kwargs: object
    ) -> Any:
        """Call a sync or async callable of somebody else and give its result; one marked with
        `takes_long` as `block` does.
        """
        if getattr(function, "takes_long", False):
            return await self.block(function, *args, **kwargs)
        result = function(*args, **kwargs)
        if not inspect.isawaitable(result):
            return result
        if self.is_async:
            return await result
        return wait_for(result)

    async def invoke_or_leave(
        self, function: Callable[..., object], /, *args: object, **kwargs: object
    ) -> Any:
        """As `invoke`; a callable that does not come back is left behind when the enclosing run is
        stopped.
        """
        if self.is_async:
            return await self.invoke(function, *args, **kwargs)

        def call() -> object:
            result = function(*args, **kwargs)
            if inspect.isawaitable(result):
                return wait_for(result)
            return result

        return stopping.call_or_leave(call)

    async def block(self, function: Callable[..., T], /, *args: object, **kwargs: object) -> T:
        """Call a sync callable that may take long; in async mode on a thread of its own, so that
        the loop goes on.

        When the task is cancelled meanwhile, the callable is told to stop, as by a stop of the
        enclosing run.
        """
        if not self.is_async:
            return function(*args, **kwargs)
        ending = stopping.StopSignal()
        with stopping.current().on_stop(ending.set), stopping.stoppable(ending):
            try:
                return await asyncio.to_thread(function, *args, **kwargs)
            except asyncio.CancelledError:
                ending.set()
                raise

    async def gather(self, *cores: Coroutine[Any, Any, T]) -> list[T]:
        """Run cores, in async mode side by side, and give their results in order; the first error
        ends the others.
        """
        if not self.is_async:
            try:
                return [await core for core in cores]
            finally:  # what an error left unasked
                for core in cores:
                    core.close()
        tasks = [asyncio.ensure_future(_driven(core)) for core in cores]
        try:
            return await asyncio.gather(*tasks)
        finally:  # after an error or a cancellation the others must not go on unseen
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


SYNC, ASYNC = Mode("", False), Mode("a_", True)


class Ask:
    """A core's request to its driver: call this method of that agent."""

    __slots__ = ("agent", "args", "kwargs", "mode", "name")

    def __init__(
        self, mode: Mode, agent: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.mode = mode
        self.agent = agent
        self.name = name
        self.args = args
        self.kwargs = kwargs

    def __await__(self) -> Generator[Ask, Any, Any]:
        return (yield self)

    def coroutine(self) -> Coroutine[Any, Any, Any]:
        """The method's core; or, when the user replaced this face on the class or the instance, a
        call of that.
        """
        agent, face = self.agent, self.mode.prefix + self.name
        core = core_of_method(agent, face)
        if core is None and not hasattr(agent, face):
            face = self.name  # a method with one face, which does for both modes
            core = core_of_method(agent, face)
        if core is None:
            return self.mode.invoke(getattr(agent, face), *self.args, **self.kwargs)
        return core(agent, self.mode, *self.args, **self.kwargs)


@types.coroutine
def drive(core: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Run a core with all the cores that it asks for, on a stack of its own."""
    stack: list[Coroutine[Any, Any, Any]] = [core]
    value: Any = None
    error: BaseException | None = None
    while stack:
        try:
            asked = stack[-1].send(value) if error is None else stack[-1].throw(error)
        except StopIteration as returned:
            del stack[-1]
            value, error = returned.value, None
            if not isinstance(value, Ask):
                continue
            asked = value  # a tail call: the core is gone, whom it asked gives its result
        except BaseException as raised:  # noqa: BLE001
            # It goes to the core that asked, or out at the end.
            del stack[-1]
            value, error = None, raised
            continue
        value = error = None
        try:
            if isinstance(asked, Ask):
                stack.append(asked.coroutine())
            else:  # a real suspension, only ever in async mode
                value = yield asked
        except BaseException as raised:  # noqa: BLE001
            # A cancellation, or arguments that do not fit.
            error = raised
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]  # what the first core returned


async def _driven(core: Coroutine[Any, Any, T]) -> T:
    return await drive(core)


async def _stoppable(awaitable: Awaitable[T]) -> T:
    """Await in a task of its own, which a stop cancels."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        with suppress(RuntimeError):  # the loop has just ended
            loop.call_soon_threadsafe(task.cancel)

    with stopping.current().on_stop(cancel):
        try:
            return await awaitable
        except asyncio.CancelledError:
            stopping.check()
            raise


def finish(result: Any) -> Any:
    """What a sync or async callable gave to sync code; an awaitable is waited for by
    `wait_for`.
    """
    if inspect.isawaitable(result):
        return wait_for(result)
    return result


def wait_for(awaitable: Awaitable[T]) -> T:
    """The result of an awaitable from sync code, also inside a running loop: then on a thread of
    its own, same context.

    A stop of the enclosing run cancels it and raises Stopped.
    """

    async def main() -> T:
        return await _stoppable(awaitable)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    results: list[T] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            results.append(context.run(asyncio.run, main()))
        except BaseException as raised:  # noqa: BLE001 (raised again by the caller below)
            errors.append(raised)

    thread = threading.Thread(target=work, name="agentkit-await")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def faces(
    core: Core[S, P, T],
) -> tuple[Callable[Concatenate[S, P], T], Callable[Concatenate[S, P], Coroutine[Any, Any, T]]]:
    """The sync and the async method of a core `_name(self, mode, ...)`: `name, a_name =
    faces(_name)`.
    """

    @functools.wraps(core)
    def face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        steps = drive(core(self, SYNC, *args, **kwargs))
        try:
            steps.send(None)
        except StopIteration as returned:
            result: T = returned.value
            return result
        steps.close()
        raise RuntimeError(
            f"{core.__qualname__} waits for something in a sync chat; it must use mode.invoke."
        )

    @functools.wraps(core)
    async def a_face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await drive(core(self, ASYNC, *args, **kwargs))

    _introduce(face, core, SYNC.prefix)
    _introduce(a_face, core, ASYNC.prefix)
    return face, a_face


def run_in_thread(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """The async face of a method that blocks: it calls the agent's own sync method, overrides
    included, on a thread.
    """
    name = method.__name__

    async def core(self: S, mode: Mode, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await mode.block(getattr(self, name), *args, **kwargs)

    @functools.wraps(method)
    async def a_face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await core(self, ASYNC, *args, **kwargs)

    del a_face.__wrapped__
    vars(a_face)["__signature__"] = inspect.signature(method)
    a_face.__name__, a_face.__qualname__ = (
        "a_" + name,
        method.__qualname__.removesuffix(name) + "a_" + name,
    )
    vars(a_face)["__core__"] = vars(method)["__core__"] = core
    return a_face


def core_of(function: Callable[..., object]) -> Callable[..., Coroutine[Any, Any, Any]] | None:
    """The core of a face; None for other functions, those that `functools.wraps` made like one
    included.
    """
    if hasattr(function, "__wrapped__"):
        return None
    return getattr(function, "__core__", None)


def core_of_method(agent: object, face: str) -> Callable[..., Coroutine[Any, Any, Any]] | None:
    """The core of an agent's method; None where a user replaced this face, on the class or on the
    instance, and where there is none.
    """
    method = getattr(type(agent), face, None)
    if face in getattr(agent, "__dict__", ()) or hasattr(method, "__wrapped__"):
        return None
    return getattr(method, "__core__", None)


def _introduce(face: Callable[..., object], core: Callable[..., object], prefix: str) -> None:
    """Give a face its own name and signature; the mode is nobody's business."""
    name = prefix + core.__name__.removeprefix("_")
    signature = inspect.signature(core)
    owner, _, *others = signature.parameters.values()
    parameters = [owner.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD), *others]
    vars(face).pop("__wrapped__")
    vars(face)["__core__"] = core
    vars(face)["__signature__"] = signature.replace(parameters=parameters)
    face.__name__, face.__qualname__ = name, core.__qualname__.removesuffix(core.__name__) + name
    face.__annotations__ = {
        key: kind for key, kind in core.__annotations__.items() if key != "mode"
    }

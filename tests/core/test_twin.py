"""One core, two faces: both give the same, overrides of either are honoured, and nothing
recurses.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import inspect
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentkit.core.stopping import StopSignal, stoppable
from agentkit.core.twin import ASYNC, SYNC, Mode, core_of, faces, run_in_thread, wait_for
from agentkit.errors import Stopped


class Player:
    """Sends a ball back until it has seen it `limit` times."""

    def __init__(self, limit: int = 3) -> None:
        self.limit = limit
        self.seen: list[str] = []

    async def _hit(self, mode: Mode, ball: str, other: Player) -> int:
        """Hit the ball."""
        self.seen.append(ball)
        if len(self.seen) >= self.limit:
            return 1
        return 1 + int(await mode.peer(other, "hit", ball, other=self))

    hit, a_hit = faces(_hit)

    async def _all(self, mode: Mode, functions: list[Callable[[], Any]]) -> list[Any]:
        return await mode.gather(*(mode.invoke(function) for function in functions))

    all, a_all = faces(_all)

    def slow(self, text: str) -> tuple[str, bool]:
        """Where it runs."""
        return text, threading.current_thread() is threading.main_thread()

    a_slow = run_in_thread(slow)

    async def _asks(self, mode: Mode, text: str) -> Any:
        return await mode.peer(self, "slow", text)

    asks, a_asks = faces(_asks)


def test_both_faces_give_the_same() -> None:
    one, other = Player(), Player()
    assert one.hit("ball", other) == 5
    assert (one.seen, other.seen) == (["ball"] * 3, ["ball"] * 2)
    one, other = Player(), Player()
    assert asyncio.run(one.a_hit("ball", other)) == 5


def test_a_long_exchange_does_not_recurse() -> None:
    rounds = 20 * sys.getrecursionlimit()
    assert Player(rounds).hit("ball", Player(rounds)) == 2 * rounds - 1
    assert asyncio.run(Player(rounds).a_hit("ball", Player(rounds))) == 2 * rounds - 1


class Relay(Player):
    """Hands the ball on as its last step."""

    async def _hit(self, mode: Mode, ball: str, other: Player) -> int:
        self.seen.append(ball)
        if len(self.seen) >= self.limit:
            return len(self.seen)
        return mode.tail(other, "hit", ball, other=self)  # type: ignore[no-any-return]

    hit, a_hit = faces(_hit)


def test_a_tail_call_keeps_nothing_of_the_core() -> None:
    def peak(rounds: int) -> float:
        one, other = Relay(rounds), Relay(rounds)
        tracemalloc.start()
        assert one.hit("ball", other) == rounds
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size / rounds

    peak(10)
    assert peak(5_000) < 100  # bytes: two places in a list
    assert asyncio.run(Relay(7).a_hit("ball", Relay(7))) == 7


def test_a_tail_call_that_does_not_fit_raises() -> None:
    class Wrong(Player):
        async def _hit(self, mode: Mode, ball: str, other: Player) -> int:
            return mode.tail(other, "hit")  # type: ignore[no-any-return]

        hit, a_hit = faces(_hit)

    with pytest.raises(TypeError):
        Wrong().hit("ball", Player())
    with pytest.raises(TypeError):
        asyncio.run(Wrong().a_hit("ball", Player()))


def test_the_faces_look_like_methods_written_by_hand() -> None:
    assert str(inspect.signature(Player.hit)) == "(self, ball: 'str', other: 'Player') -> 'int'"
    assert str(inspect.signature(Player().a_hit)) == "(ball: 'str', other: 'Player') -> 'int'"
    assert (Player.hit.__name__, Player.a_hit.__qualname__, Player.a_hit.__doc__) == (
        "hit",
        "Player.a_hit",
        "Hit the ball.",
    )
    assert inspect.iscoroutinefunction(Player.a_hit)
    assert not inspect.iscoroutinefunction(Player.hit)
    assert core_of(Player.hit) is core_of(Player.a_hit) is Player._hit
    assert core_of(len) is None
    assert (Player.a_slow.__qualname__, str(inspect.signature(Player.a_slow))) == (
        "Player.a_slow",
        "(self, text: 'str') -> 'tuple[str, bool]'",
    )


def test_an_override_of_a_face_is_called_in_its_mode_only() -> None:
    class Loud(Player):
        def hit(self, ball: str, other: Player) -> int:
            return super().hit(ball + "!", other)

    one, loud = Player(), Loud()
    one.hit("ball", loud)
    assert loud.seen == ["ball!", "ball!!"]
    one, loud = Player(), Loud()
    asyncio.run(one.a_hit("ball", loud))
    assert loud.seen[0] == "ball"


def test_a_replaced_method_of_one_agent_is_called() -> None:
    one, other = Player(), Player()
    other.hit = lambda ball, other: 40  # type: ignore[method-assign]
    assert one.hit("ball", other) == 41


def test_an_override_may_look_like_what_it_wraps() -> None:
    class Loud(Player):
        @functools.wraps(Player.hit)
        def hit(self, ball: str, other: Player) -> int:  # type: ignore[override]  # as users do
            return super().hit(ball + "!", other)

    one, loud, patched = Player(), Loud(), Player()
    one.hit("ball", loud)
    assert loud.seen == ["ball!", "ball!!"]
    patched.hit = functools.wraps(patched.hit)(lambda ball, other: 40)  # type: ignore[method-assign]
    assert one.hit("ball", patched) == 1
    assert Player().hit("ball", patched) == 41
    assert core_of(Loud.hit) is None


def test_any_object_with_the_method_can_be_a_peer() -> None:
    class Wall:
        def hit(self, ball: str, other: Player) -> int:
            return 7

        async def a_hit(self, ball: str, other: Player) -> int:
            await asyncio.sleep(0)
            return 8

    wall: Any = Wall()
    assert Player().hit("ball", wall) == 8
    assert asyncio.run(Player().a_hit("ball", wall)) == 9


async def _later(value: str) -> str:
    await asyncio.sleep(0)
    return value


@pytest.mark.parametrize("inside_a_loop", [False, True])
def test_async_functions_work_from_the_sync_face(inside_a_loop: bool) -> None:
    def ask() -> list[Any]:
        return Player().all([lambda: _later("a"), lambda: "b"])

    async def inside() -> list[Any]:
        return ask()

    assert (asyncio.run(inside()) if inside_a_loop else ask()) == ["a", "b"]


def test_the_async_face_runs_side_by_side() -> None:
    async def both() -> list[Any]:
        met = asyncio.Event()

        async def waits() -> str:
            await asyncio.wait_for(met.wait(), 5)
            return "met"

        async def comes() -> str:
            met.set()
            return "came"

        return await Player().a_all([waits, comes])

    assert asyncio.run(both()) == ["met", "came"]


def test_the_first_error_ends_those_that_run_beside_it() -> None:
    ended: list[str] = []

    async def fails() -> None:
        raise ValueError("no")

    async def goes_on() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(Player().a_all([goes_on, fails]))
    assert ended == ["cancelled"]


def test_errors_pass_through_the_cores_between() -> None:
    class Clumsy(Player):
        async def _hit(self, mode: Mode, ball: str, other: Player) -> int:
            try:
                raise KeyError("dropped")
            finally:
                self.seen.append("cleaned up")

        hit, a_hit = faces(_hit)

    calls: list[Callable[[Player], int]] = [
        lambda p: Player().hit("ball", p),
        lambda p: asyncio.run(Player().a_hit("ball", p)),
    ]
    for call in calls:
        clumsy = Clumsy()
        with pytest.raises(KeyError, match="dropped"):
            call(clumsy)
        assert clumsy.seen == ["cleaned up"]


def test_arguments_that_do_not_fit_raise_in_the_core_that_asked() -> None:
    class Odd(Player):
        async def _hit(self, mode: Mode, ball: str, other: Player) -> int:
            try:
                await mode.peer(other, "hit")
            except TypeError:
                return 99
            return 0

        hit, a_hit = faces(_hit)

    assert Odd().hit("ball", Player()) == 99


def test_a_cancellation_reaches_the_innermost_core() -> None:
    seen: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main() -> None:
        task = asyncio.create_task(Player().a_all([waits]))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == ["cancelled"]


def test_what_blocks_leaves_the_loop_alone_and_honours_overrides() -> None:
    assert Player().asks("x") == ("x", True)
    assert asyncio.run(Player().a_asks("x")) == ("x", False)
    assert asyncio.run(Player().a_slow("x")) == ("x", False)

    class Other(Player):
        def slow(self, text: str) -> tuple[str, bool]:
            return "other " + text, False

    assert Other().asks("x") == ("other x", False)
    assert asyncio.run(Other().a_asks("x")) == ("other x", False)


def test_waiting_keeps_the_context() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    async def look() -> str:
        return variable.get()

    async def inside(awaitable: Callable[[], Awaitable[str]]) -> str:
        return wait_for(awaitable())

    variable.set("set")
    assert wait_for(look()) == "set"
    assert asyncio.run(inside(look)) == "set"


def test_a_core_that_suspends_in_sync_mode_says_so() -> None:
    class Wrong(Player):
        async def _hit(self, mode: Mode, ball: str, other: Player) -> int:
            await asyncio.sleep(0)
            return 1

        hit, a_hit = faces(_hit)

    with pytest.raises(RuntimeError, match=r"mode\.invoke"):
        Wrong().hit("ball", Player())


def test_the_modes() -> None:
    assert (SYNC.prefix, ASYNC.prefix, SYNC.is_async, ASYNC.is_async) == ("", "a_", False, True)


@pytest.mark.parametrize("inside_a_loop", [False, True])
def test_a_stop_ends_what_sync_code_waits_for(inside_a_loop: bool) -> None:
    ended: list[str] = []

    async def hangs() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("cancelled")

    async def inside() -> None:
        wait_for(hangs())

    def ask() -> None:
        asyncio.run(inside()) if inside_a_loop else wait_for(hangs())

    signal = StopSignal()
    threading.Timer(0.1, signal.set).start()
    with stoppable(signal), pytest.raises(Stopped):
        ask()
    assert ended == ["cancelled"]


def test_what_the_first_error_leaves_unasked_is_closed() -> None:
    def fails() -> None:
        raise ValueError("no")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="no"):
            Player().all([fails, lambda: "never asked"])
        gc.collect()

"""The kernels of all chats of this process: few are alive, and those that nobody uses end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from agentkit.coding.bubblewrap import Limits
from agentkit.coding.chat_kernel.following import EndReason
from agentkit.coding.chat_kernel.outputs import Output, Variable
from agentkit.core import stopping
from agentkit.errors import ExecutionError

if TYPE_CHECKING:
    from agentkit.coding.chat_kernel.kernel import CellResult, ChatKernel, KernelEnd

MOST_ALIVE = 4
IDLE_S = 30 * 60.0
_LOOK_EVERY_S = 0.2
_LOOK_FOR_IDLE_S = 30.0

OnEnd: TypeAlias = "Callable[[str, KernelEnd], None]"


@dataclass(slots=True)
class _Place:
    kernel: ChatKernel
    used: float
    busy: int = 0
    """How many calls wait for it or use it."""
    taken: bool = False
    """Whether it counts as alive: it is, or is about to be."""
    cell: str = ""
    """The last cell that ran in it, as its chat calls it."""

    @property
    def is_alive(self) -> bool:
        """Whether it counts as alive, and has not ended by itself."""
        if not self.taken:
            return False
        return self.busy > 0 or self.kernel.alive


class KernelPool:
    """Kernels by the id of their chat, usable from any thread. A chat whose kernel is gone learns
    why from `began_after` of its next cell, and from `last_end` at any time.
    """

    def __init__(
        self,
        most: int = MOST_ALIVE,
        idle_s: float = IDLE_S,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_end: OnEnd | None = None,
    ) -> None:
        """`most` kernels are alive at a time. `on_end(chat_id, end)` hears of those that the pool
        ends by itself; `clock` gives seconds.
        """
        self._most, self._idle_s = most, idle_s
        self._limits, self._clock, self._on_end = limits, clock, on_end
        self._places: dict[str, _Place] = {}
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None

    def run_cell(
        self,
        chat_id: str,
        folder: Path | str,
        code: str,
        on_output: Callable[[Output], None] | None = None,
    ) -> CellResult:
        """As `ChatKernel.run_cell`, with the kernel of the chat, which works in `folder`.

        A new kernel ends the one that was not used for longest; while cells run in all of them it
        waits until one is free.
        """
        with self._using(chat_id, folder) as kernel:
            return kernel.run_cell(code, on_output)

    def run_cells(
        self,
        chat_id: str,
        folder: Path | str,
        codes: Iterable[str],
        on_output: Callable[[Output], None] | None = None,
    ) -> list[CellResult]:
        """As `ChatKernel.run_cells`: in order, the first one that fails is the last one."""
        with self._using(chat_id, folder) as kernel:
            return kernel.run_cells(codes, on_output)

    def variables(self, chat_id: str) -> tuple[Variable, ...]:
        """The names that are alive in the chat's kernel; starts none."""
        with self._changed:
            place = self._places.get(chat_id)
            if place is None or not place.taken:
                return ()
            place.busy += 1
        try:
            return place.kernel.variables()
        finally:
            self._leave(place, used=False)

    def last_end(self, chat_id: str) -> KernelEnd | None:
        """Why the chat's last kernel is gone; None while one is alive, and where none ever was."""
        place = self._places.get(chat_id)
        if place is None:
            return None
        return place.kernel.last_end

    def alive(self) -> list[str]:
        """The chats whose kernel is alive, the one that was not used for longest first."""
        with self._changed:
            used = {chat: (place.used, chat) for chat, place in self._living()}
        return sorted(used, key=used.__getitem__)

    def note_cell(self, chat_id: str, cell_id: str) -> None:
        """Know which cell of the chat ran last in its kernel."""
        if place := self._places.get(chat_id):
            place.cell = cell_id

    def last_cell(self, chat_id: str) -> str:
        """The cell that was noted last; empty where none was."""
        place = self._places.get(chat_id)
        if place is None:
            return ""
        return place.cell

    def end(self, chat_id: str, reason: EndReason = "ended") -> None:
        """End the kernel of a chat, also in the middle of a cell."""
        with self._changed:
            place = self._places.get(chat_id)
        if place is None:
            return
        place.kernel.end(reason)
        with self._changed:
            if not place.busy:
                place.taken = False
            self._changed.notify_all()

    def forget(self, folder: Path) -> None:
        """End the kernels that work in or below this folder, and forget the chats; cells that run
        in them die.
        """
        within = folder.resolve()
        for chat, place in list(self._places.items()):
            if place.kernel.folder.is_relative_to(within):
                self.end(chat)
                with self._changed:
                    self._places.pop(chat, None)

    def end_idle(self) -> list[str]:
        """End the kernels that were not used for so long; gives their chats. The pool does it by
        itself twice a minute.
        """
        ended: list[str] = []
        with self._changed:
            latest = self._clock() - self._idle_s
            for chat, place in self._list_free():
                if place.used <= latest:
                    self._end(chat, place, "idle")
                    ended.append(chat)
        return ended

    def close(self) -> None:
        """End all kernels; the pool takes no more."""
        self._closed.set()
        for place in list(self._places.values()):
            place.kernel.close()
        if self._watcher is not None:
            self._watcher.join()

    def __enter__(self) -> KernelPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _using(self, chat_id: str, folder: Path | str) -> Iterator[ChatKernel]:
        place = self._enter(chat_id, folder)
        try:
            self._take(place)
            yield place.kernel
        finally:
            self._leave(place)

    def _enter(self, chat_id: str, folder: Path | str) -> _Place:
        with self._changed:
            if self._closed.is_set():
                raise ExecutionError("the kernels are closed, so no code runs any more.")
            if chat_id not in self._places:
                from agentkit.coding.chat_kernel.kernel import ChatKernel  # no page needs it

                kernel = ChatKernel(folder, self._limits)
                self._places[chat_id] = _Place(kernel, self._clock())
            if self._watcher is None:
                self._watcher = threading.Thread(
                    target=self._watch, name="kernel-pool", daemon=True
                )
                self._watcher.start()
            place = self._places[chat_id]
            place.taken = place.is_alive
            place.busy += 1
            return place

    def _take(self, place: _Place) -> None:
        """Let a kernel be alive, as soon as there is room for it."""
        with self._changed:
            while not place.taken:
                stopping.check()
                free = self._list_free()
                if len(list(self._living())) < self._most:
                    place.taken = True
                elif free:
                    chat, oldest = min(free, key=lambda each: (each[1].used, each[0]))
                    self._end(chat, oldest, "least_used")
                else:
                    self._changed.wait(_LOOK_EVERY_S)

    def _leave(self, place: _Place, used: bool = True) -> None:
        with self._changed:
            place.busy -= 1
            if used:
                place.used = self._clock()
            if not place.busy:
                place.taken = place.kernel.alive
            self._changed.notify_all()

    def _living(self) -> Iterator[tuple[str, _Place]]:
        for chat, place in self._places.items():
            if place.is_alive:
                yield chat, place

    def _list_free(self) -> list[tuple[str, _Place]]:
        """Those that live and that nobody uses."""
        return [(chat, place) for chat, place in self._living() if not place.busy]

    def _end(self, chat: str, place: _Place, reason: EndReason) -> None:
        place.kernel.end(reason)
        place.taken = False
        if self._on_end is not None and place.kernel.last_end is not None:
            self._on_end(chat, place.kernel.last_end)

    def _watch(self) -> None:
        while not self._closed.wait(_LOOK_FOR_IDLE_S):
            self.end_idle()


@cache
def shared_pool() -> KernelPool:
    """The pool of this process."""
    return KernelPool()

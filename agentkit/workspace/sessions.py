"""The chats that were asked lately, as this process keeps them: their agents, and what was read of
the ledger for them.

The ledger stays the truth. A message never changes, so it is read once; which messages make up a
branch is asked each time. Whatever was deleted, branched off or broken off meanwhile: a chat that
is kept, one that was put away and one after a restart give the same.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from weakref import WeakValueDictionary

from agentkit.events import Compressed
from agentkit.ledger import Ledger, StoredMessage
from agentkit.teams.live import Session
from agentkit.teams.task import Work
from agentkit.workspace.answering import find_shortenings, find_work

MOST = 32
"""Chats that are kept; of more, the one that was asked the longest ago is put away."""
IDLE_S = 1_800.0
"""Seconds without a question after which a chat is put away when another one is asked."""


class ChatSession:
    """What is kept of one chat."""

    def __init__(self, ledger: Ledger, owner: str, chat_id: str) -> None:
        self.asked_at = 0.0
        self.agents = Session()
        self._ledger, self._owner, self._chat_id = ledger, owner, chat_id
        self._messages: dict[str, StoredMessage] = {}
        self._work: dict[str, Work] = {}
        self._whole: set[str] = set()

    def thread(self, head_id: str | None = None) -> list[StoredMessage]:
        """The branch that ends at `head_id` (default: the chat's head), first message first; raises
        NotFound.
        """
        found = self._ledger.read_thread(self._owner, self._chat_id, head_id, self._messages)
        self._messages |= {said.id: said for said in found}
        return found

    def earlier(self, thread: Sequence[StoredMessage], kind: str) -> Callable[[], list[Work]]:
        """Gives what teams of this kind said among themselves on the branch."""
        return partial(find_work, thread, kind, self._work)

    def read_shortened(
        self, thread: Sequence[StoredMessage]
    ) -> Callable[[], Iterator[tuple[int, Compressed]]]:
        """Gives what was told of shortening the branch."""
        return partial(find_shortenings, self._ledger, self._owner, thread, self._whole)


class Sessions:
    """The chats of a data folder that are kept, by owner and id."""

    def __init__(
        self,
        ledger: Ledger,
        most: int = MOST,
        idle_s: float = IDLE_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep at most so many, and none for longer without a question; with 0 none is kept."""
        self._ledger, self._most, self._idle_s, self._now = ledger, most, idle_s, now
        self._kept: OrderedDict[tuple[str, str], ChatSession] = OrderedDict()
        self._open: WeakValueDictionary[tuple[str, str], ChatSession] = WeakValueDictionary()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def of(self, owner: str, chat_id: str) -> ChatSession:
        """What is kept of a chat that is asked something now; a new one where nothing is."""
        key = owner, chat_id
        with self._lock:
            found = self._find(owner, chat_id)
            found.asked_at = self._now()
            self._kept[key] = found
            self._kept.move_to_end(key)
            self._put_away()
        return found

    def open(self, owner: str, chat_id: str) -> ChatSession:
        """What is kept of a chat that somebody looks at; it is not put away while they hold it."""
        with self._lock:
            found = self._open[owner, chat_id] = self._find(owner, chat_id)
        return found

    def _find(self, owner: str, chat_id: str) -> ChatSession:
        key = owner, chat_id
        found = self._kept.get(key) or self._open.get(key)
        return found or ChatSession(self._ledger, owner, chat_id)

    def forget(self, owner: str, chat_id: str) -> None:
        """Keep nothing of a chat."""
        with self._lock:
            self._kept.pop((owner, chat_id), None)
            self._open.pop((owner, chat_id), None)

    def _put_away(self) -> None:
        oldest = self._now() - self._idle_s
        idle = [key for key, kept in self._kept.items() if kept.asked_at < oldest]
        beyond = list(self._kept)[: max(0, len(self._kept) - self._most)]
        for key in {*idle, *beyond}:
            del self._kept[key]

"""Parts of a page that look again by themselves, and are drawn anew only where something is new.

The browser asks for such a part each time. To draw it takes the server and the browser time, also
where nothing has changed since: while an answer was only waited for, that was half a core of the
browser's and a tenth to a quarter of the server's (AMD EPYC, Chromium without a GPU).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from streamlit.runtime.fragment import FragmentStorage
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from agentkit.runs import Run

State = Callable[[], object]
"""What a part shows, to be compared: called often and on another thread, it must be quick and know
nothing of the session.
"""
_drawn: WeakKeyDictionary[FragmentStorage, dict[str, tuple[State, object]]] = WeakKeyDictionary()


@contextmanager
def drawing(state: State) -> Iterator[None]:
    """Around all that a part draws: until its state is another one, it is not drawn again by
    itself.
    """
    before = state()
    yield
    context = get_script_run_ctx(suppress_warning=True)
    part = ThreadState.get().fragment_id
    if context and part:
        _drawn.setdefault(context.fragment_storage, {})[part] = (state, before)


def is_same(parts: FragmentStorage, part: str) -> bool:
    """Whether that part of a session would be drawn as it stands there."""
    known = _drawn.get(parts, {}).get(part)
    return known is not None and known[0]() == known[1]


def state_of(*followed: Run[Any]) -> object:
    """What has happened in runs so far, to the second: a page tells how long something takes."""
    told = [
        (run.told, run.ended, run.stopping, run.waiting_for, len(run.unheard)) for run in followed
    ]
    return told, int(time.time())

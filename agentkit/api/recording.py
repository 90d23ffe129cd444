"""`record()`: the agents of any script in the ledger, with their calls and what these cost."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from agentkit import runs
from agentkit.api.workspace import Workspace
from agentkit.errors import HolderGone, explain
from agentkit.events import Recorded, RunFailed, RunFinished, RunStopped
from agentkit.ledger import Ledger, RunKey
from agentkit.runs import Run
from agentkit.settings import Settings, load_settings
from agentkit.workspace.recorders import Recorder

log = logging.getLogger(__name__)
_ENDS = (RunFinished, RunFailed, RunStopped)


@contextmanager
def record(title: str = "", settings: Settings | None = None) -> Iterator[Run[None]]:
    """Keep what agents do in the enclosed work as a run: what they say, their calls, the costs.

    It stands among the others in the app and in `python -m agentkit runs`; the app may be at work
    in the same folder or not. The title is by default the script's name, the folder that of the
    settings, which are read as by the command line. When the folder can no longer be written the
    work goes on, and a warning is logged. Where nobody else has the folder open, its budgets hold.
    Raises StoreError when it cannot be written at first.
    """
    workspace = Workspace(settings or load_settings())
    try:
        name = title or Path(sys.argv[0]).name
        with closing(_Delivery(workspace.ledger, workspace.settings.data)) as delivery:
            recorded = runs.recording(delivery, "script", name, workspace.settings.owner)
            with recorded as run, workspace.hold_to_budgets(run.owner, run.id):
                yield run
    finally:
        workspace.close()


class _Delivery:
    """Hands events to the ledger; after a failure, all that are left at the end of the run."""

    def __init__(self, ledger: Ledger, data: Path) -> None:
        self._ledger, self._data = ledger, data
        self._recorder: Recorder | None = None
        self._left: list[Recorded] = []
        self._failed = False
        self._turn = threading.Lock()

    def keep(self, run: RunKey, events: Sequence[Recorded]) -> None:
        """Store the events, now or at the end."""
        with self._turn:
            if self._recorder is None:
                self._recorder = Recorder(self._data, run.id)
            self._left += events
            if not self._failed or isinstance(events[-1].event, _ENDS):
                self._deliver(run)

    def close(self) -> None:
        """The run has ended."""
        if self._recorder is not None:
            self._recorder.close()

    def _deliver(self, run: RunKey) -> None:
        try:
            try:
                self._ledger.keep(run, self._left, again=self._failed)
            except HolderGone:  # another one may have the folder now, or nobody
                self._ledger.keep(run, self._left, again=True)
        except Exception as error:  # noqa: BLE001 (whatever it is, the work goes on)
            if not self._failed:
                why = explain(error)
                log.warning("What this program does is not recorded from here on: %s", why)
            self._failed = True
        else:
            self._left = []

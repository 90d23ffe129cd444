"""Calling actions on behalf of a plan's steps, told as events."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentkit.agents.rewoo.executor import ActionExecutor
from agentkit.agents.rewoo.graph import Evidence
from agentkit.agents.rewoo.inputs import Arguments
from agentkit.agents.rewoo.plan import Step
from agentkit.agents.rewoo.schema import ActionReturn, ActionStatusCode
from agentkit.core import bus, stopping
from agentkit.core.tools import Given, collecting, to_text
from agentkit.events import ToolCalled, ToolReturned
from agentkit.messages import new_id


@dataclass(frozen=True, slots=True)
class ActionCall:
    """Runs actions of an executor for `graph.execute`; emits ToolCalled and ToolReturned in the
    name of `agent`.
    """

    executor: ActionExecutor
    agent: str

    def __call__(self, tool: str, arguments: Arguments) -> ActionReturn:
        """Run the action; a text is taken as one text, whatever evidence stands in it. Raises
        Stopped.
        """
        told = _Told(self.agent, tool)
        told.called(arguments)
        with stopping.current().on_stop(lambda: told.returned(False, "Error: stopped")):
            try:
                given = (
                    self.executor.as_inputs(tool, arguments)
                    if isinstance(arguments, str)
                    else arguments
                )
                with collecting() as passages:
                    returned = self.executor(tool, given)
                ok = returned.state == ActionStatusCode.SUCCESS
                content = returned.format_result() if ok else f"Error: {returned.errmsg}"
            except BaseException as error:  # the call is over for those who listen, too
                told.returned(False, f"Error: {str(error) or type(error).__name__}")
                raise
            told.returned(ok, content, passages)
        return returned


def action_return(step: Step, evidence: Evidence) -> ActionReturn:
    """What a step gave as an ActionReturn: its action's own where there is one."""
    if isinstance(evidence.value, ActionReturn):
        return replace(evidence.value, thought=evidence.value.thought or step.thought)
    made = ActionReturn(
        {"inputs": evidence.arguments or step.arguments}, type=step.tool, thought=step.thought
    )
    if evidence.ok:
        return replace(made, result=[{"type": "text", "content": evidence.text}])
    return replace(made, errmsg=evidence.error or evidence.text, state=ActionStatusCode.API_ERROR)


class _Told:
    """One call for those who listen: it ends once, by a stop or late, whichever comes first."""

    def __init__(self, agent: str, tool: str) -> None:
        self.id, self.agent, self.tool = new_id(), agent, tool
        self.began = time.monotonic()
        self._lock, self._over = threading.Lock(), False

    def called(self, arguments: Arguments) -> None:
        if bus.heard():
            bus.emit(
                ToolCalled(
                    self.id,
                    self.agent,
                    self.tool,
                    arguments if isinstance(arguments, str) else to_text(arguments),
                )
            )

    def returned(self, ok: bool, content: str, passages: Sequence[Given] = ()) -> None:
        with self._lock:
            over, self._over = self._over, True
        if not over and bus.heard():
            seconds = time.monotonic() - self.began
            bus.emit(
                ToolReturned(self.id, self.agent, self.tool, ok, content, seconds, list(passages))
            )

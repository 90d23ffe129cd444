"""Calling actions on behalf of a plan's steps, told as events."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentkit.agents.rewoo.evidence import Evidence
from agentkit.agents.rewoo.executor import ActionExecutor
from agentkit.agents.rewoo.inputs import Arguments
from agentkit.agents.rewoo.plan import Step
from agentkit.agents.rewoo.schema import ActionReturn, ActionStatusCode
from agentkit.core import bus, replay, stopping
from agentkit.core.tools import Given, collecting, to_text
from agentkit.errors import explain
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
        replay.work_side_by_side()
        if known := self._find_recorded(tool, to_text(arguments)):
            return known
        listeners = _Announcer(self.agent, tool)
        listeners.announce_call(to_text(arguments))
        with stopping.current().on_stop(lambda: listeners.announce_error("stopped")):
            try:
                if isinstance(arguments, str):
                    arguments = self.executor.as_inputs(tool, arguments)
                with collecting() as passages:
                    returned = self.executor(tool, arguments)
                content = ""
                if returned.succeeded:
                    content = returned.format_result()
            except BaseException as error:  # the call is over for those who listen, too
                listeners.announce_error(explain(error))
                raise
            if returned.succeeded:
                listeners.announce_return(True, content, passages)
            else:
                listeners.announce_error(returned.errmsg, passages)
        return returned

    def _find_recorded(self, tool: str, arguments: str) -> ActionReturn | None:
        """What the action gave before the run broke off with which this one goes on."""
        if self.executor.runs_again(tool):
            return None
        returned = replay.tell_result(self.agent, tool, arguments)
        if returned is None:
            return None
        if returned.ok:
            result = {"type": "text", "content": returned.content}
            return ActionReturn(type=tool, result=[result])
        problem = returned.content.removeprefix("Error: ")
        return ActionReturn(
            type=tool,
            errmsg=problem,
            state=ActionStatusCode.API_ERROR,
        )


def to_action_return(step: Step, evidence: Evidence) -> ActionReturn:
    """What a step gave as an ActionReturn: its action's own where there is one."""
    own = evidence.value
    if isinstance(own, ActionReturn):
        thought = own.thought or step.thought
        return replace(own, thought=thought)
    arguments = evidence.arguments or step.arguments
    made = ActionReturn(
        {"inputs": arguments},
        type=step.tool,
        thought=step.thought,
    )
    if evidence.ok:
        made.result = [{"type": "text", "content": evidence.text}]
        return made
    made.errmsg = evidence.error or evidence.text
    made.state = ActionStatusCode.API_ERROR
    return made


class _Announcer:
    """One call for those who listen: it ends once, by a stop or late, whichever comes first."""

    def __init__(self, agent: str, tool: str) -> None:
        self.id, self.agent, self.tool = new_id(), agent, tool
        self.began = time.monotonic()
        self._first_end = threading.Semaphore()

    def announce_call(self, arguments: str) -> None:
        bus.emit(ToolCalled(self.id, self.agent, self.tool, arguments))

    def announce_error(self, problem: str | None, passages: Sequence[Given] = ()) -> None:
        self.announce_return(False, f"Error: {problem}", passages)

    def announce_return(self, ok: bool, content: str, passages: Sequence[Given] = ()) -> None:
        if self._first_end.acquire(blocking=False):
            seconds = time.monotonic() - self.began
            bus.emit(
                ToolReturned(self.id, self.agent, self.tool, ok, content, seconds, list(passages))
            )

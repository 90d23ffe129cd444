"""When a chat ends and when a person is asked, and how often an agent has replied without one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from agentkit import runs
from agentkit.conversation import announcing
from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_count
from agentkit.core import bus
from agentkit.core.io import IOConsole, IOStream
from agentkit.core.twin import Mode
from agentkit.errors import NobodyToAsk, WrongArgument, WrongType
from agentkit.events import HumanAnswered, HumanInputRequested
from agentkit.messages import Stored, interrupt_calls, new_id, with_responses
from agentkit.options import END, InputMode, Moment
from agentkit.reasons import EndReason

INTERRUPTED = "USER INTERRUPTED"
_moment: ContextVar[tuple[str, Moment]] = ContextVar("agentkit_moment", default=("", ""))
"""Whom the answer to the next question is told, and when in the chat it is asked."""


class Human:
    """The person behind an agent: when to ask, what was answered, how many replies went without."""

    def __init__(
        self,
        owner: str,
        input_mode: InputMode,
        limit: int,
        is_termination_msg: Callable[[Stored], bool],
    ) -> None:
        if input_mode not in ("ALWAYS", "NEVER", "TERMINATE"):
            raise WrongArgument(
                f"{owner}: human_input_mode must be 'ALWAYS', 'NEVER' or 'TERMINATE', not"
                f" {input_mode!r}."
            )
        check_count(owner, "max_consecutive_auto_reply", limit)
        if not callable(is_termination_msg):
            raise WrongType(
                f"{owner}: is_termination_msg must be callable, not {is_termination_msg!r}."
            )
        self.input_mode = input_mode
        self.limit = limit
        self.is_termination_msg = is_termination_msg
        self.inputs: list[str] = []
        self.counters: dict[Agent | None, int] = defaultdict(int)
        self.limits: dict[Agent | None, int] = defaultdict(lambda: self.limit)
        self.reasons: dict[Agent | None, EndReason] = {}
        """Why this agent last stopped replying to somebody."""

    def set_limit(self, value: int, sender: Agent | None) -> None:
        """Allow so many automatic replies in a row, to one sender or to all."""
        if sender is not None:
            self.limits[sender] = value
            return
        self.limit = value
        for known in self.limits:
            self.limits[known] = value

    def reset_counter(self, sender: Agent | None) -> None:
        """Count from 0 again, for one sender or for all."""
        if sender is None:
            self.counters.clear()
        else:
            self.counters[sender] = 0

    async def check(
        self, mode: Mode, agent: Agent, message: Stored, sender: Agent | None
    ) -> tuple[bool, Any]:
        """`(True, None)` ends the chat, `(True, reply)` is what the person said, `(False, None)`
        goes on without.
        """
        reply = await self._listen(mode, agent, message, sender)
        if reply == END:
            self.counters[sender] = 0
            return True, None
        if reply or self.limits[sender] == 0:
            self.counters[sender] = 0
            return True, _as_user(reply, message)
        self.counters[sender] += 1
        return False, None

    async def _listen(self, mode: Mode, agent: Agent, message: Stored, sender: Agent | None) -> str:
        """What the person says; `exit` ends the chat, an empty text goes on."""
        full = self.counters[sender] >= self.limits[sender]
        final = self._is_final(message, full)
        goes_on = not full and not final
        if goes_on and self.input_mode != "ALWAYS":
            return ""
        who = getattr(sender, "name", "the sender")
        end = EndReason("replies", agent.name, self.limits[sender])
        if final:
            end = EndReason("terminated", who)
        if self.input_mode == "NEVER":
            self.reasons[sender] = end
            return END
        to = str(message.get("name") or who)
        reply = await self._ask(mode, agent, sender, self._word(agent, who, final=final), to, final)
        if reply:
            return reply
        # Where nobody answers, they might go on for ever.
        is_unanswered = full and isinstance(reply, runs.Unanswered)
        if final or is_unanswered:
            self.reasons[sender] = end
            return END
        return reply

    def _is_final(self, message: Stored, full: bool) -> bool:
        """Whether the message ends the chat; where it ends anyway and nobody is asked, that is not
        looked at.
        """
        if full and self.input_mode == "NEVER":
            return False
        return self.is_termination_msg(message)

    def _word(self, agent: Agent, who: str, *, final: bool) -> str:
        """The question as the console asks it."""
        if self.input_mode == "ALWAYS":
            prompt = f"Replying as {agent.name}. Provide feedback to {who}. Press enter to skip and"
            return f"{prompt} use auto-reply, or type 'exit' to end the conversation: "
        skip = "skip and use auto-reply, "
        if final:
            skip = ""
        prompt = f"Please give feedback to {who}. Press enter {skip}or type 'exit' to stop the"
        return f"{prompt} conversation: "

    async def _ask(
        self, mode: Mode, agent: Agent, sender: Agent | None, prompt: str, to: str, final: bool
    ) -> str:
        moment: Moment = "turn"
        if final:
            moment = "close"
        token = _moment.set((to, moment))
        try:
            reply: str = await mode.peer(agent, "get_human_input", prompt)
        finally:
            _moment.reset(token)
        if reply == END:
            self.reasons[sender] = EndReason("person", agent.name)
        elif not reply and runs.current() is None:  # a run tells it as an answer
            announcing.note(agent.name, "no human input")
        return reply

    def read(self, agent: str, prompt: str) -> str:
        """One answer of a person, which is remembered."""
        answer = ask(agent, prompt)
        self.inputs.append(answer)
        return answer


def ask(agent: str, prompt: str) -> str:
    """Ask a person: who watches the run, unless a stream of its own is set; else who sits at the
    console.
    """
    stream = IOStream.get_default()
    to, moment = _moment.get()
    if runs.current() is not None and isinstance(stream, IOConsole):
        return runs.ask_human(agent, prompt, to=to, moment=moment)
    request = HumanInputRequested(new_id(), agent, prompt, to=to, moment=moment)
    bus.emit(request)
    try:
        answer = stream.input(prompt)
    except EOFError:
        raise NobodyToAsk(
            f"{agent} wants to ask a person ({prompt.strip()!r}), and there is no console to answer"
            " at; set human_input_mode='NEVER', give max_turns, or set an IOStream that answers."
        ) from None
    bus.emit(HumanAnswered(request.request_id, answer))
    return answer


def _as_user(reply: str, message: Stored) -> Stored:
    """A person's words as a message; calls that they came in the way of are answered as
    interrupted.
    """
    said: Stored = {"role": "user", "content": reply}
    returns = interrupt_calls(message, INTERRUPTED)
    if not returns:
        return said
    return with_responses(said, returns)

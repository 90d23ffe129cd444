"""Python code of a chat as cells of its kernel: run, announced with all that they give, and told to
models.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit import private
from agentkit.coding.announcing import STOPPED_EXIT_CODE
from agentkit.coding.chat_kernel.following import EndReason
from agentkit.coding.chat_kernel.kept import Kept
from agentkit.coding.chat_kernel.outputs import Output, Text
from agentkit.coding.chat_kernel.pool import KernelPool
from agentkit.core import bus
from agentkit.core.given import join_filled
from agentkit.errors import ExecutionError, Stopped, WrongArgument
from agentkit.events import Cell, CodeBegan, CodeOutput, CodeRan
from agentkit.messages import new_id

if TYPE_CHECKING:
    from agentkit.coding.chat_kernel.kernel import CellResult, KernelEnd

WORK, SHOWN = "work", "shown"
"""In the folder of a chat: where its code works, and what was shown of that."""
RESTARTED = "restarted"
"""Why a kernel is gone of which nobody in this process knows."""
BRANCH: EndReason = "branch"
"""Why what was made on one branch of a chat is gone on another: a kernel has one past."""
EXECUTOR = "ChatKernel"
_EXIT_CODES = {"ok": 0, "error": 1, "timeout": 124, "died": 137}
_AT_ONCE, _EVERY_S = 100, 0.25
"""So many pieces of output are told as they come, later ones so often at most."""
_NEW = "The kernel is new, and all variables of before are gone.\n"
_LISTED = 40
_DESCRIBED = re.compile(r"[^\W\d]\w{0,79} \(\w{1,80}(, [\d,. ×]{1,40}( [a-z]{1,10})?)?\)")


@dataclass(slots=True)
class ChatCells:
    """The kernel of one branch of a chat, and the cells that ran in it before."""

    chat_id: str
    folder: Path
    """Of the chat: `WORK` and `SHOWN` are in it."""
    pool: KernelPool
    find_earlier: Callable[[], Sequence[CodeRan]] = tuple
    """Gives the cells of this branch of the chat before the question, oldest first."""
    ran: list[CodeRan] = field(default_factory=list)
    """Those that ran since."""
    again: bool = False
    """Whether the cells that run from now on are some of before."""
    told: str | None = None
    """What models are told of the kernel, once that is settled."""
    _earlier: Sequence[CodeRan] | None = None

    @property
    def kept(self) -> Kept:
        """What the chat keeps of its cells."""
        return Kept(self.folder / SHOWN)

    @property
    def alive(self) -> bool:
        """Whether there is a kernel with the variables of this branch."""
        return is_alive(self.pool, self.chat_id, self.all())

    def all(self) -> list[CodeRan]:
        """The cells of this branch, oldest first."""
        if self._earlier is None:
            self._earlier = self.find_earlier()
        return [*self._earlier, *self.ran]

    def explain_loss(self) -> str:
        """Why the kernel is gone in which the latest cells ran; empty while it is alive, and where
        there was none.
        """
        before = self.all()
        if not before:
            return ""
        if self.alive:
            return ""
        return find_end(self.pool, self.chat_id, before)

    def run(self, agent: str, code: str) -> CodeRan:
        """Run a cell in the agent's name and announce it; whatever code does is told in it.

        Raises Stopped when the run is stopped, with the output so far.
        """
        cell_id, began, lost = new_id(), time.monotonic(), self.explain_loss()
        is_of_other_branch = not self.alive and self.chat_id in self.pool.alive()
        if is_of_other_branch:
            self.pool.end(self.chat_id, BRANCH)  # nothing of another branch is to be seen here
        private.make_folder(self.folder)
        bus.emit(CodeBegan(cell_id, agent, "python", code, self.chat_id))
        announcer = _CellAnnouncer(cell_id, agent, self.kept)
        try:
            result = self.pool.run_cell(self.chat_id, self.folder / WORK, code, announcer)
        except Stopped as stopped:
            cell = Cell(
                cell_id,
                "stopped",
                announcer.finish(),
                variables=find_variables(self.all()),
                began_after=lost,
                ended=_reason_of(self.pool.last_end(self.chat_id)),
            )
            self._announce(agent, code, STOPPED_EXIT_CODE, stopped.output, began, cell)
            raise
        except (ExecutionError, WrongArgument) as error:  # it did not run at all
            cell = Cell(cell_id, "error", variables=find_variables(self.all()), ended=lost)
            return self._announce(agent, code, 1, str(error), began, cell)
        cell = self._describe(cell_id, result, lost)
        text = result.text()
        if lost == RESTARTED:
            text = f"{_NEW}{text}"
        return self._announce(agent, code, _EXIT_CODES[result.status], text, began, cell)

    def describe(self) -> str:
        """What a model has to know of the kernel before it writes code; empty for a first one."""
        if self.told is None:
            self.told = self._describe_state()
        return self.told

    def _describe_state(self) -> str:
        variables = describe_variables(find_variables(self.all()))
        if self.alive:
            return f"Alive in the kernel: {variables}."
        if not self.explain_loss():
            return ""
        return (
            "The kernel of before has ended and the next code begins in a new, empty one. Gone are:"
            f" {variables}. Make anew what you need; files are still there."
        )

    def _describe(self, cell_id: str, result: CellResult, lost: str) -> Cell:
        kept, variables = self.kept, self.pool.variables(self.chat_id)
        return Cell(
            cell_id,
            result.status,
            outputs=list(map(kept.describe, result.outputs)),
            files=kept.describe_files(self.folder / WORK, result.files),
            variables=list(map(asdict, variables)),
            began_after=_reason_of(result.began_after) or lost,
            ended=_reason_of(result.end),
        )

    def _announce(
        self, agent: str, code: str, exit_code: int, output: str, began: float, cell: Cell
    ) -> CodeRan:
        ran = CodeRan(
            agent,
            "python",
            code,
            exit_code,
            output,
            EXECUTOR,
            seconds=time.monotonic() - began,
            stopped=cell.status == "stopped",
            cell=replace(cell, chat_id=self.chat_id, again=self.again),
        )
        self.ran.append(ran)
        self.pool.note_cell(self.chat_id, cell.id)
        bus.emit(ran)
        return ran


def _reason_of(end: KernelEnd | None) -> str:
    if end is None:
        return ""
    return end.reason


class _CellAnnouncer:
    """Announces what a cell puts out as it comes."""

    def __init__(self, cell_id: str, agent: str, kept: Kept) -> None:
        self._told: list[dict[str, Any]] = []
        self._cell_id, self._agent, self._kept = cell_id, agent, kept
        self._waiting: list[dict[str, Any]] = []
        self._pieces, self._told_at = 0, 0.0

    def __call__(self, output: Output) -> None:
        """Take the next piece; many small ones are told together."""
        if isinstance(output, Text):
            told = {"kind": "text", "text": output.text, "stream": output.stream}
        else:
            told = self._kept.describe(output)
        self._waiting.append(told)
        self._pieces += 1
        waited_s = time.monotonic() - self._told_at
        if self._pieces <= _AT_ONCE or waited_s >= _EVERY_S:
            self.finish()

    def finish(self) -> list[dict[str, Any]]:
        """Tell what was held back; gives all of it, as the outputs of a Cell."""
        self._told_at = time.monotonic()
        waiting, self._waiting = join_texts(self._waiting), []
        for one in waiting:
            bus.emit(CodeOutput(self._cell_id, self._agent, one))
        self._told = join_texts([*self._told, *waiting])
        return self._told


def join_texts(outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outputs, pieces of one text after the other as one."""
    joined: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    for one in outputs:
        goes_on = one["kind"] == "text" and last.get("stream", "") == one["stream"]
        if goes_on:
            last = {**last, "text": last["text"] + one["text"]}
            joined[-1] = last
        else:
            last = one
            joined.append(last)
    return joined


def find_variables(ran: Sequence[CodeRan]) -> list[dict[str, Any]]:
    """What was alive after the latest cell whose kernel lived on; oldest cell first."""
    lived = [cell.variables for cell in map(_cell_of, ran) if not cell.ended]
    return [[], *lived][-1]


def is_alive(pool: KernelPool, chat_id: str, ran: Sequence[CodeRan]) -> bool:
    """Whether the kernel of the chat has what these cells of a branch made, and nothing else: the
    last of them is the last that ran in it, and each before was so in its turn.
    """
    if chat_id not in pool.alive():
        return False
    last = ""
    if ran:
        last = _cell_of(ran[-1]).id
    return pool.last_cell(chat_id) == last


def find_end(pool: KernelPool, chat_id: str, ran: Sequence[CodeRan]) -> str:
    """Why the kernel of these cells is gone, also where no process knows of it any more."""
    if chat_id in pool.alive():
        return BRANCH
    reason = _reason_of(pool.last_end(chat_id))
    last = _cell_of(ran[-1])
    return reason or last.ended or RESTARTED


def find_codes(ran: Sequence[CodeRan]) -> list[str]:
    """The code of the cells that made the variables, oldest first: those that ran to their end,
    each once.
    """
    codes: list[str] = []
    for one in ran:
        is_first = not _cell_of(one).again
        if is_first and one.exit_code == 0:
            codes.append(one.code)
    return codes


def _cell_of(ran: CodeRan) -> Cell:
    return ran.cell or Cell("", "error")


def describe_variables(variables: Sequence[dict[str, Any]]) -> str:
    """The first variables as models and people read them, or `nothing`; modules are left out, and
    so are those without a name, type and size as Python gives them: code could tell a model
    anything there.
    """
    described = [_describe_variable(**one) for one in drop_modules(variables)]
    words = list(filter(_DESCRIBED.fullmatch, described))
    shown = words[:_LISTED]
    left_out = len(words) - len(shown)
    if left_out:
        shown.append(f"and {left_out} more")
    return ", ".join(shown) or "nothing"


def drop_modules(variables: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The variables that hold something; a module is there again with its import."""
    return [one for one in variables if one["type"] != "module"]


def _describe_variable(name: str, type: str, size: str) -> str:
    return f"{name} ({join_filled(', ', (type, size))})"


def explain_cells() -> str:
    """What a model is told of the kernel that its python code runs in."""
    from agentkit.coding.chat_kernel.kernel import find_packages

    packages = ", ".join(name for name, there in find_packages().items() if there)
    return f"""\
- To compute, to transform data or to check something, send a block marked python. It runs as a \
cell in the kernel of this chat, in isolation, without network; what you print and the value of \
the last line come back to you. Variables, imports and files in the working folder live on, from \
block to block and from question to question: go on from them. There are: {packages}.
- The user sees the pictures of plt.show(), and DataFrames and altair charts where they are the \
value of the last line or displayed; files that you save in the working folder are offered for \
download. Do not describe at length what is seen there.
- A block marked sh runs apart from that, in a folder of its own. Put code that is only meant to \
be read into a block marked text."""

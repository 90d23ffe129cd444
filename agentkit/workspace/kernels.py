"""The kernels of the chats of a data folder: where they work, how they stand, cells run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit import runs
from agentkit.coding import folders
from agentkit.coding.chat_kernel.kept import Kept
from agentkit.coding.chat_kernel.pool import KernelPool, shared_pool
from agentkit.core import bus
from agentkit.core.tools import read_function
from agentkit.errors import ConfigError, NotFound, Stopped
from agentkit.events import CodeRan, MessageSent, MessageStatus
from agentkit.ledger import Chat, Ledger, StoredMessage, queries
from agentkit.messages import new_id
from agentkit.runs import Run
from agentkit.teams.cells import SHOWN, WORK, ChatCells, find_codes
from agentkit.teams.roster import RUNNER, WITH_TOOLS

if TYPE_CHECKING:
    from agentkit.coding.chat_kernel.kernel import CellResult
    from agentkit.teams.built.agents import WrittenFunction

AGAIN = "cells_again"
"""In the facts of a message that asks for the cells before it to be run again, how many."""


def cells_of(
    data: Path, ledger: Ledger, owner: str, chat: Chat, thread: Sequence[StoredMessage]
) -> ChatCells:
    """The kernel of a chat for a branch with its cells; none begins before a cell runs."""
    run_ids = [said.run_id for said in thread if said.run_id]

    def earlier() -> list[CodeRan]:
        return list(chain.from_iterable(find_cells(ledger, owner, run_ids).values()))

    return ChatCells(chat.id, _folder(data, chat.id), shared_pool(), earlier)


def make_cells(data: Path, name: str) -> ChatCells:
    """A kernel of its own for what belongs to no chat; `remove` ends it."""
    return ChatCells(name, _folder(data, name), shared_pool())


def find_cells(ledger: Ledger, owner: str, run_ids: Sequence[str]) -> dict[str, list[CodeRan]]:
    """The cells that ran in each of these runs, oldest first."""
    found: dict[str, list[CodeRan]] = {run_id: [] for run_id in run_ids}
    for run_id, ran in queries.told(ledger, owner, list(found), CodeRan):
        if ran.cell:
            found[run_id].insert(0, ran)
    return found


def find_kept(data: Path, chat_id: str) -> Kept:
    """What a chat keeps of its cells."""
    return Kept(_folder(data, chat_id) / SHOWN)


def work_of(data: Path, chat_id: str) -> Path:
    """The folder in which the code of a chat works."""
    return _folder(data, chat_id) / WORK


def run_again(data: Path, ledger: Ledger, owner: str, chat: Chat) -> Run[None]:
    """Run the cells of the chat's branch again that ran to their end, in order, until one fails.

    It is a turn of the chat without words. Raises ConfigError while the chat is answering and
    where no kernel can run, NotFound where there are no such cells.
    """
    if runs.live(owner, chat_id=chat.id):
        raise ConfigError("This chat is still answering; run the cells again when it has ended.")
    from agentkit.coding.chat_kernel.kernel import is_available

    if not (available := is_available()):
        raise ConfigError(available.reason)
    thread = ledger.thread(owner, chat.id)
    cells = cells_of(data, ledger, owner, chat, thread)
    codes = find_codes(cells.all())
    if not codes:
        raise NotFound("There are no cells in this chat that could be run again.")
    work = partial(_run_all, cells, codes, thread[-1].id, WITH_TOOLS, RUNNER)
    title = f"{len(codes)} cells once more"
    return runs.start(work, kind="chat", title=title, owner=owner, chat_id=chat.id, ledger=ledger)


def call_function(
    data: Path,
    function: WrittenFunction,
    arguments: Mapping[str, Any],
    pool: KernelPool | None = None,
) -> CellResult:
    """What comes of one call of a team's function: what it gives, how it failed, or which limit
    ended it. It runs in a kernel of its own, which ends then.

    Raises WrongArgument for code other than one function, ConfigError where nothing can isolate it,
    ExecutionError when no kernel can be started.
    """
    from agentkit.coding.chat_kernel.kernel import is_available
    from agentkit.teams.built.offers.running import write_call  # loads the agents

    read_function(function.code, function.name)
    if not (available := is_available()):
        raise ConfigError(available.reason)
    name = f"function-{new_id()}"
    cells = make_cells(data, name)
    kept = pool or shared_pool()
    try:
        return kept.run_cell(name, cells.folder, write_call(function, arguments))
    finally:
        kept.end(name)
        remove(data, name)


def remove(folder: Path, chat_id: str = "") -> None:
    """End the kernel of a chat of this data folder and remove all that it has made; without a chat
    end all of them, and remove nothing.
    """
    place = _folder(folder, chat_id)
    if place.is_dir():
        shared_pool().forget(place)
        if chat_id:
            folders.remove(place)


def _folder(data: Path, chat_id: str) -> Path:
    return data / "kernels" / chat_id


def _run_all(
    cells: ChatCells, codes: Sequence[str], parent_id: str, team_id: str, runner: str
) -> None:
    run = runs.current()
    assert run is not None  # started above
    asked, cells.again = new_id(), True
    facts = {AGAIN: len(codes), "team_id": team_id}
    bus.emit(MessageSent(asked, parent_id, "user", runner, "user", "", extra=facts))
    status: MessageStatus = "failed"
    try:
        any(cells.run(runner, code).exit_code for code in codes)  # until one fails
        status = "complete"
    except Stopped:
        status = "stopped"
        raise
    finally:
        _say_end(run, asked, runner, status)


def _say_end(run: Run[None], asked: str, runner: str, status: MessageStatus) -> None:
    """The turn ends without a word: what the cells put out says it."""
    facts = {"inner": False, AGAIN: True}
    ids = (run.message_id, asked)
    bus.emit(MessageSent(*ids, runner, "user", "assistant", "", status, facts))

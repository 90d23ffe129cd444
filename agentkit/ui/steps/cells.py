"""Cells of a chat's kernel: as steps, with what they put out as it comes, and what of it people
came for, which stands above the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from agentkit.coding.bubblewrap import Limits
from agentkit.coding.chat_kernel.kept import Kept
from agentkit.coding.chat_kernel.made_files import read_file
from agentkit.core.given import pick_kind
from agentkit.errors import NotFound
from agentkit.events import Cell, CodeBegan, CodeOutput, CodeRan
from agentkit.ui.shared import state
from agentkit.ui.steps import tools
from agentkit.ui.steps.kind import Kind
from agentkit.ui.steps.step import CellRun, Level, Said, Step, Steps
from agentkit.ui.text import figures, markdown
from agentkit.ui.text.listing import draw_runnable, draw_text, name_language
from agentkit.ui.text.results import describe_chart, describe_picture, name_apart
from agentkit.workspace import kernels

Told = Mapping[str, Any]
_LIMITS = Limits()
ENDS = {
    "exited": "its process ended",
    "memory": f"its code took more than {_LIMITS.memory_mb:,} MB of memory",
    "disk": f"its code wrote more than {_LIMITS.file_mb:,} MB; what the cell made was removed",
    "timeout": f"a cell took longer than {_LIMITS.seconds:g} s and could not be interrupted",
    "flooded": "its code put out more than can be taken",
    "runaway": "its processes multiplied faster than they could be halted",
    "stopped": "a cell was stopped and could not be interrupted",
    "least_used": "other chats needed its place, and it was the one not used for longest",
    "idle": "it was not used for a long time",
    "ended": "you ended it",
    "branch": "the kernel of this chat held what another branch made",
    "restarted": "the app was started again",
}
"""Why a kernel is gone."""
FULL = (
    f"A cell needed more memory than the kernel may take ({_LIMITS.memory_mb:,} MB). What is in its"
    " variables stays and counts; with *End kernel* below it begins with an empty one."
)
STATES = {
    "error": "failed",
    "timeout": f"interrupted after {_LIMITS.seconds:g} s, variables are kept",
    "stopped": "stopped",
    "died": "the kernel ended",
}
"""How a cell ended that did not go well."""
_ICONS = {"ok": ":material/terminal:", "stopped": ":material/stop_circle:"}
_SHOWN = ("picture", "table", "chart")
_LATEST = 8
"""Results that stand above an answer at once; what came before them is folded."""
_LIVE_CHARACTERS = 4_000
_FILE_BYTES = 200 << 20


class Began(Kind[CodeBegan]):
    """A cell begins to run."""

    def enter(self, event: CodeBegan, seq: int, steps: Steps) -> None:
        """Show it."""
        cell = Cell(event.cell_id, "running", chat_id=event.chat_id)
        steps.put(event.cell_id, CellRun(event.language, event.code, cell))


class Output(Kind[CodeOutput]):
    """A piece of what it puts out."""

    def enter(self, event: CodeOutput, seq: int, steps: Steps) -> None:
        """Put it to its cell."""
        running = steps.shown.get(event.cell_id)
        if isinstance(running, CellRun):
            outputs = [*running.cell.outputs, event.output]
            cell = replace(running.cell, outputs=outputs)
            steps.put(event.cell_id, replace(running, cell=cell))


class Ran(tools.Code):
    """A block of code ran, in a kernel or elsewhere."""

    def enter(self, event: CodeRan, seq: int, steps: Steps) -> None:
        """Show it, a cell in the place where it began."""
        for cell in to_cells([event]):
            steps.put(cell.cell.id, cell)
            steps.did = event.agent
            return
        super().enter(event, seq, steps)


class Block(Kind[CellRun]):
    """A cell that runs or has run."""

    def draw(self, step: CellRun, level: Level) -> None:
        """The code to unfold; what comes out while it runs, else all that it gave."""
        draw = _draw_running if step.cell.status == "running" else _draw_ran
        draw(step)

    def describe_doing(self, step: CellRun) -> str:
        """That it runs, while it does."""
        runs = step.cell.status == "running"
        if runs:
            return f"Running {name_language(step.language)}"
        return super().describe_doing(step)


def to_cells(ran: Iterable[CodeRan]) -> list[CellRun]:
    """The code that ran in a kernel, as it is drawn."""
    return [CellRun(one.language, one.code, one.cell, one.seconds) for one in ran if one.cell]


def draw_results(steps: Iterable[Step], key: str) -> None:
    """What people came for, whatever they want to see of the steps: pictures, tables, charts and
    files of cells, but of those that failed; and what went beyond the limits.
    """
    every = pick_kind(steps, CellRun)
    if not every:
        return
    cells = [run for run in every if run.cell.status != "error"]
    shown: list[tuple[CellRun, Told]] = []
    for run in cells:
        shown += _list_outputs(run, _SHOWN)
    with st.container(key=f"results-{key}"):
        earlier = shown[:-_LATEST]
        if earlier:
            label = figures.count(len(earlier), "earlier result")
            folded = st.expander(label, type="compact", key=f"earlier-{key}", on_change="rerun")
            if folded.open:
                with folded:
                    _draw_each(earlier, f"earlier-{key}")
        _draw_each(shown[-_LATEST:], key, len(earlier))
        _draw_files(cells, key)
        _draw_excess(every)


def _list_outputs(run: CellRun, kinds: Collection[str]) -> list[tuple[CellRun, Told]]:
    """The outputs of these kinds, each with its cell."""
    return [(run, one) for one in run.cell.outputs if one["kind"] in kinds]


def describe_again(question: Said | None) -> str:
    """The words for a question that only asks for cells to be run again; empty for others."""
    count = question.extra.get(kernels.AGAIN, 0) if question else 0
    cells = figures.count(int(count), "cell")
    if count:
        return f":material/replay: Run the cells again ({cells})"
    return ""


def draw_again(question: Said | None, cells: Sequence[CellRun]) -> None:
    """What came of running cells again, which has no words of an agent; nothing for others."""
    if not describe_again(question):
        return
    failed = [_describe_end(run) for run in cells if run.cell.status != "ok"]
    if failed:
        why = markdown.literal(failed[0])
        st.warning(f"Cell {len(cells)} did not go well: {why}. Those after it were not run.")
    else:
        st.caption(f":material/check: {figures.count(len(cells), 'cell')} ran again.")


def _draw_running(run: CellRun) -> None:
    label, key = f"Running {name_language(run.language)}", f"running-{run.cell.id}"
    with st.expander(label, type="compact", icon=":material/terminal:", key=key):
        draw_runnable(run.code, run.language)
    texts = [str(one["text"]) for one in run.cell.outputs if one["kind"] == "text"]
    if printed := "".join(texts)[-_LIVE_CHARACTERS:].strip():
        draw_text(printed)


def _draw_ran(run: CellRun) -> None:
    end, key = markdown.literal(_describe_end(run)), f"cell-{run.cell.id}"
    label = f"Ran {name_language(run.language)} · {end}"
    icon = _ICONS.get(run.cell.status, ":material/error:")
    folded = st.expander(label, type="compact", icon=icon, key=key, on_change="rerun")
    if folded.open:
        with folded:
            _draw_whole(run, key)


def _draw_whole(run: CellRun, key: str) -> None:
    if reason := run.cell.began_after:
        st.caption(f":material/restart_alt: The kernel is new: {_why(reason)}.")
    draw_runnable(run.code, run.language)
    st.caption("Output" if run.cell.outputs else "There was no output.")
    _draw_each([(run, one) for one in run.cell.outputs], key)
    _draw_files([run], key)


def _draw_each(shown: Sequence[tuple[CellRun, Told]], key: str, first: int = 0) -> None:
    """Outputs, whatever their kind; of what is not there any more, that."""
    for number, (run, one) in enumerate(shown, start=first):
        try:
            _DRAW.get(one["kind"], _draw_unknown)(one, run, f"{key}-{number}")
        except NotFound as error:
            st.caption(markdown.literal(str(error)))


def _draw_printed(one: Told, run: CellRun, key: str) -> None:
    if one["text"].strip():
        draw_text(one["text"].strip("\n"))
    if "tail" not in one:
        return
    st.caption(f"… {figures.count(int(one['characters']), 'character')} in all; the end:")
    draw_text(one["tail"].strip("\n"))
    file = {"name": "output.txt", "bytes": one["characters"], "kept": one["kept"]}
    _draw_file(file, run.cell.chat_id, f"text-{key}")


def _draw_error(one: Told, run: CellRun, key: str) -> None:
    draw_text(one["traceback"] or f"{one['name']}: {one['message']}")


def _draw_picture(one: Told, run: CellRun, key: str) -> None:
    path = _read_kept(run.cell.chat_id).find(one["kept"])
    st.image(str(path), alt=describe_picture(run.code))


def _draw_table(one: Told, run: CellRun, key: str) -> None:
    import pandas as pd

    content = _read_kept(run.cell.chat_id).content(one)
    columns = name_apart(content["columns"])
    rows, wide = int(one["total_rows"]), int(one["total_columns"])
    size = f"{figures.count(rows, 'row')} and {figures.count(wide, 'column')}"
    frame = pd.DataFrame(content["rows"], columns=columns)
    st.dataframe(frame, hide_index=True, alt=f"Table of {size}", key=f"table-{key}")
    if frame.shape != (rows, wide):
        st.caption(f"Shown are {len(frame):,} by {len(columns):,} of {size}.")


def _draw_chart(one: Told, run: CellRun, key: str) -> None:
    spec = _read_kept(run.cell.chat_id).content(one)["spec"]
    st.vega_lite_chart(spec=spec, alt=describe_chart(spec), key=f"chart-{key}")


def _draw_left(one: Told, run: CellRun, key: str) -> None:
    unit = "character" if one["what"] == "text" else "byte"
    what, why = markdown.literal(str(one["what"])), markdown.literal(str(one["why"]))
    size = figures.count(int(one["count"]), unit)
    st.caption(f":material/content_cut: {what.capitalize()} left out ({size}): {why}.")


def _draw_unknown(one: Told, run: CellRun, key: str) -> None:
    st.caption(":material/help: A newer version shows something here.")


_DRAW = {
    "text": _draw_printed,
    "error": _draw_error,
    "picture": _draw_picture,
    "table": _draw_table,
    "chart": _draw_chart,
    "left_out": _draw_left,
}
"""What draws an output, by its kind."""


def _draw_excess(cells: Iterable[CellRun]) -> None:
    """What did not go as code wanted it."""
    for run in cells:
        _draw_each(_list_outputs(run, ("left_out",)), "")
        names = [one.get("name") for one in run.cell.outputs]
        if "MemoryError" in names:
            st.warning(FULL, icon=":material/memory:")
        if reason := run.cell.ended:
            told = f"The kernel ended, and with it all variables: {_why(reason)}."
            st.warning(told, icon=":material/memory:")


def _draw_files(cells: Iterable[CellRun], key: str) -> None:
    """A button for each file that the cells made, in its latest state."""
    files = {one["name"]: (one, run.cell.chat_id) for run in cells for one in run.cell.files}
    if not files:
        return
    with st.container(horizontal=True, gap="small"):
        for number, (one, chat_id) in enumerate(files.values()):
            _draw_file(one, chat_id, f"file-{key}-{number}")


def _draw_file(one: Told, chat_id: str, key: str) -> None:
    name = str(one["name"])
    label = f"{markdown.literal(name)} · {figures.size(int(one['bytes']))}"
    st.download_button(
        label,
        partial(_read, chat_id, dict(one)),
        file_name=name.rpartition("/")[2],
        mime="application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
        key=key,
    )


def _read(chat_id: str, one: Told) -> bytes:
    """The file as it was when the cell had made it; one that is too large to be kept as it is."""
    if "kept" in one:
        return _read_kept(chat_id).read(one["kept"])
    folder = kernels.work_of(state.workspace().settings.data, chat_id)
    return read_file(folder, str(one["name"]), _FILE_BYTES)


def _read_kept(chat_id: str) -> Kept:
    return kernels.find_kept(state.workspace().settings.data, chat_id)


def _describe_end(run: CellRun) -> str:
    """How a cell ended, and how long it took, as plain text."""
    errors = [str(one["name"]) for one in run.cell.outputs if one["kind"] == "error"]
    states = [*errors[-1:], STATES.get(run.cell.status, "")]
    return " · ".join([*filter(None, states[:1]), figures.seconds(run.seconds)])


def _why(reason: str) -> str:
    """Why a kernel is gone, in words; a newer version may know more reasons."""
    return ENDS.get(reason, "it is gone")

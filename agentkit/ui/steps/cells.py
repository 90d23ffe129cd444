"""Cells of a chat's kernel: as steps, with what they put out as it comes, and what of it people
came for, which stands above the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from agentkit.coding.bubblewrap import Limits
from agentkit.coding.chat_kernel.kept import Kept
from agentkit.coding.chat_kernel.made_files import read_file
from agentkit.errors import NotFound
from agentkit.events import CodeBegan, CodeOutput, CodeRan
from agentkit.teams.cells import join_texts
from agentkit.ui.shared import state
from agentkit.ui.steps import tools
from agentkit.ui.steps.kind import Kind
from agentkit.ui.steps.step import CellRun, Level, Said, Step, Steps
from agentkit.ui.text import figures, markdown
from agentkit.ui.text.listing import draw_runnable, draw_text, named
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
    "restarted": "the app was started again",
}
"""Why a kernel is gone."""
_SHOWN = ("picture", "table", "chart")
_LATEST = 8
"""Results that stand above an answer at once; what came before them is folded."""
_LIVE_CHARACTERS = 4_000
_TITLE = re.compile(r"title\(\s*[rf]?([\"'])(.{1,200}?)\1")
_FILE_BYTES = 200 << 20


class Began(Kind[CodeBegan]):
    """A cell begins to run."""

    def enter(self, event: CodeBegan, seq: int, steps: Steps) -> None:
        """Show it, until it has run."""
        steps.put(event.cell_id, CellRun(event))


class Output(Kind[CodeOutput]):
    """A piece of what it puts out."""

    def enter(self, event: CodeOutput, seq: int, steps: Steps) -> None:
        """Put it to its cell."""
        running = steps.shown.get(event.cell_id)
        if isinstance(running, CellRun):
            outputs = (*running.outputs, event.output)
            steps.put(event.cell_id, replace(running, outputs=outputs))


class Running(Kind[CellRun]):
    """A cell that runs."""

    def draw(self, step: CellRun, level: Level) -> None:
        """The code to unfold, and the end of what it has printed so far."""
        label = f"Running {named(step.began.language)}"
        key = f"running-{step.began.cell_id}"
        with st.expander(label, type="compact", icon=":material/terminal:", key=key):
            draw_runnable(step.began.code, step.began.language)
        printed = "".join(str(one["text"]) for one in step.outputs if one["kind"] == "text")
        if printed.strip():
            draw_text(printed[-_LIVE_CHARACTERS:].strip("\n"))

    def doing(self, step: CellRun) -> str:
        """That it runs."""
        return f"Running {named(step.began.language)}"


class Ran(tools.Code):
    """A block of code ran, in a kernel or elsewhere."""

    def enter(self, event: CodeRan, seq: int, steps: Steps) -> None:
        """Show it, in the place of the running cell."""
        super().enter(event, seq, steps)
        if event.cell:
            steps.put(event.cell.id, steps.shown.pop(f"step {seq}"))

    def draw(self, step: CodeRan, level: Level) -> None:
        """To unfold: the code, and all that it put out."""
        if step.cell is None:
            super().draw(step, level)
            return
        label = f"Ran {named(step.language)} · {_describe_end(step)}"
        icon = ":material/terminal:" if step.cell.status == "ok" else ":material/error:"
        key = f"cell-{step.cell.id}"
        folded = st.expander(label, type="compact", icon=icon, key=key, on_change="rerun")
        if folded.open:
            with folded:
                _draw_cell(step, key)


def draw_results(steps: Iterable[Step], key: str) -> None:
    """What people came for, whatever they want to see of the steps: pictures, tables, charts and
    files, and that a kernel has ended.
    """
    ran = [step for step in steps if _has_results(step)]
    shown = [(step, one) for step in ran for one in _outputs(step) if one["kind"] in _SHOWN]
    earlier, latest = shown[:-_LATEST], shown[-_LATEST:]
    with st.container(key=f"results-{key}"):
        if earlier:
            label = f"{figures.count(len(earlier), 'earlier result')}"
            folded = st.expander(label, type="compact", key=f"earlier-{key}", on_change="rerun")
            if folded.open:
                with folded:
                    _draw_each(earlier, f"earlier-{key}")
        _draw_each(latest, key, len(earlier))
        _draw_files(ran, key)
        for step in ran:
            _draw_left_out(step)


def describe_again(question: Said | None) -> str:
    """The words for a question that only asks for cells to be run again; empty for others."""
    count = question.extra.get(kernels.AGAIN) if question else None
    if not count:
        return ""
    return f":material/replay: Run the cells again ({figures.count(int(count), 'cell')})"


def draw_again(question: Said | None, ran: Sequence[Step]) -> None:
    """What came of running cells again, which has no words of an agent."""
    wanted = int(question.extra.get(kernels.AGAIN) or 0) if question else 0
    done = [step for step in ran if isinstance(step, CodeRan) and step.cell]
    failed = next((step for step in done if step.exit_code), None)
    if failed:
        where = f"Cell {len(done)} of {wanted}"
        why = markdown.literal(_describe_end(failed))
        st.warning(f"{where} did not go well: {why}. The cells after it were not run.")
    elif wanted and len(done) == wanted:
        st.caption(f":material/check: {figures.count(wanted, 'cell')} ran again.")


def _has_results(step: Step) -> bool:
    return isinstance(step, CellRun) or (isinstance(step, CodeRan) and step.cell is not None)


def _outputs(step: Step) -> Sequence[Told]:
    """What a cell has put out; of one that failed nothing, as the next one does it better."""
    if isinstance(step, CellRun):
        return step.outputs
    cell = step.cell if isinstance(step, CodeRan) else None
    return cell.outputs if cell and cell.status != "error" else ()


def _code_of(step: Step) -> tuple[str, str]:
    """The chat and the code of a cell."""
    if isinstance(step, CellRun):
        return step.began.chat_id, step.began.code
    assert isinstance(step, CodeRan)
    return (step.cell.chat_id if step.cell else ""), step.code


def _draw_each(shown: Sequence[tuple[Step, Told]], key: str, first: int = 0) -> None:
    for number, (step, one) in enumerate(shown, start=first):
        _draw_output(one, *_code_of(step), f"{key}-{number}")


def _draw_cell(ran: CodeRan, key: str) -> None:
    assert ran.cell is not None
    if ran.cell.began_after:
        st.caption(f":material/restart_alt: In a new kernel: {_why(ran.cell.began_after)}.")
    draw_runnable(ran.code, ran.language)
    st.caption("Output")
    for number, one in enumerate(join_texts(ran.cell.outputs)):
        _draw_output(one, ran.cell.chat_id, ran.code, f"{key}-{number}")
    if not ran.cell.outputs:
        st.caption("There was none.")
    _draw_files([ran], key)


def _draw_output(one: Told, chat_id: str, code: str, key: str) -> None:
    """One output, whatever its kind; of what is not there any more, that."""
    draw = _DRAW.get(one["kind"])
    if draw is None:  # of a newer version
        return
    try:
        draw(one, chat_id, code, key)
    except NotFound as error:
        st.caption(markdown.literal(str(error)))


def _draw_text_output(one: Told, chat_id: str, code: str, key: str) -> None:
    if one["text"].strip():
        draw_text(one["text"].strip("\n"))
    if "tail" not in one:
        return
    st.caption(f"… {figures.count(int(one['characters']), 'character')} in all; the end:")
    draw_text(one["tail"].strip("\n"))
    if "kept" in one:
        file = {"name": "output.txt", "bytes": one["characters"], "kept": one["kept"]}
        _draw_file(file, chat_id, f"text-{key}")


def _draw_error(one: Told, chat_id: str, code: str, key: str) -> None:
    draw_text(one["traceback"] or f"{one['name']}: {one['message']}")


def _draw_picture(one: Told, chat_id: str, code: str, key: str) -> None:
    path = _kept(chat_id).path(one["kept"])
    if not path.is_file():
        raise NotFound("The picture is not there any more.")
    st.image(str(path), alt=describe_picture(code))


def _draw_table(one: Told, chat_id: str, code: str, key: str) -> None:
    import pandas as pd

    content = _kept(chat_id).content(one)
    columns = _name_apart(content["columns"])
    rows, wide = int(one["total_rows"]), int(one["total_columns"])
    size = f"{figures.count(rows, 'row')}, {figures.count(wide, 'column')}"
    frame = pd.DataFrame(content["rows"], columns=columns)
    st.dataframe(frame, hide_index=True, alt=f"Table of {size}", key=f"table-{key}")
    if rows > len(frame) or wide > len(columns):
        shown = f"The first {figures.count(len(frame), 'row')} and {len(columns)} columns"
        st.caption(f"{shown} of {size}.")


def _draw_chart(one: Told, chat_id: str, code: str, key: str) -> None:
    spec = _kept(chat_id).content(one)["spec"]
    st.vega_lite_chart(spec=spec, alt=describe_chart(spec), key=f"chart-{key}")


def _draw_left(one: Told, chat_id: str, code: str, key: str) -> None:
    unit = "character" if one["what"] == "text" else "byte"
    size = f" ({figures.count(int(one['count']), unit)})" if one["count"] else ""
    what, why = markdown.literal(str(one["what"])), markdown.literal(str(one["why"]))
    st.caption(f":material/content_cut: {what.capitalize()} left out{size}: {why}.")


_DRAW = {
    "text": _draw_text_output,
    "error": _draw_error,
    "picture": _draw_picture,
    "table": _draw_table,
    "chart": _draw_chart,
    "left_out": _draw_left,
}
"""What draws an output, by its kind."""


def _draw_left_out(step: Step) -> None:
    """What a cell did that its person should know of, whatever they want to see of the steps."""
    if not isinstance(step, CodeRan) or step.cell is None:
        return
    for one in step.cell.outputs:
        if one["kind"] == "left_out":
            _draw_left(one, "", "", "")
    if step.cell.status == "timeout":
        limit = f"{_LIMITS.seconds:g} s"
        st.caption(
            f":material/timer_off: A cell was interrupted after {limit}; variables are kept."
        )
    if step.cell.ended:
        gone = "What it had in its variables is gone"
        st.warning(f"The kernel ended: {_why(step.cell.ended)}. {gone}.", icon=":material/memory:")


def _draw_files(ran: Sequence[Step], key: str) -> None:
    """A button for each file that the cells made, in its latest state."""
    files: dict[str, tuple[str, Told]] = {}
    for step in ran:
        if isinstance(step, CodeRan) and step.cell:
            files |= {one["name"]: (step.cell.chat_id, one) for one in step.cell.files}
    if not files:
        return
    with st.container(horizontal=True, gap="small"):
        for number, (chat_id, one) in enumerate(files.values()):
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
        return _kept(chat_id).read(one["kept"])
    folder = kernels.work_of(state.workspace().settings.data, chat_id)
    return read_file(folder, str(one["name"]), _FILE_BYTES)


def _kept(chat_id: str) -> Kept:
    return kernels.kept_of(state.workspace().settings.data, chat_id)


def _describe_end(ran: CodeRan) -> str:
    """How a cell ended, and how long it took, as plain text."""
    assert ran.cell is not None
    errors = [str(one["name"]) for one in ran.cell.outputs if one["kind"] == "error"]
    states = {
        "error": errors[-1] if errors else "failed",
        "timeout": "interrupted",
        "stopped": "stopped",
        "died": "the kernel ended",
    }
    told = [states.get(ran.cell.status, ""), figures.seconds(ran.seconds)]
    return " · ".join(part for part in told if part)


def _why(reason: str) -> str:
    """Why a kernel is gone, in words; a newer version may know more reasons."""
    return ENDS.get(reason, "it is gone")


def describe_picture(code: str) -> str:
    """What a picture shows, for those who do not see it, as far as its code says."""
    titles = [found[2] for found in _TITLE.finditer(code)]
    return f"Plot: {'; '.join(titles)}" if titles else "A picture that the code made"


def describe_chart(spec: Mapping[str, Any]) -> str:
    """What a chart shows, for those who do not see it."""
    title = spec.get("title")
    text = title.get("text") if isinstance(title, Mapping) else title
    mark, encoding = spec.get("mark"), spec.get("encoding")
    kind = mark.get("type") if isinstance(mark, Mapping) else mark
    channels = encoding.values() if isinstance(encoding, Mapping) else ()
    fields = [str(one["field"]) for one in channels if isinstance(one, Mapping) and "field" in one]
    of = f" of {', '.join(fields)}" if fields else ""
    told = f"{kind.capitalize()} chart{of}" if isinstance(kind, str) else "A chart"
    return f"{text}: {told}" if isinstance(text, str) else told


def _name_apart(columns: Sequence[str]) -> list[str]:
    """The names of columns, each once: a table is drawn by them."""
    named_apart: list[str] = []
    for name in columns:
        count = sum(one == name or one.startswith(f"{name} (") for one in named_apart)
        named_apart.append(f"{name} ({count + 1})" if name in named_apart else name or " ")
    return named_apart

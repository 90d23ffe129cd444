"""What is looked up in documents, and how they are taken in."""

from __future__ import annotations

from agentkit.events import DocumentDone, DocumentProgress, EmbedderAwaited, Retrieved
from agentkit.teams.drafts import EARLIER
from agentkit.ui.steps import wording
from agentkit.ui.steps.kind import Kind, Remark
from agentkit.ui.steps.step import Steps
from agentkit.ui.text import figures, markdown


class Search(Remark[Retrieved]):
    """Passages were looked up."""

    def enter(self, event: Retrieved, seq: int, steps: Steps) -> None:
        """Show it, unless the call of a tool or the step of a plan that made it says the same."""
        steps.keep_hits(event.hits)
        plan = steps.find_plan()
        if not steps.in_call and not (plan and plan.runs):
            super().enter(event, seq, steps)

    def line(self, step: Retrieved) -> str:
        """What was looked for, how much was found, and how long it took."""
        found = figures.count(len(step.hits), "passage")
        if step.mode == EARLIER:
            return f":material/history: Goes on with what had been found before: {found}"
        looked = "Looked for exactly" if step.mode == "exact" else "Looked up"
        short = step.seconds < 0.1
        took = figures.milliseconds(step.seconds) if short else figures.seconds(step.seconds)
        query = markdown.literal(step.query)
        about = f"{found}, {took}{_describe_left_out(step)}{_away(step)}"
        return f":material/search: {looked} “{query}”: {about}"


class Awaited(Remark[EmbedderAwaited]):
    """A look-up waits for its embedding model."""

    def line(self, step: EmbedderAwaited) -> str:
        """Which."""
        return f":material/hourglass_top: Waited for {markdown.literal(step.embedder)} to be ready"

    def describe_doing(self, step: EmbedderAwaited) -> str:
        """That it may take long, and why."""
        return wording.DOING["prepares"]

    def is_small_print(self, step: EmbedderAwaited) -> bool:
        """It is, once it is over."""
        return True


class Progress(Kind[DocumentProgress]):
    """A document moves on."""

    def enter(self, event: DocumentProgress, seq: int, steps: Steps) -> None:
        """Show it in the place of its stages before."""
        steps.put(event.document_id, event)

    def line(self, step: DocumentProgress) -> str:
        """Its stage, and how much of it is done."""
        share = f", {step.done / step.total:.0%}" if step.total else ""
        doing = wording.STAGES.get(step.stage, "being taken in")
        return f":material/attach_file: {markdown.literal(step.document)} is {doing}{share}"

    def describe_doing(self, step: DocumentProgress) -> str:
        """Which is read."""
        return f"Reading {step.document}"


class Done(Kind[DocumentDone]):
    """A document's ingest ended."""

    def enter(self, event: DocumentDone, seq: int, steps: Steps) -> None:
        """Show it in the place of its stages."""
        steps.put(event.document_id, event)

    def line(self, step: DocumentDone) -> str:
        """What came of it."""
        name = markdown.literal(step.document)
        if step.status in ("failed", "stopped"):
            return f":material/error: {name} was not taken in. {markdown.literal(step.error)}"
        chunks = figures.count(step.chunks, "chunk")
        return f":material/attach_file: {name}: {chunks}, {figures.seconds(step.seconds)}"

    def describe_doing(self, step: DocumentDone) -> str:
        """What comes next."""
        return wording.DOING["searches"]


def _describe_left_out(event: Retrieved) -> str:
    weak, alike = event.left_out.get("weak", 0), event.left_out.get("duplicate", 0)
    parts = [f"{figures.count(weak)} weak"] * bool(weak)
    parts += [figures.count(alike, "duplicate")] * bool(alike)
    if parts:
        return f"; {' and '.join(parts)} left out"
    return ""


def _away(event: Retrieved) -> str:
    if event.fallback is None:
        return ""
    return f"; by words alone, as {markdown.literal(event.fallback.embedder)} is out of reach"

"""One data folder, opened: the store, the ledger, the library and the models, and what is done with
them.

The app, the command line and the tests work through this; each question or ingest is a `Run`.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, Unpack

from agentkit import private, runs
from agentkit.core import bus
from agentkit.core.text import shorten
from agentkit.database import Database
from agentkit.errors import AgentkitError, ConfigError
from agentkit.ledger import Chat, Ledger, RunKey, StoredMessage, queries
from agentkit.ledger.bill.forecasts import find_forecast
from agentkit.ledger.evaluations.results import KIND as EVALUATION
from agentkit.ledger.evaluations.results import Evaluations
from agentkit.ledger.figures import Figures
from agentkit.ledger.kept_teams import KeptTeams
from agentkit.ledger.prompts import Prompts
from agentkit.ledger.usage.saved_queries import SavedQueries
from agentkit.llm import Model
from agentkit.llm.calls.limits import Limit, Used, limited
from agentkit.llm.calls.pictures import showing
from agentkit.llm.calls.wishes import wished
from agentkit.llm.tokens.counting import count_text
from agentkit.retrieval import (
    Collection,
    Embedder,
    Library,
    MiniLMEmbedder,
)
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams import Answer, Question, Task, built
from agentkit.teams.allowed import AllowedTools
from agentkit.teams.own_tools import load_tools
from agentkit.teams.question import Facts, Whom
from agentkit.teams.repeating import Repeat
from agentkit.workspace import (
    chat_settings,
    deleting,
    intake,
    kernels,
    offers,
    pictures,
    repeating,
    resuming,
)
from agentkit.workspace.again import find_begun, find_earlier, find_writer
from agentkit.workspace.answering import (
    Asking,
    estimate_look_up,
    find_places,
    look_elsewhere,
    make_lookups,
    make_wishes,
    say_question,
    sum_usage,
    to_history,
    work_on,
)
from agentkit.workspace.counting import Counting
from agentkit.workspace.document_runs import DocumentRuns
from agentkit.workspace.interrupted import interrupt
from agentkit.workspace.measuring import Measuring
from agentkit.workspace.otlp import SpanSender
from agentkit.workspace.recorders import is_recorded
from agentkit.workspace.sessions import Sessions
from agentkit.workspace.sharing.sharing import Sharing

DEFAULT_COLLECTION = "Documents"
TITLE = 60
T = TypeVar("T")
log = logging.getLogger(__name__)


class Workspace(DocumentRuns, Counting, Measuring):
    """Open one per process and share it; close it at the end."""

    def __init__(self, settings: Settings, embedder: Embedder | None = None) -> None:
        self.settings = settings
        self._asking = threading.Lock()
        private.take(settings.data)
        self.database = Database(settings.database)
        self.ledger = Ledger(self.database)
        self.begin_counting()
        self.begin_measuring()
        self.figures = Figures(self.ledger)
        self.spans = SpanSender(self.ledger, settings)
        self.saved_queries = SavedQueries(self.database)
        self.sharing = Sharing(settings.data, self.ledger)
        self.prompts = Prompts(self.ledger)
        self.kept_teams = KeptTeams(self.database)
        self.evaluations = Evaluations(self.ledger)
        self.sessions = Sessions(self.ledger)
        self.embedder: Embedder = embedder or MiniLMEmbedder(settings.models)
        self.library = Library(
            self.database, settings, *offers.build_offers(settings, self.embedder)
        )
        self.database.refuse_newer()
        self._broke_off: list[RunKey] = []
        self.recorded: list[str] = []
        """Ids of runs that went on before the folder was opened, as other programs record them."""
        for run in self.ledger.open_runs():
            self._receive(run)
        self.library.interrupt_orphans()
        pictures.remove_old(settings.data)

    def _receive(self, run: RunKey) -> None:
        """Mark a run that was open as what it is."""
        if is_recorded(self.settings.data, run.id):
            self.recorded.append(run.id)
            return
        self._broke_off.append(run)
        if resuming.is_waiting(self.ledger, run):
            self.ledger.interrupt(run.id, "waiting")
        else:
            interrupt(self.ledger, run.id, self.team)

    def with_settings(self, settings: Settings) -> Workspace:
        """This workspace under another's limits and with their models and tools.

        The data folder stays the same; only this one is to be closed.
        """
        theirs = replace(settings, data=self.settings.data)
        if theirs == self.settings:
            return self
        other = copy.copy(self)
        other.settings = theirs
        other.library = self.library.with_settings(
            theirs, *offers.build_offers(theirs, self.embedder)
        )
        return other

    def adopt(self, settings: Settings) -> None:
        """Work under these settings from the next question or document on, in the same folder."""
        theirs = replace(settings, data=self.settings.data)
        self.library = self.library.with_settings(
            theirs, *offers.build_offers(theirs, self.embedder)
        )
        self.settings = theirs

    @property
    def serving(self) -> int:
        """How many calls of other processes are at work here; closing may wait for them."""
        return 0

    def close(self) -> None:
        """Write the indexes and close the database; runs that go on end first.

        Answers can be gone on with after the next start, and what waits for a person waits on;
        evaluations are interrupted.
        """
        for run in runs.live(self.settings.owner):
            run.leave() if run.kind in ("chat", EVALUATION) else run.stop()
            run.wait(10)
        kernels.remove(self.settings.data)
        self.end_counting()
        self.spans.close()
        try:
            self.library.close()
        finally:
            self.database.close()

    def warm(self) -> None:
        """Load now, in the background, what the first question needs: the embedding model and the
        table of tokens.
        """
        self.library.warm()
        count_text("", self.model().name)

    def ask(
        self,
        owner: str,
        question: Question | str,
        *,
        team: built.TeamDocument | Mapping[str, Any] | None = None,
        **facts: Unpack[Facts],
    ) -> Run[Answer]:
        """Ask a team, in a new chat or in one that is there; the run's `chat_id` says which.

        What a question consists of, its fields say; those of one that is given as a text, and
        those that change, can be given by name. Attachments are taken in first. Raises NotFound,
        ConfigError and WrongArgument at once.

        One that is asked `again` gets a branch beside the first one, with other words if it has a
        text. It has the files that went along then, is narrowed as it was, and looks into the same
        collection, whatever the chat has come to since. With `go_on` its answer begins with what
        there is of the first one, and with what the agents had found and said for it; the same
        team's writer goes on then.

        A `team` given as a document is kept first, where it is not yet, so that the chat can tell
        later who answered.
        """
        if team is not None:
            facts["team_id"] = self.team_shelf.keep(owner, team).key
        given = Question(question) if isinstance(question, str) else question
        asked = replace(given, **facts)
        model, limits = self.model(asked.model_id), self._limits(asked.max_tokens)
        with (
            self._asking
        ):  # of two questions to one chat at the same moment, one must see the other
            if asked.chat_id and runs.live(owner, chat_id=asked.chat_id):
                raise ConfigError(
                    "This chat is still answering; stop it or wait for the end before you ask on."
                )
            asking = (self._once_more if asked.again else self._first)(owner, asked, model)
            return self._answer(asking, model, limits)

    def ask_again(
        self, owner: str, chat_id: str, question_id: str, **facts: Unpack[Whom]
    ) -> Run[Answer]:
        """Ask a question of a chat once more, as `ask` does with one that is asked `again`."""
        return self.ask(owner, Question("", chat_id=chat_id, again=question_id), **facts)

    def resume(self, owner: str, run_id: str) -> Run[Answer]:
        """Go on with an answer that broke off when its process ended, from its last complete step.

        What was completed is neither done nor paid for again. The run's messages take the place of
        those of the other. Raises NotFound, and ConfigError for what cannot be gone on with.
        """
        broken = resuming.find_broken_off(self.ledger, owner, run_id)
        chat_id = broken.run.chat_id
        model, limits = self.model(broken.question.model_id), self._limits(None)
        with self._asking:
            if runs.live(owner, chat_id=chat_id):
                raise ConfigError("This chat is answering already; wait for the end.")
            asking = self._once_more(owner, broken.question, model)
            asking = replace(asking, goes_on_with=broken, kernel=broken.kernel)
            return self._answer(asking, model, limits)

    def run_again(self, owner: str, repeat: Repeat, **facts: Unpack[Whom]) -> Run[Answer]:
        """Run a finished answer again from one of its steps, as an answer beside it.

        Before that step all is served from the first one, at no cost; from there on it is done
        anew, with the model and settings in `facts`, and what may change something is asked about.
        Raises NotFound, ConfigError; the run fails with ReplayDiffers for a difference before it.
        """
        finished = repeating.find_finished(self.ledger, owner, repeat.run_id)
        return self.ask(owner, repeating.ask_again(finished, repeat), **facts)

    def wait_on(self, owner: str, chat_id: str = "") -> list[Run[Answer]]:
        """Let what waited for a person when its process ended wait on, in one chat or in all."""
        return self._resume_all(queries.list_waiting_runs(self.ledger, owner, chat_id), owner)

    def resume_left(self) -> list[Run[Answer]]:
        """Go on with what waited for a person when the app was closed and, if the settings say so,
        once with each answer that broke off then.
        """
        owner = self.settings.owner
        broke_off = [one.id for one in self._broke_off if self._may_resume(one)]
        return [*self.wait_on(owner), *self._resume_all(broke_off, owner)]

    def _resume_all(self, run_ids: Sequence[str], owner: str) -> list[Run[Answer]]:
        begun: list[Run[Answer]] = []
        for run_id in run_ids:
            try:
                begun.append(self.resume(owner, run_id))
            except AgentkitError as error:  # the chat says how it stands, and what can be done
                log.warning("the run %s was not gone on with: %s", run_id, error)
                self.ledger.interrupt(run_id)
        return begun

    def _may_resume(self, run: RunKey) -> bool:
        """Whether a run is gone on with unasked: never a second time."""
        if not self.settings.resume or run.owner != self.settings.owner:
            return False
        state = queries.run_state(self.ledger, run.owner, run.id).state
        return state == "interrupted" and not resuming.is_second_time(self.ledger, run)

    def _first(self, owner: str, question: Question, model: Model) -> Asking:
        if not question.text.strip():
            raise ConfigError("The question is empty; type what you want to know.")
        chosen = self.team(owner, question.team_id)
        if chosen.calls_tools:
            load_tools(self.settings.tools)
        for name in question.collections:
            self.library.collection(owner, name)
        chat_id, parent_id = question.chat_id, question.parent_id
        thread: list[StoredMessage] = []
        if chat_id and parent_id != "":
            thread = self.sessions.of(owner, chat_id).thread(parent_id)
        pictures.check(self.settings.data, question.pictures)
        chat = self._chat(owner, question, model)
        question = pictures.keep(self.settings.data, chat.id, question)
        attach = partial(intake.attach, self.library, chat, question, question.attachments)
        return Asking(chat, question, chosen, chosen.work, thread, attach, {})

    def _once_more(self, owner: str, question: Question, model: Model) -> Asking:
        chat = self.ledger.chat(owner, question.chat_id or "")
        *thread, said = self.sessions.of(owner, chat.id).thread(question.again)
        again = find_earlier(self.library, said, chat, intake.attachment_collection(chat.id))
        first, chosen = again.question, self.team(owner, question.team_id)
        work: Callable[[Task], Answer] = chosen.work
        text = ""
        if question.go_on:
            from agentkit.teams import continuing  # loads how answers are made

            chosen, writer = find_writer(partial(self.team, owner), first, chat.team)
            found = find_begun(self.ledger, owner, said)
            work, text = partial(continuing.go_on, begun=found, agent=writer), found.text
        asked = replace(
            question,
            text=question.text if question.text.strip() else first.text,
            collection=first.collection,
            team_id=chosen.id,
            attachments=first.attachments,
            keep_attachments=first.keep_attachments,
            pictures=first.pictures,
            also=first.also,
            instructions=first.instructions,
            parameters=first.parameters,
            scope=first.scope,
            whole=first.whole,
            human_input=question.human_input or first.human_input,
            planning=question.planning or first.planning,
        )
        attach = partial(intake.attach_again, self.library, chat, again)
        facts = {"missing": list(again.missing), "begun": text}
        kernel = None
        if question.repeat:
            kernel = str(said.extra.get(resuming.KERNEL, ""))
        return Asking(chat, asked, chosen, work, thread, attach, facts, kernel=kernel)

    def _answer(self, asking: Asking, model: Model, limits: tuple[Limit, Limit]) -> Run[Answer]:
        """The run that says the question and answers it; `limits` are of the run and of the
        chat.
        """
        chat, question, chosen, thread = asking.chat, asking.question, asking.team, asking.thread
        owner, searched = chat.owner, self.library.collection(chat.owner, question.collection)
        ids = [self.library.collection(owner, name).id for name in question.also]
        also = {"also_ids": ids} if ids else {}
        tools = load_tools(self.settings.tools) if chosen.calls_tools else ()
        before = Used() if limits[1] == Limit() else sum_usage(self.ledger, chat)
        near = self.embedder.embed if self._is_at_hand(searched) else None
        broken, kept = asking.goes_on_with, self.sessions.of(owner, chat.id)
        recording = repeating.find_recording(self.ledger, owner, question, broken, model.name)

        def work() -> Answer:
            run = runs.current()
            assert run is not None  # started below
            run.answer_s = self.settings.answer_s
            cells = kernels.cells_of(self.settings.data, self.ledger, owner, chat, thread)
            cells.told = asking.kernel
            facts = {"collection_id": searched.id, **also, **asking.facts}
            if expected := find_forecast(self.ledger, owner, question.team_id, model.id):
                facts["forecast"] = expected.to_json()
            if chosen.calls_tools and (state := cells.describe()):
                facts[resuming.KERNEL] = state
            asked = say_question(question, thread, facts)
            look_up, find, documents = make_lookups(self.library, chat, question)
            task = Task(
                question,
                model,
                look_up,
                to_history(thread),
                run.message_id,
                asked,
                find,
                documents,
                tools,
                AllowedTools(self.settings.data),
                kept.read_shortened(thread),
                near,
                whole=find_places(thread, question.whole),
                earlier=kept.earlier(thread, chosen.kind),
                cells=cells,
                session=kept.agents,
                look_up_tokens=estimate_look_up(self.library, searched, question),
                models=self.model,
                look_ups=partial(look_elsewhere, self.library, owner),
            )
            wish = wished(make_wishes(self.ledger, owner, thread, task, chosen.agents))
            seen = showing(pictures.show(self.settings.data, self.ledger, asking, task))
            with limited(*limits, before), self._hold(run), wish, seen, bus.listening(task.hear):
                return work_on(asking, task, run, self.ledger, self.settings)

        return runs.start(
            work,
            kind="chat",
            title=shorten(question.text, TITLE),
            owner=owner,
            chat_id=chat.id,
            ledger=self.ledger,
            resumes=broken.run.id if broken else "",
            recording=recording,
            team=chosen.id,
        )

    def _is_at_hand(self, searched: Collection) -> bool:
        """Whether a search there uses our own model, so that it is loaded, here, and asks nobody
        else.
        """
        return self.embedder.provider == "local" and searched.embedder == self.embedder.name

    def delete_chat(self, owner: str, chat_id: str) -> None:
        """Remove a chat for good, with the documents that were attached to it alone; raises
        NotFound.
        """
        deleting.remove_chat(self.ledger, self.library, self.settings.data, owner, chat_id)
        self.sessions.forget(owner, chat_id)

    def discard_chats(self, owner: str, chat_ids: Sequence[str]) -> list[str]:
        """Delete chats, which can be brought back for a week and go for good then; returns the ids
        of those that were there.

        Their answers that are being written are stopped.
        """
        deleting.stop_answers(owner, chat_ids)
        return self.ledger.discard_chats(owner, chat_ids)

    def bring_back_chats(self, owner: str, chat_ids: Sequence[str]) -> list[str]:
        """Undo `discard_chats`; returns the ids of those that could be brought back."""
        return self.ledger.bring_back_chats(owner, chat_ids)

    def remove_discarded(self, before: datetime | None = None) -> int:
        """Remove for good what was discarded before then (UTC without zone), by default a week
        ago; returns how many chats that were.
        """
        return deleting.remove_discarded(self.ledger, self.library, self.settings.data, before)

    def _chat(self, owner: str, question: Question, model: Model) -> Chat:
        team_id, collection = question.team_id, question.collection
        if question.chat_id is not None:
            return self.ledger.update_chat(
                owner, question.chat_id, team=team_id, model=model.id, collection=collection
            )
        title = shorten(question.text, TITLE)
        chat = self.ledger.create_chat(owner, title, team_id, model.id, collection)
        settings = chat_settings.ChatSettings.of_question(question)
        if settings != chat_settings.UNSET:
            chat_settings.keep(self.ledger, owner, chat.id, settings)
        return chat

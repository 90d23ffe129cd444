"""The composer at the foot of a chat: what is asked, of whom, over which documents, with which
files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import filterfalse
from operator import attrgetter
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.documents import SUPPORTED
from agentkit.errors import AgentkitError, NotFound, StoreError
from agentkit.events import HumanInputRequested
from agentkit.ledger import Chat, queries
from agentkit.ledger.tree import has_message, is_shown
from agentkit.llm.calls.pictures import Picture
from agentkit.messages import new_id
from agentkit.retrieval import Source
from agentkit.runs import Run
from agentkit.teams import Question
from agentkit.ui.composer import (
    address,
    choices,
    context,
    link,
    mentions,
    narrowing,
    pictures,
    prompts,
    queue,
    requests,
    settings,
)
from agentkit.ui.shared import components, kept, state, uploads
from agentkit.ui.steps import wording
from agentkit.ui.text import markdown

_LONGEST_DRAFT = 100_000  # characters
_SLASH_KEY = "/"
_ASKED = "asked-last"
_TAKEN, _PUT, _SLASH = "taken-from-composer", "put-into-composer", "slash-in-composer"
_CUT_SHORT = ("stopped", "interrupted")
"""How a run ended after which nobody waits for what comes next."""
_NO_CHAT = "The chat was deleted in another tab. Try again, and it is asked in a new one."
_NO_QUESTION = (
    "What it was to stand beside was deleted in another tab. Try again, and it is asked at the end"
    " of the chat."
)
_ELSEWHERE = (
    "In another tab this chat has come to the branch that is shown now; what you saw was deleted or"
    " is another version. Try again, and it is asked here."
)


class _Asked:
    """What this session asked last, and of which chat."""

    chat_id: str | None = None
    """The chat that began last."""
    question: Question | None = None
    """As it stood on the page."""
    drawn: object = None
    """What the button was drawn with that asked last a text as if it had been typed."""


def _asked() -> _Asked:
    known: _Asked = st.session_state.setdefault(_ASKED, _Asked())
    return known


def send(question: Question) -> None:
    """Ask, or queue the question while the chat is still answering; a problem is kept for the page
    to show.

    What a button asks is asked once, however often it is clicked before the page is drawn anew.
    """
    asked = _asked()
    if asked.question is question:
        return
    asked.question = question
    chat_id = _ask_or_queue(question)
    if chat_id is None:
        return
    if question.chat_id is None:
        asked.chat_id = chat_id
        narrowing.follow(chat_id)
        choices.follow(chat_id)
    address.go_to(chat_id)


def _ask_or_queue(question: Question) -> str | None:
    """Gives the chat that answers now; None when none does."""
    owner, workspace, chat_id = state.owner(), state.workspace(), question.chat_id
    kept.put(chat_id, "not_asked", None)
    if chat_id and runs.live(owner, chat_id=chat_id):
        queue.put(question)
        return None
    try:
        if not question.again and question.collection not in choices.collections():
            workspace.library.create_collection(owner, question.collection)
        run = workspace.ask(owner, question)
    except AgentkitError as error:
        _tell_unasked(question, str(error))
        return None
    if question.again:  # the answer that was cut short is gone on with, and so is what waits for it
        queue.hold(chat_id, held=False)
    return run.chat_id


def ask(chat: Chat | None, text: str, drawn: object = None) -> None:
    """Ask a text as if it had been typed.

    `drawn` is made anew whenever the button that asks is drawn: what was drawn once asks once.
    """
    asked, question = _asked(), _write(chat, text, ())
    if drawn is not None and asked.drawn is drawn:
        return
    asked.drawn = drawn
    mentions.forget(question.chat_id)
    pictures.forget(question.chat_id)
    if chat and not runs.live(state.owner(), chat_id=chat.id) and _is_elsewhere(chat):
        _tell_unasked(question, _ELSEWHERE)
        return
    send(question)


def _is_elsewhere(chat: Chat) -> bool:
    """Whether the chat has come to a branch without what it ended with on the page; not so when it
    is gone, which is told when it is asked.
    """
    ledger, owner = state.workspace().ledger, state.owner()
    try:
        return not is_shown(ledger, owner, chat.id, chat.head_id)
    except NotFound:
        return False


def _tell_unasked(question: Question, problem: str) -> None:
    """Keep for the page what was not asked and why, so that it can be asked all the same: at the
    end of the chat if what it was to stand beside is gone, in a new chat if its own is.
    """
    ledger, owner, chat_id = state.workspace().ledger, state.owner(), question.chat_id
    try:
        chat = ledger.chat(owner, chat_id) if chat_id else None
    except NotFound:
        question, problem = replace(question, chat_id=None, again="", go_on=False), _NO_CHAT
        chat = None
    if chat and question.again and not has_message(ledger, owner, chat.id, question.again):
        now, problem = choices.choice(chat, choices.collections()), _NO_QUESTION
        whom = question.team_id, question.model_id
        question = replace(now, text=question.text, team_id=whom[0], model_id=whom[1])
    kept.put(question.chat_id, "not_asked", {**question.to_json(), "problem": problem})


def ask_prompt(chat: Chat | None, text: str) -> None:
    """Ask a text of the library; the `/` that opened it leaves the composer."""
    chat_id = chat.id if chat else None
    if kept.get(chat_id, "draft") == _SLASH_KEY:
        put_draft(chat_id, "")
    ask(chat, text)


def resume(run_id: str) -> None:
    """Go on with an answer that broke off, and then with what waits for it."""
    try:
        run = state.workspace().resume(state.owner(), run_id)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)))
        return
    queue.hold(run.chat_id, held=False)


def _read_stored(chat_id: str | None, stored: Mapping[str, Any]) -> Question:
    """A question that was kept in its chat; asked of who is chosen there, where whom it names is
    gone.
    """
    return choices.renew(replace(Question.from_json(stored), chat_id=chat_id))


def send_queued(chat: Chat) -> None:
    """Ask the first of what was typed while the chat was answering, once it has answered.

    When the person stopped that answer, or the app was closed in the middle of it, they say when.
    """
    owner = state.owner()
    is_free = not runs.live(owner, chat_id=chat.id)
    if not queue.read(chat.id) or not is_free:
        return
    queue.forget_heard(chat.id)
    waiting = [one for one in queue.read(chat.id) if not one.get("held")]
    if not waiting:
        return
    last = queries.last_state(state.workspace().ledger, owner, chat.id)
    if last in _CUT_SHORT:
        queue.hold(chat.id, held=True)
        return
    _ask_now(chat.id, waiting[0])


def draw_pending(chat_id: str | None) -> None:
    """What waits to be asked in this chat, and what could not be asked."""
    for queued in queue.read(chat_id):
        _draw_waiting(chat_id, queued)
    if not_asked := kept.get(chat_id, "not_asked"):
        text, problem = markdown.literal(not_asked["text"]), markdown.literal(not_asked["problem"])
        label = "Not sent" if not_asked.get("late") else "Not asked"
        st.error(f"**{label}:** {text}\n\n{problem}", icon=":material/error:")
        with st.container(horizontal=True, gap="small"):
            again = (_read_stored(chat_id, not_asked),)
            icon = ":material/refresh:"
            label = "Ask it next" if not_asked.get("late") else "Try again"
            st.button(label, key="send-again", icon=icon, on_click=send, args=again)
            st.button(
                "Forget it",
                key="forget-question",
                type="tertiary",
                icon=":material/close:",
                on_click=kept.put,
                args=(chat_id, "not_asked", None),
            )


def _draw_waiting(chat_id: str | None, queued: dict[str, Any]) -> None:
    if queued.get("said_to"):
        st.caption(f":material/campaign: Said now: {markdown.literal(queued['text'])}")
        return
    when = "Still to be asked" if queued.get("held") else "Asked after this answer"
    with st.container(horizontal=True, vertical_alignment="center"):
        text = f"{when}: {markdown.literal(queued['text'])}"
        st.caption(f":material/schedule: {text}", width="stretch")
        if queued.get("held"):
            st.button(
                "Ask now",
                key=f"ask-now-{queued['id']}",
                type="tertiary",
                icon=":material/send:",
                on_click=_ask_now,
                args=(chat_id, queued),
            )
        elif (run := _find_listening(chat_id)) and _is_words_alone(queued):
            st.button(
                "Say it now",
                key=f"say-now-{queued['id']}",
                type="tertiary",
                icon=":material/campaign:",
                help="The next of the agents at work hears it.",
                on_click=_say_now,
                args=(chat_id, run, queued),
            )
        st.button(
            "Take back",
            key=f"unqueue-{queued['id']}",
            type="tertiary",
            icon=":material/undo:",
            on_click=_take_back,
            args=(chat_id, queued),
        )


def _is_words_alone(queued: Mapping[str, Any]) -> bool:
    return not any(map(queued.get, ("attachments", "pictures")))


def draw_composer(
    chat: Chat | None,
    known: Mapping[str, int],
    run: Run[Any] | None,
    asked: HumanInputRequested | None,
) -> None:
    """The row of choices and the input, at the foot of the page.

    While a `run` answers, what is sent is asked next, unless there is something `asked` of the
    person: then it is the answer to that.
    """
    chat_id, most_mb = chat.id if chat else None, state.workspace().settings.max_file_mb
    now = choices.choice(chat, known)
    with st.bottom, st.container(gap="xsmall"):
        place = st.container()  # filled last: the dialog below says what stands there
        with st.container(horizontal=True, vertical_alignment="center"):
            choices.draw_choice(chat, known)
            narrowing.draw_button(chat_id, now.collection)
            mentions.draw_button(now)
            settings.draw_button(now, known)
            prompts.draw_button()
            st.toggle(
                "Keep attached files in the collection",
                key="keep-files",
                help="Off: files attached here are used in this chat only and are deleted with it. "
                "On: they are added to the collection, for all chats.",
            )
        with place:
            settings.draw_line(now, known)
            narrowing.draw_line(chat_id, now.collection)
            mentions.draw_line(chat_id)
            pictures.draw_line(now)
            if chat:
                choices.draw_gone(chat, now)
            else:
                link.draw_line()
        does = _does(run, asked)
        requests.draw_told(chat_id, run)
        if asked:  # said beside the input, too: it may hold a question that was begun before
            st.caption(f":material/keyboard_return: {markdown.literal(does)}")
        sent = st.chat_input(
            does,
            key="composer",
            accept_file="multiple",
            file_type=sorted(SUPPORTED | pictures.ENDINGS),
            max_upload_size=most_mb,
            on_submit=_submit,
            args=(chat, run, asked),
        )
        with st.container(horizontal=True, key="under", vertical_alignment="center"):
            context.draw_meter(chat, now)
            pictures.draw_button()
        if sent and not st.session_state.pop(_TAKEN, False):
            # A server that has just begun knows no callback of a page that was open before.
            _submit(chat, run, asked)
            st.rerun()


def _does(run: Run[Any] | None, asked: HumanInputRequested | None) -> str:
    """What Enter does, as plain text."""
    if asked:
        return f"Answer {wording.name_agent(asked.to or asked.agent)}"
    if run:
        return "Ask next, after this answer"
    return "Ask your documents, or attach files"


def _submit(chat: Chat | None, run: Run[Any] | None, asked: HumanInputRequested | None) -> None:
    value = _take()
    if not value or not (value.text.strip() or value.files):
        return
    documents = filterfalse(_is_looked_at, value.files)
    shown, problems = pictures.prepare(filter(_is_looked_at, value.files))
    try:
        files = tuple(uploads.to_disk(documents, state.workspace().settings))
    except StoreError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:", duration="infinite")
        return
    question = _write(chat, value.text, files, shown)
    kept.put(question.chat_id, "draft", None)
    requests.forget_told()
    if run and asked and not value.files:  # only questions come with files
        _answer(run, asked, question)
        return
    mentions.forget(question.chat_id)
    pictures.forget(question.chat_id)
    if problems:  # asked without them only if the person says so
        _tell_unasked(question, " ".join([*problems, "“Try again” asks without it."]))
        return
    if chat and run is None and _is_elsewhere(chat):
        _tell_unasked(question, _ELSEWHERE)
        return
    send(question)


def _take() -> Any:
    """What was sent, with its files."""
    st.session_state[_TAKEN] = True
    return st.session_state["composer"]


def _is_looked_at(file: uploads.Uploaded) -> bool:
    return pictures.is_picture(file.name)


def _write(
    chat: Chat | None, text: str, files: tuple[Source, ...], attached: Sequence[Picture] = ()
) -> Question:
    """The question as it stands in the composer, with the pictures that were chosen before."""
    now = choices.choice(chat, choices.collections())
    shown = (*pictures.read_chosen(now.chat_id), *attached)
    names = map(attrgetter("name"), (*files, *shown))
    return replace(
        now,
        text=text.strip() or f"What is in {', '.join(names)}?",
        pictures=shown,
        attachments=files,
        keep_attachments=bool(st.session_state.get("keep-files")),
        scope=mentions.narrow(now.chat_id, narrowing.read_scope(now.chat_id, now.collection)),
        whole=context.find_told_whole(now.chat_id),
    )


def _answer(run: Run[Any], asked: HumanInputRequested, said: Question) -> None:
    if not requests.answer(run, asked, said.text):  # what was written stays
        why = requests.tell_why_late(run, asked.request_id)
        kept.put(said.chat_id, "not_asked", {**said.to_json(), "problem": why, "late": True})


@st.fragment
def keep_draft(
    chat_id: str | None, on_slash: Callable[[], None], warm_up: Callable[[], None]
) -> None:
    """Keep what is being typed, and bring it back; to be drawn after the composer.

    A `/` in the empty composer calls `on_slash`. What answers are drawn with comes by `warm_up`:
    with an open chat, in a new one once something is typed.
    """

    def keep_typed(of: str, text: str) -> None:
        kept.put(of or None, "draft", text[:_LONGEST_DRAFT] or None)
        st.session_state.pop(_PUT, None)

    def slash() -> None:
        st.session_state[_SLASH] = True
        on_slash()

    draft = kept.get(chat_id, "draft") or ""
    components.draft(
        keep_typed,
        slash,
        chat_id or "",
        str(draft),
        begun=has_begun(chat_id),
        put=st.session_state.get(_PUT, ""),
    )
    if st.session_state.pop(_SLASH, False):
        st.rerun()
    if chat_id or draft:
        warm_up()


def put_draft(chat_id: str | None, text: str) -> None:
    """Let this stand in the composer, in place of what stands there."""
    kept.put(chat_id, "draft", text[:_LONGEST_DRAFT])
    st.session_state[_PUT] = new_id()


def has_begun(chat_id: str | None) -> bool:
    """Whether it is the chat that began last in this session."""
    return chat_id is not None and _asked().chat_id == chat_id


def _take_back(chat_id: str | None, queued: Mapping[str, object]) -> None:
    """What was written stands in the composer again, unless something else does."""
    if queue.take(chat_id, queued) and not kept.get(chat_id, "draft"):
        put_draft(chat_id, str(queued["text"]))


def _ask_now(chat_id: str, queued: dict[str, Any]) -> None:
    if queue.take(chat_id, queued):
        send(_read_stored(chat_id, queued))


def _find_listening(chat_id: str | None) -> Run[Any] | None:
    """The run of this chat whose agents hear what is said meanwhile."""
    if not chat_id:
        return None
    workspace, owner = state.workspace(), state.owner()
    run = next(iter(runs.live(owner, chat_id=chat_id)), None)
    if run is None:
        return None
    asked = state.find_team(workspace.ledger.chat(owner, chat_id).team)
    if asked and asked.hears:
        return run
    return None


def _say_now(chat_id: str, run: Run[Any], queued: Mapping[str, Any]) -> None:
    """Say it to the agents at work; it is asked next after all when they have just ended."""
    if queued not in queue.read(chat_id):  # taken back, or said: the button was clicked twice
        return
    try:
        run.say(str(queued["text"]))
    except NotFound:
        return
    queue.change(chat_id, lambda one: {**one, "said_to": run.id} if one == queued else one)

"""The pieces of our own JavaScript: how a chat's page behaves, what is typed, a marked passage.

They only ever create text nodes from what they are given, so nothing in a document or an answer becomes markup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import streamlit as st

from agentkit.ui.shared import page_script

Part = tuple[str, Literal["", "passage", "sentence"]]

_ONCE = """
// The browser calls a piece again for new data, and cleans up after the last of these calls alone.
let undo = () => {};
export default (given) => {
    undo();
    undo = start(given);
    return undo;
};
"""
"""Ends a piece of which a page has one, and which is a function `start` that gives what undoes it."""

_SIDEBAR = """
function start({ data }) {
    const chosen = '.st-key-new-chat button, [class*="st-key-chat-row-"] .stButton button, [data-testid="stSidebarNavLink"]';
    const clicked = (event) => {
        const target = event.target instanceof Element ? event.target.closest(chosen) : null;
        if (!target) return;
        const isHere = target.matches("a") && new URL(target.href).pathname === location.pathname;
        if (isHere && data.chat) {  // the open chat stays
            event.preventDefault();
            event.stopPropagation();
        }
        if (innerWidth < 768) {  // there, the sidebar covers the page
            const close = document.querySelector('[data-testid="stSidebarCollapseButton"] button');
            setTimeout(() => close?.click());
        }
    };
    document.addEventListener("click", clicked, true);
    return () => document.removeEventListener("click", clicked, true);
}
"""
_DRAFT = """
let chat = null, area = null, told = "", timer = 0;
let typedIn = null;  // the chat in the address when something was typed last: the box may still be that of another one

const box = () => document.querySelector('[data-testid="stChatInputTextArea"]');
const opened = () => new URLSearchParams(location.search).get("chat") ?? "";

function start({ data, setTriggerValue }) {
    const tell = () => {
        clearTimeout(timer);
        timer = 0;
        const text = box()?.value, of = typedIn ?? chat;
        if (of === null || text === undefined || text === told) return;
        told = text;
        setTriggerValue("draft", { chat: of, text });
    };
    const soon = () => {
        clearTimeout(timer);
        timer = setTimeout(tell, 500);
    };
    const write = (text) => {
        if (area.value === text) return;
        Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(area, text);
        area.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const take = (found) => {
        const isNew = found !== area;  // then what stands there was typed before this was on the page
        const goesOn = found?.value && (isNew || data.begun || typedIn === data.chat);
        if (timer && !isNew && !goesOn) tell();  // of the chat before
        chat = typedIn = data.chat;
        area = found;
        told = data.draft;
        if (goesOn) soon();
        else if (area) write(data.draft);
    };
    const show = (triesLeft) => {
        const found = box();
        if (!found && triesLeft) {
            waiting = setTimeout(() => show(triesLeft - 1), 100);
            return;
        }
        if (data.chat !== chat || found !== area) take(found);
        else if (!timer) told = data.draft;
    };
    const typed = (event) => {
        if (event.target !== box() || event.target.value === told) return;
        typedIn = opened();
        soon();
    };
    let waiting = 0;
    show(50);
    document.addEventListener("input", typed, true);
    document.addEventListener("visibilitychange", tell);
    return () => {
        clearTimeout(waiting);
        document.removeEventListener("input", typed, true);
        document.removeEventListener("visibilitychange", tell);
    };
}
"""
_SPOKEN = """
let chat = null, state = "";

export default function ({ data, parentElement }) {
    const spoken = parentElement.querySelector("[role=status]");
    const answer = () => {
        const answers = document.querySelectorAll('[class*="st-key-answer-"], [class*="st-key-with-table-"]');
        return answers.length ? answers[answers.length - 1].innerText : "";
    };
    const begins = chat !== data.chat && !data.begun;  // what stands there is read when one comes to it
    const before = begins ? data.state : state;
    chat = data.chat;
    state = data.state;
    if (before === state) return;
    spoken.textContent = state;
    if (!state) setTimeout(() => { spoken.textContent = answer() || data.ended; }, 300);  // when it is drawn
}
"""
_SPOKEN_HTML = '<div role="status" aria-live="polite"></div>'
_SPOKEN_CSS = "div { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }"
_LOOKED_AT = """
function start({ setTriggerValue }) {
    const looked = () => { if (!document.hidden) setTriggerValue("looked", Date.now()); };
    document.addEventListener("visibilitychange", looked);
    window.addEventListener("focus", looked);
    return () => {
        document.removeEventListener("visibilitychange", looked);
        window.removeEventListener("focus", looked);
    };
}
"""
_OUTAGE = """
let isOut = false;

function start({ data, setTriggerValue }) {
    const foreign = /Streamlit|yourscript/;
    const reword = (dialog) => {
        if (!foreign.test(dialog.textContent)) return;
        for (const block of dialog.querySelectorAll("pre")) {  // a command of no use here
            (block.closest('[data-testid="stErrorCodeBlock"]') ?? block).style.display = "none";
        }
        const texts = document.createTreeWalker(dialog, NodeFilter.SHOW_TEXT);
        let told = false;
        while (texts.nextNode()) {
            const text = texts.currentNode;
            if (text.parentElement.closest("pre")) continue;
            if (text.data === "Connection error") text.data = data.title;
            else if (foreign.test(text.data)) {
                text.data = told ? "" : data.text;
                told = true;
            }
        }
    };
    const look = () => {
        const dialogs = [...document.querySelectorAll('[role="dialog"]')];
        dialogs.forEach(reword);
        const wasOut = isOut;
        isOut = dialogs.some((dialog) => dialog.textContent.includes(data.title));
        if (wasOut && !isOut) setTriggerValue("back", Date.now());  // a new server knows nothing of what is on the page
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { childList: true, characterData: true, subtree: true });
    return () => observer.disconnect();
}
"""
_COPY = """
const copied = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");  // where the page did not come by https
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
};

export default function ({ data, parentElement }) {
    const button = parentElement.querySelector("button"), told = parentElement.querySelector("[role=status]");
    button.onclick = async () => {
        let said = "Copied";
        try { await copied(data.text); } catch { said = "Not copied: the browser does not allow it"; }
        told.textContent = said;
        setTimeout(() => { told.textContent = ""; }, 2000);
    };
}
"""
_COPY_HTML = """
<button type="button">
    <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M16 1H4a2 2 0 0 0-2 2v14h2V3h12zm3 4H8a2 2 0 0 0-2 2v14a2 2 0 0 0
    2 2h11a2 2 0 0 0 2-2V7a2 2 0 0 0-2-2zm0 16H8V7h11z"/></svg>Copy the answer
</button><span role="status"></span>
"""
_COPY_CSS = """
button {
    display: inline-flex; gap: 0.35rem; align-items: center; padding: 0.25rem 0; border: 0; background: none; cursor: pointer;
    font-family: var(--st-font); font-size: 0.875rem; color: var(--st-text-color); border-radius: var(--st-base-radius);
}
button:hover { color: var(--st-link-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
svg { width: 1rem; height: 1rem; fill: currentColor; }
span {
    margin-left: 0.5rem; vertical-align: 0.2rem;
    font-family: var(--st-font); font-size: 0.875rem; color: var(--st-text-color);
}
"""
_TEXT = """
export default function ({ data, parentElement }) {
    const block = parentElement.querySelector(".text");
    block.replaceChildren(...data.parts.map(([text, kind]) => {
        const part = document.createElement(kind ? "mark" : "span");
        part.className = kind;
        part.textContent = text;
        return part;
    }));
    const first = block.querySelector("mark.sentence") ?? block.querySelector("mark");
    if (first) block.scrollTop = Math.max(0, first.offsetTop - block.offsetTop - 48);
}
"""
_TEXT_HTML = '<div class="text" tabindex="0" role="region" aria-label="Text of the source, the passage marked"></div>'
_TEXT_CSS = """
.text {
    max-height: 14rem; overflow-y: auto; white-space: pre-wrap; overflow-wrap: anywhere; position: relative;
    font-family: var(--st-font); font-size: 0.9rem; line-height: 1.55; color: var(--st-text-color);
    padding: 0.75rem; border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius);
}
span { opacity: 0.75; }
mark { color: inherit; background: color-mix(in srgb, var(--st-primary-color) 16%, transparent); }
mark.sentence { background: color-mix(in srgb, var(--st-primary-color) 45%, transparent); font-weight: 600; }
"""

_UNSEEN = {
    "agentkit_draft": _DRAFT,
    "agentkit_looked_at": _LOOKED_AT,
    "agentkit_sidebar": _SIDEBAR,
    "agentkit_outage": _OUTAGE,
}
"""The pieces that draw nothing."""
_SEEN = {
    "agentkit_chat_page": (page_script.HTML, page_script.CSS, page_script.SCRIPT + _ONCE),
    "agentkit_spoken": (_SPOKEN_HTML, _SPOKEN_CSS, _SPOKEN),
    "agentkit_copy": (_COPY_HTML, _COPY_CSS, _COPY),
    "agentkit_marked_text": (_TEXT_HTML, _TEXT_CSS, _TEXT),
}
"""HTML, CSS and JavaScript of the others."""


def chat_page(on_open: Callable[[str], None], chat_id: str, *, answering: bool) -> None:
    """Put on the page once, last: links `#cite-MESSAGE-n` call `on_open("MESSAGE-n.k")`, and a growing answer stays in view.

    The link is the k-th of those with this address, from 0; a `?` behind the number, of a doubtful
    citation, is left out. A chat opens at its end. Whoever scrolls up while an answer is written is
    left alone, and offered a button back to the end. When a source opens or closes, or earlier
    messages are shown, the reader's line stays where it is; the source has the focus until the Close
    button or Esc gives it back.
    """

    def opened() -> None:
        if target := st.session_state["chat-page"].get("cite"):
            on_open(str(target))

    data = {"chat": chat_id, "answering": answering}
    _renderer("agentkit_chat_page")(key="chat-page", data=data, on_cite_change=opened)


def draft(
    on_typed: Callable[[str, str], None], chat_id: str, text: str, *, begun: bool
) -> None:
    """Put on the page once: what is typed calls `on_typed("CHAT", text)` half a second later.

    `text` is what had been typed in this chat; it is put into the box when the chat opens. What was
    typed there meanwhile stays: while the page was drawn, or while the chat has just `begun`.
    """

    def typed() -> None:
        if told := st.session_state["chat-draft"].get("draft"):
            on_typed(str(told["chat"]), str(told["text"]))

    data = {"chat": chat_id, "draft": text, "begun": begun}
    _renderer("agentkit_draft")(key="chat-draft", data=data, on_draft_change=typed)


def sidebar(chat_id: str) -> None:
    """Put on the page once: on a phone the sidebar closes after a choice.

    *Chat* in the navigation keeps the open chat.
    """
    _renderer("agentkit_sidebar")(key="sidebar", data={"chat": chat_id})


def spoken(chat_id: str, state: str, ended: str, *, begun: bool) -> None:
    """Put on the chat's page once: tells a screen reader each new `state`, and at its end the answer.

    `state` is empty while nothing goes on; `ended` is said when no answer stands there then. A chat
    that is opened is silent, unless it has just `begun`.
    """
    data = {"chat": chat_id, "state": state, "ended": ended, "begun": begun}
    _renderer("agentkit_spoken")(key="spoken", data=data)


def copy_button(text: str, key: str) -> None:
    """A button that puts an answer into the clipboard, as it is written: with its Markdown."""
    _renderer("agentkit_copy")(key=key, data={"text": text}, width="content")


def outage(title: str, text: str) -> None:
    """Put on every page: when the server is gone, the browser says this in place of Streamlit's words.

    When it is back, the page is drawn anew: else the first thing done there would be lost.
    """
    data = {"title": title, "text": text}
    _renderer("agentkit_outage")(key="outage", data=data, on_back_change=lambda: None)


def looked_at(key: str) -> None:
    """Put in a fragment: it runs whenever somebody comes back to the browser's tab."""
    _renderer("agentkit_looked_at")(key=key, on_looked_change=lambda: None)


def marked_text(parts: Sequence[Part], key: str) -> None:
    """Text as it stands, with the passage marked and the sentence in it marked more strongly."""
    _renderer("agentkit_marked_text")(key=key, data={"parts": [list(part) for part in parts]})


@cache
def _renderer(name: str) -> Any:
    if name in _UNSEEN:
        return st.components.v2.component(name, js=_UNSEEN[name] + _ONCE)
    html, css, js = _SEEN[name]
    return st.components.v2.component(name, html=html, css=css, js=js)

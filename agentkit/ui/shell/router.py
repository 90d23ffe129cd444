"""The script that Streamlit runs: navigation over the pages, and one place for errors that keep the whole app from working."""

from __future__ import annotations

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ui.shared import components, state
from agentkit.ui.shared.state import PAGES

_RULES = """
/* A wide table or formula scrolls in itself, not the page; the first column tells what a row is about and stays in sight. */
[data-testid="stMarkdownContainer"] table { display: block; overflow-x: auto; }
[data-testid="stMarkdownContainer"] .katex-display { overflow: auto hidden; }
[data-testid="stMarkdownContainer"] table :is(th, td):first-child {
    position: sticky; left: 0; z-index: 1; background: light-dark(%(light)s, %(dark)s);
    box-shadow: inset -1px 0 color-mix(in srgb, currentColor 20%%, transparent);
}
@media (max-width: 640px) {
    [data-testid="stMarkdownContainer"] table :is(th, td):first-child { max-width: 7.5rem; overflow-wrap: break-word; }
}
[class*="st-key-with-table-"] td:not(:first-child) { min-width: 9rem; }  /* dates and numbers of bills stay on one line */

/* The accent is made for white text on it: as text it is too dark on a dark page. Ground and border show what is chosen. */
button[data-rac][data-variant]:is([data-selected], :hover):not([data-disabled]),
button[kind="tertiary"]:is(:active, [aria-expanded="true"]), [role="tab"]:is(:hover, [aria-selected="true"]) { color: inherit; }
.stApp button:is([kind="secondary"], [kind="tertiary"]):is(:hover, :focus-visible):not(:active, :disabled, [aria-expanded="true"])
{
    color: light-dark(%(light_link)s, %(dark_link)s);
}

/* Code in a caption has the colour of the caption, which stands out from the page, not from a ground of its own. */
[data-testid="stCaptionContainer"] code { color: inherit; background: transparent; }

/* A doubtful marker is no citation: it has no accent, and a line of dots. */
[data-testid="stMarkdownContainer"] a[href^="#cite-"][href$="?"] {
    color: inherit; opacity: 0.75; text-decoration: underline dotted; text-underline-offset: 0.2em;
}

.st-key-warm-up { position: absolute; left: 0; height: 0; overflow: hidden; visibility: hidden; }  /* fonts are loaded, too */
.st-key-outage { position: absolute; left: 0; }  /* draws nothing, and takes no room at the top of a page or beside it */

/* Words for screen readers: what stands out of a chat in the list, which one a menu is for, a title that the page says. */
.st-key-head-unseen,
[class*="st-key-chat-menu-"] button [data-testid="stMarkdownContainer"], [class*="st-key-chat-row-"] button small {
    position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%%); white-space: nowrap;
}

/* What agents write under a heading of their own is no part of the page's. */
[data-testid="stExpanderDetails"] [data-testid="stMarkdownContainer"] :is(h1, h2, h3) { font-size: 1.1rem; padding: 0.25rem 0; }

/* What an answer took: a caption that unfolds. */
[class*="st-key-took-"] button { color: color-mix(in srgb, currentColor 65%%, transparent); }
[class*="st-key-took-"] button p { font-size: 0.875rem; }

/* Whether files are kept matters while some are attached. */
.stApp:not(:has([data-testid="stChatInput"] [data-testid="stFileChips"])) .st-key-keep-files { display: none; }

/* What is chosen above the input and the button beside it stay on one line; on a phone the choice is cut. */
@media (max-width: 640px) {
    .st-key-choice:has(~ .st-key-narrow) { flex-shrink: 1; max-width: calc(100%% - 5.5rem); }
    .stHorizontalBlock:has(> .st-key-choice) { row-gap: 0.25rem; }
}

/* A chat is one column in the middle; a turn with a table may be wider. A source moves it no further than it has to. */
:root { --source: min(28rem, 32vw); --column: 46rem; --moved: 0rem; }
.stApp:has(.st-key-new-chat) :is([data-testid="stMainBlockContainer"], [data-testid="stBottomBlockContainer"])
> [data-testid="stVerticalBlock"] > :where(:not(.st-key-outage, :has(> .st-key-source))) {
    --left: clamp(0rem, (100%% + var(--moved) - var(--column)) / 2, max(0rem, 100%% - var(--column)));
    width: min(100%%, var(--column)); max-width: none; margin-left: var(--left);
}
.stApp [data-testid="stLayoutWrapper"]:has(> [class*="st-key-turn-"] [class*="st-key-with-table-"]) {
    --wide: 68rem; width: min(100%%, var(--wide)); margin-left: clamp(0rem, 100%% - var(--wide), var(--left));
}

/* A source stands beside its answer, and stays there while the page scrolls; where there is no room, above it. */
[data-testid="stLayoutWrapper"]:has(> .st-key-source) {
    position: fixed; z-index: 100; top: 4rem; right: 1.5rem; bottom: 1rem; width: var(--source); overflow-y: auto;
    overscroll-behavior: contain; display: block; background: light-dark(%(light)s, %(dark)s);
}
[data-testid="stLayoutWrapper"]:has(> .st-key-source):has([aria-label^="Close fullscreen"]) { z-index: 1000000; }
@media (min-width: 70rem) {
    .stApp:has(.st-key-source) { --moved: calc(var(--source) - 2rem); }
    .stApp:has(.st-key-source) :is([data-testid="stMainBlockContainer"], [data-testid="stBottomBlockContainer"]) {
        padding-right: calc(var(--source) + 3rem);
    }
}
@media (max-width: 70rem) {
    [data-testid="stLayoutWrapper"]:has(> .st-key-source) { right: 0; bottom: 0; width: min(30rem, 100vw); }
}

/* These have the ground of Streamlit's own themes. */
[data-testid="stChatMessageAvatarCustom"] { background: transparent; }
"""
"""What the theme cannot say: the few style rules of our own, for all pages."""


def _draw_style() -> None:
    """Put the rules on the page; they take no room."""
    colours = {
        f"{kind}{name}": st.get_option(f"theme.{kind}.{option}")
        for kind in ("light", "dark")
        for name, option in (("", "backgroundColor"), ("_link", "linkColor"))
    }
    st.html(f"<style>{_RULES % colours}</style>")


_OUTAGE = (
    "agentkit does not answer",
    "It was closed, or the way to it is cut. What was asked and answered is kept. "
    "Start it again the way it was started; this page goes on by itself as soon as it answers.",
)
"""What a page says once its server is gone."""

# Drawn here: the browser would fetch a Material symbol for its tab from Google's servers.
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#248286" stroke-width="2.4" '
    'stroke-linejoin="round"><path d="M12 6Q8 3 2 4v14q6-1 10 2 4-3 10-2V4q-6-1-10 2v14"/></svg>'
)
st.set_page_config(page_title="agentkit", page_icon=ICON, layout="wide")
page = st.navigation([
    st.Page(PAGES / "chat.py", title="Chat", icon=":material/forum:", default=True),
    st.Page(PAGES / "documents.py", title="Documents", icon=":material/description:"),
    st.Page(PAGES / "retrieval_lab.py", title="Retrieval lab", icon=":material/science:"),
    st.Page(PAGES / "usage.py", title="Usage", icon=":material/monitoring:"),
    st.Page(PAGES / "settings.py", title="Settings", icon=":material/tune:"),
])  # fmt: skip
_draw_style()
try:
    state.workspace()
except AgentkitError as error:
    st.error(str(error), icon=":material/error:")
    st.stop()
state.turn_to(page.title)
components.outage(*_OUTAGE)
page.run()
state.drawn.set()

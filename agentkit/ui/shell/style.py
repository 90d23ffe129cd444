"""What the theme cannot say: the few style rules of our own, for all pages."""

from __future__ import annotations

import streamlit as st

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

/* A doubtful marker is no citation: it has no accent, and a line of dots. */
[data-testid="stMarkdownContainer"] a[href^="#cite-"][href$="?"] {
    color: inherit; opacity: 0.75; text-decoration: underline dotted; text-underline-offset: 0.2em;
}

/* These have the ground of Streamlit's own themes. */
[data-testid="stChatMessageAvatarCustom"] { background: transparent; }
"""


def draw_style() -> None:
    """Put the rules on the page; they take no room."""
    colours = {
        f"{kind}{name}": st.get_option(f"theme.{kind}.{option}")
        for kind in ("light", "dark")
        for name, option in (("", "backgroundColor"), ("_link", "linkColor"))
    }
    st.html(f"<style>{_RULES % colours}</style>")

"""How a place in a document is called, wherever one is named."""

from __future__ import annotations


def name_place(page: object, place: object) -> str:
    """`p. 3`, or the place as its format calls it, such as `row 2`; empty where there is none."""
    if page:
        return f"p. {page}"
    return str(place or "")


def name_source(document: object, page: object, place: object, *more: object) -> str:
    """The document, the page or place in it, and what else is to be said of it, in one line."""
    parts = (document, name_place(page, place), *more)
    filled = map(str, filter(None, parts))
    return ", ".join(filled)

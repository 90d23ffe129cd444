"""Unicode's normal forms in linear time, whatever stands in a text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import partial
from typing import Literal

_PIECE = 250
_BORDER = 100
"""Characters in which a border is looked for; no language puts so many marks on one letter."""


def to_normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """`unicodedata.normalize`, which takes the square of its time to sort very many marks on one
    letter, in pieces.

    They end where a character begins; only marks in such a number that no language has them are
    sorted piece by piece.
    """
    if len(text) <= _PIECE or text.isascii():
        return unicodedata.normalize(form, text)
    return "".join(map(partial(unicodedata.normalize, form), _split(form, text)))


def _split(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE:
        earliest = start + _PIECE
        places = range(earliest, min(earliest + _BORDER, len(text)))
        end = next(filter(partial(_is_border, form, text), places), earliest)
        yield text[start:end]
        start = end
    yield text[start:]


def _is_border(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str, at: int) -> bool:
    """Whether a character does not change when it stands behind the one before, nor changes it."""
    one, other = text[at - 1], text[at]
    if unicodedata.combining(other):
        return False
    alone = unicodedata.normalize(form, one) + unicodedata.normalize(form, other)
    return unicodedata.normalize(form, one + other) == alone

"""Refusals that several readers share, so that the same trouble always reads the same."""

from __future__ import annotations

from agentkit.documents.document import Limits
from agentkit.errors import DocumentTooLarge, EncryptedDocument

AGAIN = "Save it again in its application, or download it again."
"""Advice for a file that is broken as a whole."""
AS_TEXT = "Correct it, or rename it to .txt to add it as plain text."
"""Advice for a text format with a mistake in it."""


def refuse_locked(name: str) -> EncryptedDocument:
    """The file needs a password."""
    return EncryptedDocument(
        f"{name} is protected by a password. Save a copy without the password and add that."
    )


def check_pages(name: str, count: int, unit: str, limits: Limits) -> None:
    """Raise DocumentTooLarge when there are more pages, slides, sheets or chapters than allowed."""
    if count > limits.max_pages:
        raise DocumentTooLarge(
            f"{name} has {count:,} {unit}, more than {limits.max_pages:,}."
            " Split it into smaller files, or raise AGENTKIT_MAX_PAGES."
        )

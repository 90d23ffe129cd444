"""Rich Text Format (.rtf)."""

from __future__ import annotations

from collections.abc import Callable

from agentkit.documents.assembly import Part, Reading
from agentkit.documents.decoding import clean
from agentkit.documents.document import Limits


def read_rtf(data: bytes, name: str, limits: Limits) -> Reading:
    """Read the text of an RTF file; it knows no headings."""
    from striprtf.striprtf import rtf_to_text

    convert: Callable[..., str] = rtf_to_text  # the library has no types
    text = clean(convert(data.decode("cp1252", errors="replace"), errors="ignore")).strip()
    return Reading([Part(text)], pictures=b"\\pict" in data)

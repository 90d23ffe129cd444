"""Bytes to clean text: byte order mark, strict UTF-8, the declared encoding, detection,
Windows-1252.
"""

from __future__ import annotations

import codecs
import re
from itertools import filterfalse
from operator import attrgetter
from pathlib import PurePath

from agentkit.core.given import find_value, list_known

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The commoner one first. The neighbours of Windows-1252 that are confused with it (1254, 1257,
# latin-*) are left out on purpose.
_LIKELY = [
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "cp949",
    "koi8_r",
    "cp1255",
    "cp1256",
]
_SAMPLE = 32_768
_FEW = 5
"""So few bytes beyond ASCII tell the detector nothing."""
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff\r]")
_BREAKS = re.compile("\r\n?|[\x0b\x0c]")
_ASCII = bytes(range(128))
_CONTROLS = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27}) + b"\x7f"


def decode(data: bytes, declared: str = "") -> str:
    """Decode bytes of unknown encoding; always succeeds, and the text is already `clean`."""
    if encoding := _find_unicode(data):
        return clean(data.decode(encoding, errors="replace"))
    try:
        return clean(data.decode("utf-8"))
    except UnicodeDecodeError:
        return clean(_decode_legacy(data, declared))


def clean(text: str) -> str:
    """Newlines as "\\n"; no NUL, no other control characters but tab, no lone surrogates, no byte
    order marks.
    """
    if _UNWANTED.search(text) is None and "\x0b" not in text:
        return text
    return _UNWANTED.sub("", _BREAKS.sub("\n", text))


def title_from(name: str) -> str:
    """A title for a file without one: its name without the ending; bytes in it that cannot be
    decoded are replaced.
    """
    return clean(PurePath(name).stem.encode("utf-8", "replace").decode())


def is_text(data: bytes) -> bool:
    """Whether the bytes look like text in some encoding rather than like a binary format."""
    if _find_unicode(data):
        return True
    sample = data[:65_536]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    share = 100
    if b"\0" in sample:
        share = 1_000  # a log with a stray NUL is still a log
    return controls <= len(sample) // share


def _find_unicode(data: bytes) -> str:
    """The encoding that a mark or the distribution of NULs tells, or ""."""
    return find_value(_MARKS, data.startswith, "") or _find_wide(data)


def _find_wide(data: bytes) -> str:
    """UTF-16 without a mark shows as NULs in every second byte."""
    sample = data[:4_096]
    if len(sample) not in range(4, 4_097, 2):
        return ""
    half = len(sample) / 2
    even = sample[::2].count(0) / half
    odd = sample[1::2].count(0) / half
    if even < 0.05 and odd > 0.7:
        return "utf-16-le"
    if odd < 0.05 and even > 0.7:
        return "utf-16-be"
    return ""


def _decode_legacy(data: bytes, declared: str) -> str:
    patched = data.decode("utf-8", errors="replace")
    bad = patched.count("\ufffd")
    # Continuation bytes of well-formed sequences, roughly.
    sound = len(data) - len(patched) - 2 * bad
    if sound > 20 * bad:  # UTF-8 with a few broken bytes, as logs have
        return patched
    for encoding in filter(None, (declared, _guess_legacy(data))):
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", errors="replace")


def _guess_legacy(data: bytes) -> str:
    """Ask the detector about the lines that are not plain ASCII; "" when it does not know."""
    from charset_normalizer import from_bytes

    sample = bytearray()
    for line in filterfalse(bytes.isascii, data.splitlines(keepends=True)):
        sample += line[:_SAMPLE]
        if len(sample) > _SAMPLE:
            break
    if len(sample.translate(None, _ASCII)) <= _FEW:
        return "cp1252"
    matches = list(from_bytes(bytes(sample), cp_isolation=_LIKELY))
    rank = attrgetter("chaos", "coherence")
    equal = {match.encoding for match in matches if rank(match) == rank(matches[0])}
    likely = [*list_known(_LIKELY, equal), ""]
    return likely[0]

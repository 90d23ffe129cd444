"""Tokens of pictures in a prompt, from their size alone: by tiles, by patches or by area, as the
model's maker publishes it.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any
from urllib.parse import unquote_to_bytes

from agentkit.core.given import find_value
from agentkit.llm.tokens.families import base_name

Size = tuple[int, int]
"""Width and height in pixels."""

_PHOTO: Size = (3072, 2048)  # what a picture is taken for when its size is not known
_HEAD = 1 << 16  # base64 characters that nearly always hold the size
_DATA_URL = re.compile("data:[^,]*+,")
_PLACE = re.compile(r"^agentkit-picture:[^#]{1,100}#(\d{1,6})x(\d{1,6})$")


@dataclass(frozen=True, slots=True)
class Tiles:
    """A base, and so much for each square of 512 pixels, once the picture fits 2048 x 2048 and its
    short side 768 pixels.
    """

    base: int
    tile: int

    def tokens(self, size: Size, detail: str) -> int:
        """Tokens of a picture."""
        if detail == "low":
            return self.base
        scale = min(1.0, 2048 / max(size), 768 / min(size))
        across, down = (math.ceil(max(1, round(side * scale)) / 512) for side in size)
        return self.base + self.tile * across * down

    def is_fixed(self, detail: str) -> bool:
        """Whether pictures of any size cost the same."""
        return detail == "low"


@dataclass(frozen=True, slots=True)
class Patches:
    """So much for each patch of 32 x 32 pixels, once the picture is reduced to a number of patches
    and a longest side.
    """

    factor: float
    high: tuple[float, float] = (1536, 2048)
    """Most patches, and longest side in pixels."""
    auto: tuple[float, float] | None = None
    original: tuple[float, float] | None = None

    def tokens(self, size: Size, detail: str) -> int:
        """Tokens of a picture; for `low`, whose size is not published, as many as for `high`."""
        own = {"auto": self.auto, "original": self.original or self.auto}
        limits = own.get(detail) or self.high
        return math.ceil(self.factor * _count_patches(size, *limits))

    def is_fixed(self, detail: str) -> bool:
        """Whether pictures of any size cost the same."""
        return False


@dataclass(frozen=True, slots=True)
class Area:
    """One token for so many square pixels, once the longest side is at most 1568 pixels."""

    pixels: int
    most: int

    def tokens(self, size: Size, detail: str) -> int:
        """Tokens of a picture, whatever the detail."""
        scale = min(1.0, 1568 / max(size))
        return min(self.most, math.ceil(size[0] * size[1] * scale * scale / self.pixels))

    def is_fixed(self, detail: str) -> bool:
        """Whether pictures of any size cost the same."""
        return False


Rule = Tiles | Patches | Area
_ALL = (math.inf, math.inf)
_LARGE = (10_000.0, 6000.0)

# The first pattern that fits decides; the flag tells whether recorded calls or other people's
# measurements confirm the rule. Source: OpenAI's guide "Images and vision". The guide names no
# factor for gpt-5.2 and later; 1.2 is what was measured, and for gpt-5-mini and gpt-5-nano less was
# measured than it names.
_RULES: list[tuple[str, tuple[Rule, bool]]] = [
    (r"gpt-4o-mini", (Tiles(2833, 5667), True)),
    (r"(gpt-4\.1|gpt-5(\.\d)?)-mini|gpt-5.*-codex-mini", (Patches(1.62), False)),
    (r"(gpt-4\.1|gpt-5(\.\d)?)-nano", (Patches(2.46), False)),
    (r"o4-mini", (Patches(1.72), False)),
    (r"o[134]", (Tiles(75, 150), True)),
    (r"computer-use-preview", (Tiles(65, 129), True)),
    (r"gpt-5\.[23]", (Patches(1.2), False)),
    (r"gpt-5\.4", (Patches(1.2, (2500, 2048), original=_LARGE), False)),
    (r"gpt-5\.5", (Patches(1.2, (2500, 2048), auto=_LARGE), False)),
    (r"gpt-(5\.[6-9]|[6-9])", (Patches(1.2, (2500, 2048), auto=_ALL), False)),
    (r"gpt-5", (Tiles(70, 140), True)),
    (r"(chatgpt-4o|gpt-4)", (Tiles(85, 170), True)),
]
_OTHERS: tuple[Rule, bool] = (Area(750, 1600), False)
"""Anthropic's guide "Vision": width x height / 750."""


def count_image(part: Mapping[str, object], model: str) -> tuple[int, bool]:
    """Tokens of a part `image_url` of a message, and whether that is an estimate.

    The size is read from a `data:` URL. A picture elsewhere is not fetched: it counts as a
    photograph of 6 megapixels.
    """
    url, detail = _find_picture(part)
    rule, is_known = _find_rule(model)
    size = read_image_size(url)
    tokens = rule.tokens(size or _PHOTO, detail)
    if size is None and not rule.is_fixed(detail):
        return tokens, True
    return tokens, not is_known


def _find_picture(part: Mapping[str, Any]) -> tuple[str, str]:
    """The address of a picture and its detail, in both forms of the API."""
    given = part.get("image_url")
    if not isinstance(given, Mapping):
        given = {"url": given, "detail": part.get("detail")}
    return str(given.get("url")), str(given.get("detail") or "auto")


@cache
def _find_rule(model: str) -> tuple[Rule, bool]:
    """How a model counts pictures, and whether that is confirmed."""
    name = base_name(model)
    return find_value(_RULES, lambda pattern: re.match(pattern, name), _OTHERS)


@lru_cache(maxsize=256)
def read_image_size(url: str) -> Size | None:
    """Width and height of a PNG, JPEG, GIF or WebP in a `data:` URL, and of a picture whose place
    an address keeps (`llm.calls.pictures`); None for anything else.
    """
    if place := _PLACE.search(url):
        return int(place[1]), int(place[2])
    head = _DATA_URL.match(url)
    if head is None:
        return None
    body = url[head.end() :]
    if not head[0].endswith(";base64,"):
        return _find_size(unquote_to_bytes(body))
    try:
        return _find_size(base64.b64decode(body[:_HEAD])) or _find_size(base64.b64decode(body))
    except binascii.Error:
        return None


def _find_size(data: bytes) -> Size | None:
    """The size of a picture of a known form; None for one without any extent."""
    read = find_value(_READERS, lambda opening: opening.match(data), _read_unknown)
    try:
        size = read(data)
    except (struct.error, IndexError):
        return None
    if all(size):
        return size
    return None


def _read_png(data: bytes) -> Size:
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _read_gif(data: bytes) -> Size:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _read_jpeg(data: bytes) -> Size:
    """The size in the frame header, behind any number of other segments."""
    at = 2
    while True:
        marker, length = struct.unpack_from(">HH", data, at)
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        if marker < 0xFF00 or length < 2:
            return _NO_SIZE
        at += 1
        if marker != 0xFFFF:
            at += 1 + length


def _read_unknown(data: bytes) -> Size:
    return _NO_SIZE


def _read_lossy_webp(data: bytes) -> Size:
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def _read_lossless_webp(data: bytes) -> Size:
    (bits,) = struct.unpack_from("<I", data, 21)
    return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1


def _read_extended_webp(data: bytes) -> Size:
    width, width_above, height, height_above = struct.unpack_from("<HBHB", data, 24)
    return (width_above << 16) + width + 1, (height_above << 16) + height + 1


_NO_SIZE: Size = (0, 0)
_FRAMES = frozenset(range(0xFFC0, 0xFFD0)) - {0xFFC4, 0xFFC8, 0xFFCC}
"""Segments of a JPEG that are numbered like frames."""
_READERS: list[tuple[re.Pattern[bytes], Callable[[bytes], Size]]] = [
    (re.compile(rb"\x89PNG\r\n\x1a\n"), _read_png),
    (re.compile(rb"GIF8[79]a"), _read_gif),
    (re.compile(rb"\xff\xd8"), _read_jpeg),
    (re.compile(rb"(?s)RIFF.{4}WEBPVP8 "), _read_lossy_webp),
    (re.compile(rb"(?s)RIFF.{4}WEBPVP8L"), _read_lossless_webp),
    (re.compile(rb"(?s)RIFF.{4}WEBPVP8X"), _read_extended_webp),
]
"""By what the file of a picture begins with."""


def _count_patches(size: Size, most: float, longest: float) -> int:
    """Patches that cover the picture once it is reduced, by the published steps."""
    scale = min(1.0, longest / max(size))
    width, height = (side * scale for side in size)
    if _cover(width, height) > most:
        scale = math.sqrt(32 * 32 * most / (width * height))
        across, down = width * scale / 32, height * scale / 32
        scale *= min(max(1, math.floor(across)) / across, max(1, math.floor(down)) / down)
        width, height = (max(1, math.floor(side * scale + 1e-6)) for side in (width, height))
    return min(int(min(most, 1e9)), _cover(width, height))


def _cover(width: float, height: float) -> int:
    """Patches of 32 x 32 pixels that cover a picture."""
    return math.ceil(width / 32) * math.ceil(height / 32)

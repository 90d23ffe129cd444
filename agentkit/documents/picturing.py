"""A picture made ready for models that see: one still, of a size that they take, with nothing in
the file but what is seen.

The header is read before anything is decoded, and the form is told by the bytes: names lie.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

from agentkit.errors import DamagedDocument, DocumentTooLarge, UnknownFormat

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif")
"""How files are called that are pictures to look at, and no documents to take in."""
LONGEST_SIDE = 2048
"""Pixels; servers scale down what is larger, see OpenAI's guide "Images and vision"."""
MOST_PIXELS = 64_000_000
"""What is decoded at most; a JPEG is decoded at a part of its size."""
LARGEST_PNG = 3_000_000
"""Bytes; what would be larger becomes a JPEG."""
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_QUALITY = 90
_SIXTEEN_BITS = "I;16"


def make_picture(data: bytes, name: str) -> tuple[bytes, str, tuple[int, int]]:
    """The picture in a file's bytes: its own bytes, `png` or `jpg`, and width and height.

    Of one that moves it is the first picture; what shines through is white. Raises UnknownFormat,
    DocumentTooLarge and DamagedDocument.
    """
    opened = _open(data, name)
    is_photo = opened.format not in ("PNG", "GIF")
    opened.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
    width, height = opened.size
    if width * height > MOST_PIXELS:
        raise DocumentTooLarge(
            f"{name} has {width * height / 1e6:,.0f} megapixels ({width:,} x {height:,}); at most"
            f" {MOST_PIXELS / 1e6:,.0f} are looked at. Save it smaller, or cut out what matters."
        )
    try:
        shown = _to_plain(opened)
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise DamagedDocument(
            f"{name} is damaged: its picture is not whole. Save or download it again."
        ) from error
    content, kind = _encode(shown, is_photo)
    return content, kind, shown.size


def _open(data: bytes, name: str) -> Image:
    """The picture with its header read, and nothing decoded."""
    from PIL import Image as images
    from PIL import UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", images.DecompressionBombWarning)
            return images.open(io.BytesIO(data), formats=_FORMATS)
    except images.DecompressionBombError as error:
        raise DocumentTooLarge(
            f"{name} has more pixels than any picture that is looked at. Save it smaller, or cut"
            " out what matters."
        ) from error
    except UnidentifiedImageError as error:
        raise UnknownFormat(
            f"{name} is not a picture in a form that models are shown, whatever it is called. Save"
            " it as PNG, JPEG, WebP or GIF."
        ) from error


def _to_plain(opened: Image) -> Image:
    """The first picture, upright, at most as large as models take it, on white."""
    from PIL import Image as images
    from PIL import ImageOps

    opened.seek(0)
    whole = opened
    if opened.mode.startswith(_SIXTEEN_BITS):
        whole = opened.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    colours = "RGB"
    if opened.has_transparency_data:
        colours = "RGBA"
    shown = ImageOps.exif_transpose(whole).convert(colours)
    shown.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    plain = images.new("RGB", shown.size, "white")
    plain.paste(shown, mask=shown.getchannel("A") if colours == "RGBA" else None)
    return plain


def _encode(shown: Image, is_photo: bool) -> tuple[bytes, str]:
    if not is_photo:
        content = io.BytesIO()
        shown.save(content, "PNG")
        if content.tell() <= LARGEST_PNG:
            return content.getvalue(), "png"
    content = io.BytesIO()
    shown.save(content, "JPEG", quality=_QUALITY)
    return content.getvalue(), "jpg"

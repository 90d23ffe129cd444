"""Pictures made ready for models: whatever a file is or says, it becomes a plain still picture of a
bounded size, or is refused in words that name it.
"""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from agentkit.documents import Jail, Limits
from agentkit.documents.picturing import LONGEST_SIDE, make_picture
from agentkit.errors import DamagedDocument, DocumentError, DocumentTooLarge, UnknownFormat

SECRET = b"N 48.2082 E 16.3738"


@pytest.fixture(scope="module")
def jail() -> Iterator[Jail]:
    with Jail(Limits()) as running:
        yield running


def encode(image: Image.Image, form: str, *more: Image.Image, **how: object) -> bytes:
    content = io.BytesIO()
    if more:
        image.save(content, form, save_all=True, append_images=list(more))
    else:
        image.save(content, form, **how)
    return content.getvalue()


def opened(data: bytes, name: str = "a.png") -> Image.Image:
    content, _, size = make_picture(data, name)
    image = Image.open(io.BytesIO(content))
    assert image.size == size
    return image


def claims(width: int, height: int) -> bytes:
    """A PNG that says in its header how large it is, and has nearly nothing in it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def chunk(kind: bytes, body: bytes) -> bytes:
    check = zlib.crc32(kind + body)
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)


def outcome(jail: Jail, path: Path, data: bytes) -> tuple[int, str]:
    """The longest side of the picture that came, and what was said where none did."""
    path.write_bytes(data)
    try:
        made = jail.picture(path, path.name)
    except DocumentError as error:
        return 0, str(error)
    return max(made.width, made.height), ""


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("name", ["a.png", "a.pdf", "a"])
def test_the_form_is_told_by_the_bytes(form: str, name: str) -> None:
    image = opened(encode(Image.new("RGB", (30, 20), "red"), form), name)
    assert image.size == (30, 20)
    assert min(image.getchannel("R").tobytes()) > 250


@pytest.mark.parametrize(
    ("size", "after"),
    [((4000, 1000), (2048, 512)), ((1, 9000), (1, 2048)), ((2048, 2048), (2048, 2048))],
)
def test_it_is_made_as_small_as_servers_take_it(
    size: tuple[int, int], after: tuple[int, int]
) -> None:
    assert opened(encode(Image.new("RGB", size), "PNG")).size == after


def test_nothing_but_what_is_seen_is_kept() -> None:
    image = Image.new("RGB", (30, 20), "red")
    facts = Image.Exif()
    facts[0x0112], facts[0x010E] = 6, SECRET.decode()  # turned by a quarter, and described
    data = encode(image, "JPEG", exif=facts, comment=SECRET)
    assert SECRET in data
    content, kind, size = make_picture(data, "a.jpg")
    assert (kind, size) == ("jpg", (20, 30))
    assert SECRET not in content


def test_of_one_that_moves_the_first_is_seen_and_what_shines_through_is_white() -> None:
    first, second = Image.new("RGB", (9, 9), "red"), Image.new("RGB", (9, 9), "blue")
    assert opened(encode(first, "GIF", second)).getpixel((4, 4)) == (255, 0, 0)
    clear = Image.new("RGBA", (9, 9), (255, 0, 0, 0))
    assert opened(encode(clear, "PNG")).getpixel((4, 4)) == (255, 255, 255)
    deep = Image.new("I;16", (9, 9), 0x8000)
    assert opened(encode(deep, "PNG")).getpixel((4, 4)) == (128, 128, 128)


@pytest.mark.parametrize("size", [(10_000, 10_000), (60_000, 60_000), (2**31 - 1, 2**31 - 1)])
def test_one_that_says_it_is_huge_is_refused_before_it_is_decoded(
    jail: Jail, tmp_path: Path, size: tuple[int, int]
) -> None:
    path = tmp_path / "huge.png"
    path.write_bytes(claims(*size))
    with pytest.raises(DocumentTooLarge, match=r"^huge\.png has .*Save it smaller"):
        jail.picture(path, "huge.png")


def test_a_photograph_of_100_megapixels_is_taken(jail: Jail, tmp_path: Path) -> None:
    path = tmp_path / "large.jpg"
    path.write_bytes(encode(Image.new("L", (10_000, 10_000), 200), "JPEG"))
    made = jail.picture(path, "large.jpg")
    assert (made.width, made.height) == (LONGEST_SIDE, LONGEST_SIDE)


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"%PDF-1.7 no picture",
        encode(Image.new("RGB", (9, 9)), "BMP"),
        encode(Image.new("RGB", (9, 9)), "TIFF"),
    ],
)
def test_what_is_no_picture_to_look_at_is_refused(data: bytes) -> None:
    with pytest.raises(UnknownFormat, match=r"^a\.png is not a picture .*Save it"):
        make_picture(data, "a.png")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_damaged_file_is_a_picture_or_an_error_of_ours_and_nothing_else(
    jail: Jail, tmp_path: Path, form: str
) -> None:
    chance = random.Random(7)
    noise = Image.frombytes("RGB", (40, 40), chance.randbytes(4800))
    whole = encode(noise, form)
    path = tmp_path / "a"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedDocument, match=r"^a is damaged"):
        jail.picture(path, "a")
    for _ in range(40):
        broken = bytearray(whole)
        for _ in range(3):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        side, said = outcome(jail, path, bytes(broken))
        assert side <= LONGEST_SIDE
        assert said[:2] in ("", "a ")

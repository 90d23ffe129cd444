"""Pictures: the published examples of each rule, and sizes from the heads of files."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.llm.tokens.images import count_image, read_image_size


def url(data: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + bytes(9)


def jpeg(width: int, height: int, before: int) -> bytes:
    exif = b"".join(b"\xff\xe1" + struct.pack(">H", 60_002) + bytes(60_000) for _ in range(before))
    return b"\xff\xd8" + exif + b"\xff\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width)


def part(width: int, height: int, detail: str | None = None) -> dict[str, Any]:
    image = {"url": url(png(width, height))} | ({"detail": detail} if detail else {})
    return {"type": "image_url", "image_url": image}


@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens"),
    [
        ("gpt-4o", 1024, 1024, "high", 765),
        ("gpt-4o", 2048, 4096, "high", 1105),
        ("gpt-4o", 4096, 8192, "low", 85),
        ("gpt-4o", 512, 512, None, 255),
        ("gpt-4-turbo", 513, 512, "auto", 425),
        ("gpt-4o", 540, 360, "auto", 425),
        ("gpt-4o-mini", 1024, 1024, "high", 2833 + 4 * 5667),
        ("gpt-5", 1024, 1024, "high", 70 + 4 * 140),
        ("gpt-5.1", 1024, 1024, "high", 70 + 4 * 140),
        ("o1", 1024, 1024, "high", 75 + 4 * 150),
        ("o3", 10, 10, "low", 75),
        ("computer-use-preview", 1024, 1024, "high", 65 + 4 * 129),
    ],
)
def test_tiles_count_as_published(
    model: str, width: int, height: int, detail: str | None, tokens: int
) -> None:
    assert count_image(part(width, height, detail), model) == (tokens, False)


@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens"),
    [
        ("gpt-4.1-mini", 1024, 1024, None, 1659),
        ("gpt-4.1-mini", 1800, 2400, "high", 2353),
        ("o4-mini", 1024, 1024, None, 1762),
        ("gpt-4.1-nano", 1800, 2400, None, 3572),
        ("gpt-5-nano-2025-08-07", 32, 33, None, 5),
        ("gpt-5.2", 1024, 1024, None, 1229),
        ("gpt-6-astra", 1024, 1024, None, 1229),
        ("gpt-6-astra", 4096, 512, None, 2458),
        ("gpt-5.6-sol", 33, 65, None, 8),
        ("gpt-5.5", 8000, 8000, None, 12_000),
        ("gpt-5.4", 8000, 8000, "original", 12_000),
        ("gpt-6-sol", 8000, 8000, None, 75_000),
        ("o4-mini", 100_000, 1, None, 111),
    ],
)
def test_patches_count_as_published(
    model: str, width: int, height: int, detail: str | None, tokens: int
) -> None:
    assert count_image(part(width, height, detail), model) == (tokens, True)


@pytest.mark.parametrize(
    ("size", "tokens"), [((200, 200), 54), ((1092, 1092), 1590), ((8000, 6000), 1600)]
)
def test_other_models_count_by_area(size: tuple[int, int], tokens: int) -> None:
    assert count_image(part(*size), "claude-sonnet-4-5") == (tokens, True)
    assert count_image(part(*size), "llava") == (tokens, True)


@pytest.mark.parametrize(
    "image",
    [{"url": "https://example.org/cat.png"}, "https://example.org/cat.png", {"url": None}, None],
)
def test_a_picture_elsewhere_counts_as_a_photograph(image: Any) -> None:
    assert count_image({"type": "image_url", "image_url": image}, "gpt-4o") == (1105, True)


def test_a_small_detail_needs_no_size() -> None:
    elsewhere = {
        "type": "image_url",
        "image_url": {"url": "https://example.org/cat.png", "detail": "low"},
    }
    assert count_image(elsewhere, "gpt-4o") == (85, False)
    assert count_image(
        {"type": "input_image", "image_url": "https://x", "detail": "low"}, "gpt-4o"
    ) == (85, False)


@given(width=st.integers(1, 16383), height=st.integers(1, 16383), before=st.integers(0, 3))
def test_sizes_are_read_from_the_heads_of_files(width: int, height: int, before: int) -> None:
    webp = b"RIFF\x00\x00\x00\x00WEBP"
    files = [
        png(width, height),
        jpeg(width, height, before),
        b"GIF89a" + struct.pack("<HH", width, height),
        webp + b"VP8 " + bytes(10) + struct.pack("<HH", width, height),
        webp + b"VP8L" + bytes(4) + b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14),
        webp
        + b"VP8X"
        + bytes(8)
        + (width - 1).to_bytes(3, "little")
        + (height - 1).to_bytes(3, "little"),
    ]
    assert [read_image_size(url(data)) for data in files] == [(width, height)] * len(files)


@given(
    data=st.binary(max_size=60),
    start=st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"GIF89a", b"RIFF0000WEBPVP8X"]),
)
def test_damaged_pictures_have_no_size_or_a_possible_one(data: bytes, start: bytes) -> None:
    size = read_image_size(url(start + data))
    assert size is None or min(size) >= 1


@pytest.mark.parametrize(
    "given_url",
    [
        "data:image/png;base64,!!!",
        "data:image/png,%89PNG",
        "data:",
        "",
        "data:image/png;base64,abc",
    ],
)
def test_what_is_no_picture_has_no_size(given_url: str) -> None:
    assert read_image_size(given_url) is None


@given(
    width=st.integers(1, 100_000),
    height=st.integers(1, 100_000),
    model=st.sampled_from(["gpt-4o", "o4-mini", "gpt-5.4", "x"]),
)
def test_no_picture_is_free_or_above_the_most(width: int, height: int, model: str) -> None:
    most = {"gpt-4o": 85 + 8 * 170, "o4-mini": 2642, "gpt-5.4": 3000, "x": 1600}[model]
    assert 1 <= count_image(part(width, height), model)[0] <= most

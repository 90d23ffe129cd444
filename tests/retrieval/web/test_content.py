"""Contents as they come packed: whole, cut at any place, damaged, and made to cost much."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.retrieval.web.content import NotWhole, TooLarge, UnknownPacking, unpack

MUCH = 10**6


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def bare(data: bytes) -> bytes:
    """Deflate without zlib's frame, as some servers send it."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzipped,
    "x-gzip": gzipped,
    "deflate": zlib.compress,
    "Deflate": bare,
}


def in_blocks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[place : place + size] for place in range(0, len(data), size))


def read(packed: bytes, packing: str, most: int = MUCH, size: int = 100) -> bytes:
    return b"".join(unpack(in_blocks(packed, size), packing, most))


@pytest.mark.parametrize("packing", PACKERS)
@given(data=st.binary(max_size=2_000), size=st.integers(1, 50))
def test_what_was_packed_comes_out(packing: str, data: bytes, size: int) -> None:
    assert read(PACKERS[packing](data), packing, size=size) == data


@pytest.mark.parametrize("packing", PACKERS)
@given(data=st.binary(min_size=1, max_size=300), share=st.floats(0, 1, exclude_max=True))
def test_a_cut_one_is_not_whole(packing: str, data: bytes, share: float) -> None:
    packed = PACKERS[packing](data)
    with pytest.raises(NotWhole):
        read(packed[: max(1, int(len(packed) * share))], packing)


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=8), st.integers(1, 40))
def test_all_members_of_gzip_are_read(parts: list[bytes], size: int) -> None:
    assert read(b"".join(map(gzipped, parts)), "gzip", size=size) == b"".join(parts)


@pytest.mark.parametrize(
    ("packed", "packing"),
    [
        (gzipped(b"one") + gzipped(b"two")[:-3], "gzip"),
        (gzipped(b"one") + b"and something else", "gzip"),
        (gzipped(b"one")[:-6] + b"\xff\xff" + gzipped(b"one")[-4:], "gzip"),
        (b"<html>not packed at all</html>", "gzip"),
        (b"<html>not packed at all</html>", "deflate"),
        (zlib.compress(b"one") + b"and something else", "deflate"),
        (bare(b"one" * 100) + zlib.compress(b"two"), "deflate"),
        (zlib.compress(b"one")[:-2] + b"\xff\xff", "deflate"),
    ],
)
def test_what_is_damaged_is_refused(packed: bytes, packing: str) -> None:
    with pytest.raises(NotWhole):
        read(packed, packing)


@pytest.mark.parametrize("packing", ["", "identity", " Identity "])
def test_what_is_not_packed_stays_as_it_is(packing: str) -> None:
    assert read(b"plain", packing) == b"plain"
    assert read(b"", "gzip") == read(b"", "deflate") == b""


@pytest.mark.parametrize("packing", ["br", "zstd", "compress", "gzip, gzip", "deflate,br", "utf-8"])
def test_other_ways_of_packing_are_named(packing: str) -> None:
    with pytest.raises(UnknownPacking, match=packing):
        read(gzipped(b"one"), packing)
    assert read(gzipped(b"one"), "gzip, identity") == b"one"


@pytest.mark.parametrize("packing", ["", *PACKERS])
def test_the_limit_holds_for_what_is_unpacked(packing: str) -> None:
    data = b"x" * 200_000
    packed = PACKERS[packing](data) if packing else data
    assert read(packed, packing, len(data)) == data
    with pytest.raises(TooLarge):
        read(packed, packing, len(data) - 1)


def test_a_bomb_is_unpacked_no_further_than_the_limit() -> None:
    seen: list[int] = []
    with pytest.raises(TooLarge):
        seen.extend(map(len, unpack([gzipped(bytes(50 * MUCH))], "gzip", MUCH)))
    assert 0 < sum(seen) <= MUCH


def test_what_cannot_be_made_smaller_may_be_as_large_as_the_limit() -> None:
    data = bytes(range(256)) * 400
    stored = io.BytesIO()
    with gzip.GzipFile(fileobj=stored, mode="wb", compresslevel=0) as opened:
        opened.write(data)
    assert len(stored.getvalue()) > len(data)
    assert read(stored.getvalue(), "gzip", len(data)) == data


def test_very_many_tiny_members_take_linear_time() -> None:
    """A reader that copies the rest of a block for each of them would be at it for hours."""
    members = gzipped(b"a") * 100_000
    assert b"".join(unpack([members], "gzip", 3 * MUCH)) == b"a" * 100_000


def test_parts_that_hold_nothing_do_not_go_on_for_ever() -> None:
    def endless(part: bytes, begin: bytes = b"") -> Iterator[bytes]:
        yield begin
        while True:
            yield part * 1_000

    packer = zlib.compressobj()
    begun = packer.compress(b"a") + packer.flush(zlib.Z_FULL_FLUSH)
    packer.compress(b"")
    nothing = b"\x00\x00\x00\xff\xff"  # a stored block of no bytes
    for blocks, packing in ((endless(gzipped(b"")), "gzip"), (endless(nothing, begun), "deflate")):
        with pytest.raises(TooLarge):
            b"".join(unpack(blocks, packing, 100_000))

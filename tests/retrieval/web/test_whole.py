"""A download is taken in whole or not at all, by whatever it was cut."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.errors import FetchFailed, StoreError
from agentkit.retrieval import fetch
from agentkit.settings import Settings
from tests.servers.raw_server import RawServer, chunked, measured, reply

PAGE = b"<html><title>Hello</title>" + b"<p>Hello from the server.</p>" * 30 + b"</html>"
PACKED = gzip.compress(PAGE, mtime=0)
GZIP, DEFLATE = "Content-Encoding: gzip", "Content-Encoding: deflate"
CHUNKED = "Transfer-Encoding: chunked"
BARE = zlib.compress(PAGE)[2:-4]
CHUNKS = chunked(PAGE[:100], PAGE[100:])

WHOLE = {
    "measured": measured(PAGE),
    "to the end": reply(PAGE),
    "in chunks": reply(CHUNKS, CHUNKED),
    "in chunks without the last line": reply(CHUNKS[:-2] + b"X-Sum: 1\r\n\r\n", CHUNKED),
    "gzip": measured(PACKED, GZIP),
    "gzip to the end": reply(PACKED, GZIP),
    "gzip in chunks": reply(chunked(PACKED[:9], PACKED[9:]), GZIP, CHUNKED),
    "gzip of two members": measured(
        gzip.compress(PAGE[:100]) + gzip.compress(PAGE[100:]), "Content-Encoding: x-gzip"
    ),
    "deflate": measured(zlib.compress(PAGE), DEFLATE),
    "bare deflate": measured(BARE, DEFLATE),
    "not packed at all": measured(PAGE, "Content-Encoding: identity"),
    "more than announced": reply(PAGE + b"and the next answer", f"Content-Length: {len(PAGE)}"),
    "the length twice": measured(PAGE, f"Content-Length: {len(PAGE)}"),
}
CUT = {
    "before its length": measured(PAGE)[:-1],
    "before anything": reply(b"", "Content-Length: 5"),
    "in the headers": measured(PAGE)[:30],
    "in a chunk": reply(CHUNKS[:50], CHUNKED),
    "after a chunk": reply(CHUNKS[: CHUNKS.index(b"\r\n", 100) + 2], CHUNKED),
    "in the length of a chunk": reply(b"0", CHUNKED),
    "before the last chunk": reply(CHUNKS[:-5], CHUNKED),
    "gzip": measured(PACKED[:-20], GZIP),
    "gzip to the end": reply(PACKED[:-1], GZIP),
    "gzip in chunks": reply(chunked(PACKED[:-9]), GZIP, CHUNKED),
    "second member of gzip": measured(PACKED + PACKED[:-20], GZIP),
    "gzip by its length": reply(PACKED, GZIP, f"Content-Length: {len(PACKED) + 1}"),
    "deflate": measured(zlib.compress(PAGE)[:-10], DEFLATE),
    "bare deflate": measured(BARE[:-10], DEFLATE),
}
STRANGE = {
    "damaged gzip": measured(PACKED[:50] + b"????" + PACKED[54:], GZIP),
    "gzip that is none": measured(PAGE, GZIP),
    "deflate that is none": measured(PAGE, DEFLATE),
    "two lengths": measured(PAGE, "Content-Length: 7"),
    "a length below zero": reply(PAGE, "Content-Length: -1"),
    "a length that is none": reply(PAGE, "Content-Length: many"),
    "a chunk below zero": reply(b"-5\r\n" + PAGE, CHUNKED),
    "packed while sent": reply(chunked(PACKED), "Transfer-Encoding: gzip, chunked"),
    "packed in two ways": measured(PACKED, "Content-Encoding: gzip, br"),
    "an unknown packing": measured(PAGE, "Content-Encoding: br"),
    "no HTTP": PAGE,
}


def at(name: str) -> str:
    return "/" + name.replace(" ", "-")


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    replies = {
        kind + at(name): sent
        for kind, several in (("/whole", WHOLE), ("/cut", CUT), ("/strange", STRANGE))
        for name, sent in several.items()
    }
    with RawServer(replies) as opened:
        yield opened


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, allow_private_urls=True, max_file_mb=1, fetch_timeout_s=30)


def refuse(server: RawServer, settings: Settings, target: str, reason: str) -> None:
    with pytest.raises(FetchFailed, match=reason):
        fetch(server.url(target), settings)
    assert [path for path in settings.data.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_download_is_taken(server: RawServer, settings: Settings, name: str) -> None:
    assert fetch(server.url("/whole" + at(name)), settings).path.read_bytes() == PAGE


@pytest.mark.parametrize("name", CUT)
def test_a_cut_download_is_refused(server: RawServer, settings: Settings, name: str) -> None:
    words = "nothing was taken in. Try again" if name != "in the headers" else "could not be fetch"
    refuse(server, settings, "/cut" + at(name), words)


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_download_is_refused(server: RawServer, settings: Settings, name: str) -> None:
    words = "did not arrive whole|could not be fetched|packed as"
    refuse(server, settings, "/strange" + at(name), words)


def test_very_many_headers_and_a_long_reason_cost_nothing(settings: Settings) -> None:
    headers = [f"x{number}: 1" for number in range(8_000)]
    with RawServer(
        {"": measured(PAGE, *headers), "/no": measured(b"", status="404 " + "n" * 9_000)}
    ) as server:
        assert fetch(server.url("/"), settings).path.read_bytes() == PAGE
        with pytest.raises(FetchFailed) as told:
            fetch(server.url("/no"), settings)
        assert len(str(told.value)) < 500


def test_an_unknown_packing_is_named(server: RawServer, settings: Settings) -> None:
    words = "comes packed as 'br', which was not asked"
    refuse(server, settings, "/strange/an-unknown-packing", words)


@pytest.mark.parametrize(
    "sent",
    [
        reply(b"", "Content-Length: 99999999"),
        reply(b"x" * 2_000_000),
        reply(gzip.compress(b"x" * 2_000_000), GZIP),
        reply(zlib.compress(b"x" * 2_000_000), DEFLATE),
        reply(gzip.compress(b"") * 70_000, GZIP),
        reply(chunked(*[b"x" * 1_000] * 2_000), CHUNKED),
    ],
    ids=["announced", "plain", "gzip", "deflate", "empty members", "chunks"],
)
def test_the_limit_of_size_holds(settings: Settings, sent: bytes) -> None:
    with RawServer({"": sent}) as server:
        refuse(server, settings, "/", "is larger than the 1 MB allowed")


def test_a_folder_that_cannot_be_written_is_not_blamed_on_the_page(
    server: RawServer, settings: Settings
) -> None:
    (settings.data / "fetched").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be written to .*check free space"):
        fetch(server.url("/whole/measured"), settings)


def test_a_page_that_comes_byte_by_byte_ends_with_its_time(settings: Settings) -> None:
    """What has no length looks whole when the time is up and the connection is ended from here."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connected, _ = listening.accept()
            with connected:
                connected.recv(65_536)
                connected.sendall(reply(b"<p>the beginning"))
                connected.recv(1)  # until the other side has gone

        thread = threading.Thread(target=serve)
        thread.start()
        short = Settings(data=settings.data, allow_private_urls=True, fetch_timeout_s=0.5)
        with pytest.raises(FetchFailed, match=r"did not arrive within 0\.5 s"):
            fetch(f"http://127.0.0.1:{listening.getsockname()[1]}/", short)
        thread.join()
    assert [path for path in settings.data.rglob("*") if path.is_file()] == []

"""A web page or file as a source: http and https only, public addresses only, within limits of size and time.

The address that was checked is the one that is connected to, so that a name cannot resolve to another one in between.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import mimetypes
import os
import re
import socket
import ssl
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from agentkit import private
from agentkit.core import stopping
from agentkit.documents import SUPPORTED
from agentkit.errors import FetchFailed
from agentkit.retrieval.types import Source
from agentkit.settings import Settings

_REDIRECTS = 5
_BLOCK = 1 << 16
_MOVED = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"User-Agent": "agentkit", "Accept": "*/*", "Accept-Encoding": "gzip, identity", "Connection": "close"}
_EXTENSIONS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/xml": ".xml",
}


def fetch(url: str, settings: Settings) -> Source:
    """Load what is at the address into the data folder. Raises FetchFailed, or Stopped when told to stop."""
    late = threading.Event()
    connection: list[_Connection] = []

    def expire() -> None:
        late.set()
        abort()

    def abort() -> None:
        for one in connection:
            one.abort()

    timer = threading.Timer(settings.fetch_timeout_s, expire)
    timer.daemon = True
    timer.start()
    try:
        with stopping.current().on_stop(abort):
            return _follow(url, settings, connection)
    except (OSError, http.client.HTTPException, zlib.error, ValueError) as error:
        stopping.check()
        if late.is_set():
            raise FetchFailed(
                f"{url} did not arrive within {settings.fetch_timeout_s:g} s; try again, or raise AGENTKIT_FETCH_TIMEOUT_S."
            ) from error
        raise FetchFailed(
            f"{url} could not be fetched ({str(error) or type(error).__name__}); check the address and the network."
        ) from error
    finally:
        timer.cancel()


class _Connection(http.client.HTTPConnection):
    """A connection to one checked address, whatever the name resolves to by now."""

    def __init__(self, parts: SplitResult, address: str, timeout: float) -> None:
        self._secure = parts.scheme == "https"
        super().__init__(parts.hostname or "", parts.port or (443 if self._secure else 80), timeout=timeout)
        self._address = address
        self._aborted = False
        self._raw: socket.socket | None = None

    def connect(self) -> None:
        """Connect to the checked address; the certificate is that of the name."""
        self._raw = self.sock = socket.create_connection((self._address, self.port), self.timeout)
        if self._secure:
            self.sock = ssl.create_default_context().wrap_socket(self._raw, server_hostname=self.host)
        if self._aborted:
            self.abort()

    def abort(self) -> None:
        """End it from another thread: whoever reads gets an error or the end."""
        self._aborted = True
        for one in (self.sock, self._raw):
            if one is not None and one.fileno() >= 0:
                _shut(one)


def _shut(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:  # it has ended by itself meanwhile
        return


def _follow(url: str, settings: Settings, connection: list[_Connection]) -> Source:
    address = url.strip()
    for _ in range(_REDIRECTS + 1):
        parts = _checked(address)
        with _request(parts, _resolve(parts, settings), settings, connection) as response:
            if response.status in _MOVED and response.headers.get("Location"):
                address = urljoin(address, response.headers["Location"])
                continue
            if response.status != http.client.OK:
                raise FetchFailed(
                    f"{address} answers {response.status} {response.reason}; check the address, and whether it needs a login."
                )
            return _save(response, parts, url.strip(), settings, connection[-1])
    raise FetchFailed(f"{url} redirects more than {_REDIRECTS} times; give the final address.")


def _checked(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise FetchFailed(f"{address!r} is not a web address ({error}); give one like https://example.com/page.") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise FetchFailed(f"{address!r} is not an http or https address; give one like https://example.com/page.")
    return parts


def _resolve(parts: SplitResult, settings: Settings) -> str:
    """An address of the host, after all of them were found to be allowed."""
    host = parts.hostname or ""
    try:
        found = socket.getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchFailed(f"The host {host!r} is not known ({error}); check the address and the network.") from error
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        if not settings.allow_private_urls and not _is_public(address):
            raise FetchFailed(
                f"{host} is at {address}, which is not a public address; "
                "such pages are not fetched unless AGENTKIT_ALLOW_PRIVATE_URLS is true."
            )
    return addresses[0]


def _is_public(address: str) -> bool:
    """Whether the address is on the open internet; one in another's clothes (mapped, 6to4, NAT64, Teredo) is looked at inside."""
    found = ipaddress.ip_address(address.split("%", 1)[0])
    if isinstance(found, ipaddress.IPv6Address):
        inside = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inside is None and found in _NAT64:
            inside = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inside is not None:
            return _is_public(str(inside))
    return found.is_global and not found.is_multicast and not found.is_reserved


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


@contextmanager
def _request(
    parts: SplitResult, address: str, settings: Settings, connection: list[_Connection]
) -> Iterator[http.client.HTTPResponse]:
    one = _Connection(parts, address, settings.fetch_timeout_s)
    connection.append(one)
    stopping.check()
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        one.request("GET", _quoted(target), headers=_HEADERS)
        yield one.getresponse()
    finally:
        one.close()


def _quoted(target: str) -> str:
    """The target with everything percent-encoded that may not stand in a request line."""
    return re.sub(r"[^!-~]", lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()), target)


def _save(
    response: http.client.HTTPResponse, parts: SplitResult, url: str, settings: Settings, connection: _Connection
) -> Source:
    name = _name(parts, response.headers.get_content_type())
    folder = settings.data / "fetched"
    private.make_folder(folder)
    path = folder / (hashlib.sha256(url.encode()).hexdigest()[:32] + PurePosixPath(name).suffix)
    temporary = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with open(temporary, "wb", opener=private.opener) as written:
            for block in _body(response, settings.max_file_mb, url):
                written.write(block)
        if connection._aborted:
            raise OSError("the connection was ended")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return Source(name, Path(path), url)


def _body(response: http.client.HTTPResponse, max_mb: int, url: str) -> Iterator[bytes]:
    """The content in blocks, unpacked; raises FetchFailed beyond the limit."""
    unpacker = zlib.decompressobj(47) if response.headers.get("Content-Encoding", "").lower() == "gzip" else None
    left = max_mb * 2**20
    while block := response.read(_BLOCK):
        pieces = [block] if unpacker is None else [unpacker.decompress(block, left + 1)]
        for piece in pieces:
            left -= len(piece)
            if left < 0:
                raise FetchFailed(
                    f"{url} is larger than the {max_mb} MB allowed; take a smaller file, or raise AGENTKIT_MAX_FILE_MB."
                )
            yield piece
        stopping.check()


def _name(parts: SplitResult, media_type: str) -> str:
    """A name that says where it is from, with the extension that its type or else its address asks for."""
    path = PurePosixPath(unquote(parts.path))
    stem = path.name or parts.hostname or "page"
    extension = _EXTENSIONS.get(media_type) or mimetypes.guess_extension(media_type) or ""
    if path.suffix.lower() in SUPPORTED and (extension not in {".html"} or path.suffix.lower() in {".html", ".htm"}):
        extension = ""
    if not path.name and not extension:
        extension = ".html"
    name = re.sub(r"[^\w. -]+", "_", stem)[-100:].strip(". ") or "page"
    return name if extension and name.lower().endswith(extension) else name + extension

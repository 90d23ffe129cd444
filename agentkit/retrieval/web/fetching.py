"""A web page or file as a source: http and https only, public addresses only, whole or not at all.

All addresses of a name are checked before one of them is connected to, at every redirect anew.
Where the environment names a proxy (`http_proxy`, `https_proxy`, `no_proxy`), the proxy would
look up the name, and nobody here could see where it leads: it is used only if private addresses
are allowed, and refused in words otherwise.
"""

from __future__ import annotations

import http
import mimetypes
import re
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from agentkit import private
from agentkit.core import stopping
from agentkit.core.address import without_login
from agentkit.documents import SUPPORTED, DocumentText, Limits, read_document
from agentkit.errors import FetchFailed, StoreError, explain_os
from agentkit.messages import new_id
from agentkit.retrieval.types import Source
from agentkit.retrieval.web.content import NotWhole, TooLarge, UnknownPacking, unpack
from agentkit.settings import Settings

if TYPE_CHECKING:
    from agentkit.retrieval.web.line import Line, Reply

_REDIRECTS = 5
_MOVED = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": "agentkit",
    "Accept": "*/*",
    "Accept-Encoding": "gzip, identity",
    "Connection": "close",
}
_EXTENSIONS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/xml": ".xml",
}


def fetch(url: str, settings: Settings) -> Source:
    """Load what is at the address into the data folder.

    Raises FetchFailed, StoreError when the data folder cannot be written, and Stopped.
    """
    from agentkit.retrieval.web.line import LOST, Line

    late = threading.Event()
    line = Line(settings.fetch_timeout_s, settings.allow_private_urls)

    def expire() -> None:
        late.set()
        line.end()

    timer = threading.Timer(settings.fetch_timeout_s, expire)
    timer.daemon = True
    timer.start()
    try:
        with stopping.current().on_stop(line.end):
            return _follow(url.strip(), settings, line)
    except (FetchFailed, ValueError, *LOST) as error:
        stopping.check()
        # A socket that waited for as long may tell it first.
        if late.is_set() or isinstance(error.__cause__ or error, TimeoutError):
            raise FetchFailed(
                f"{url} did not arrive within {settings.fetch_timeout_s:g} s; "
                "try again, or raise AGENTKIT_FETCH_TIMEOUT_S."
            ) from error
        if isinstance(error, FetchFailed):
            raise
        raise FetchFailed(
            f"{url} could not be fetched ({_explain(error)}); check the address and the network."
        ) from error
    finally:
        timer.cancel()


def read_page(url: str, settings: Settings) -> DocumentText:
    """What stands at the address, as text, read in a process of its own; nothing of it is kept.

    Raises FetchFailed, also for addresses that are not public, DocumentError, and Stopped.
    """
    source = fetch(url, settings)
    try:
        return read_document(source.path, source.name, Limits.from_settings(settings))
    finally:
        with suppress(OSError):
            source.path.unlink()


def source_at(url: str, settings: Settings) -> Source:
    """What is at the address; where it cannot be had just now, a source that says why.

    Raises FetchFailed for anything but a web address, StoreError when the data folder cannot be
    written, and Stopped.
    """
    _parse(url.strip())
    try:
        return fetch(url, settings)
    except FetchFailed as error:
        return Source(url, Path(), url.strip(), str(error))


def _follow(url: str, settings: Settings, line: Line) -> Source:
    address = url
    for _ in range(_REDIRECTS + 1):
        parts = _parse(address)
        target = parts.path or "/"
        if parts.query:
            target += f"?{parts.query}"
        stopping.check()
        with line.get(parts, _quote(target), _HEADERS, _find_proxy(parts, settings)) as reply:
            if reply.status in _MOVED and reply.headers.get("location"):
                address = urljoin(address, reply.headers["location"])
                continue
            if reply.status != http.HTTPStatus.OK:
                raise FetchFailed(
                    f"{address} answers {reply.status} {reply.reason}; "
                    "check the address, and whether it needs a login."
                )
            return _save(reply, parts, url, settings, line)
    raise FetchFailed(f"{url} redirects more than {_REDIRECTS} times; give the final address.")


def _parse(address: str) -> SplitResult:
    try:
        address.encode()
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise FetchFailed(
            f"{address!r} is not a web address ({error}); give one like https://example.com/page."
        ) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise FetchFailed(
            f"{address!r} is not an http or https address; give one like https://example.com/page."
        )
    return parts


def _find_proxy(parts: SplitResult, settings: Settings) -> str:
    """The proxy that the environment asks for; empty for none. Raises FetchFailed."""
    named = urllib.request.getproxies()
    proxy = named.get(parts.scheme) or named.get("all", "")
    host = parts.netloc.rpartition("@")[2]
    if not proxy or urllib.request.proxy_bypass(host):
        return ""
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    shown = without_login(proxy)
    if not settings.allow_private_urls:
        raise FetchFailed(
            f"The environment asks for the proxy {shown}, and which address {host} has there "
            "cannot be checked here. Name the host in no_proxy to fetch it without the proxy, "
            "or set AGENTKIT_ALLOW_PRIVATE_URLS to true to fetch through it."
        )
    if not proxy.lower().startswith(("http://", "https://")):
        raise FetchFailed(
            f"The environment asks for the proxy {shown}, but only http and https proxies are "
            f"used; name another one in {parts.scheme}_proxy, or the host in no_proxy."
        )
    return proxy


def _quote(target: str) -> str:
    """The target with everything percent-encoded that may not stand in a request line."""
    return re.sub(
        r"[^!-~]",
        lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()),
        target,
    )


def _save(reply: Reply, parts: SplitResult, url: str, settings: Settings, line: Line) -> Source:
    name = _choose_name(parts, _read_media_type(reply))
    ending = PurePosixPath(name).suffix.lower()
    path = settings.data / "fetched" / (new_id() + (ending if ending in SUPPORTED else ""))
    try:
        private.make_folder(path.parent)
        with open(path, "wb", opener=private.opener) as written:
            written.writelines(_read_body(reply, url, settings.max_file_mb, line))
    except BaseException as error:
        with suppress(OSError):
            path.unlink()
        if isinstance(error, OSError):
            raise StoreError(
                f"{url} cannot be written to {path} ({explain_os(error)}); "
                "check free space and permissions."
            ) from error
        raise
    return Source(name, path, url)


def _read_body(reply: Reply, url: str, max_mb: int, line: Line) -> Iterator[bytes]:
    """The content in blocks, unpacked; raises FetchFailed unless it is whole and not too large."""
    from agentkit.retrieval.web.line import LOST

    most = max_mb * 2**20
    try:
        if int(reply.headers.get("content-length", 0)) > most:
            raise TooLarge
        for block in unpack(reply.body, reply.headers.get("content-encoding", ""), most):
            stopping.check()
            yield block
        line.check()
    except TooLarge as error:
        raise FetchFailed(
            f"{url} is larger than the {max_mb} MB allowed; "
            "take a smaller file, or raise AGENTKIT_MAX_FILE_MB."
        ) from error
    except UnknownPacking as error:
        raise FetchFailed(
            f"{url} comes packed as {str(error)!r}, which was not asked for and is not understood; "
            "download it with a browser and add the file."
        ) from error
    except (NotWhole, *LOST) as error:
        raise FetchFailed(
            f"{url} did not arrive whole ({_explain(error)}); nothing was taken in. Try again."
        ) from error


def _explain(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _read_media_type(reply: Reply) -> str:
    named = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    return named if named.count("/") == 1 else "text/plain"


def _choose_name(parts: SplitResult, media_type: str) -> str:
    """A name that says where it is from, with the extension of its type or else of its address."""
    path = PurePosixPath(unquote(parts.path))
    stem = path.name or parts.hostname or "page"
    name = re.sub(r"[^\w. -]+", "_", stem)[-100:].strip(". ") or "page"
    extension = _choose_extension(path, media_type)
    if name.lower().endswith(extension):
        return name
    return name + extension


def _choose_extension(path: PurePosixPath, media_type: str) -> str:
    """What the type adds to the name in the address; empty where that has an extension that
    fits.
    """
    extension = _EXTENSIONS.get(media_type) or mimetypes.guess_extension(media_type) or ""
    if not path.name:
        return extension or ".html"
    named = path.suffix.lower()
    is_unnamed_page = extension == ".html" and named not in (".html", ".htm")
    if named in SUPPORTED and not is_unnamed_page:
        return ""
    return extension

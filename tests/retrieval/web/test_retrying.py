"""Documents from the web are taken in once more."""

from __future__ import annotations

from agentkit.retrieval import source_at
from tests.retrieval.conftest import OWNER, Shelf
from tests.servers.raw_server import RawServer, measured


def test_a_page_that_could_not_be_had_again_is_had_anew_and_not_from_its_old_copy(
    shelf: Shelf,
) -> None:
    down = measured(b"no", status="503 Service Unavailable")
    with RawServer({"": measured(b"<p>The price is 10.</p>")}) as server:
        url = server.url("/price")
        statuses = []
        for answer in (server.replies[""], down):
            server.replies = {"": answer}
            (done,) = shelf.library.ingest(OWNER, "Docs", [source_at(url, shelf.settings)])
            statuses.append(done.status)
        assert statuses == ["indexed", "failed"]
        (again,) = shelf.library.retry(OWNER, [done.document_id])
        assert (again.status, "503 Service Unavailable" in again.error) == ("failed", True)
        assert "The price is 10." in shelf.library.text(OWNER, done.document_id)
        server.replies = {"": measured(b"<p>The price is 20.</p>")}
        (again,) = shelf.library.retry(OWNER, [done.document_id])
        assert (again.status, again.updated) == ("indexed", True)
    assert "The price is 20." in shelf.library.text(OWNER, done.document_id)

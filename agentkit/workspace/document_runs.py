"""What is done with the documents of a data folder, each in a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from agentkit import private, runs
from agentkit.errors import ConfigError
from agentkit.events import DocumentDone
from agentkit.ledger import Ledger
from agentkit.retrieval import Collection, Library, Source, source_at, sources_from_paths
from agentkit.retrieval.names import to_shown_name
from agentkit.retrieval.transfer.bundle import file_name
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.workspace import intake

SAMPLES = "Samples"
T = TypeVar("T")


class DocumentRuns:
    """Taking documents in, handing collections on, and building indexes."""

    settings: Settings
    ledger: Ledger
    library: Library

    def ingest(
        self, owner: str, collection: str, sources: Sequence[Source]
    ) -> Run[list[DocumentDone]]:
        """Take documents in, in a run of its own; copies in the folder of uploads are removed
        afterwards.
        """
        title = (
            f"{len(sources)} documents into {collection}"
            if len(sources) != 1
            else f"{sources[0].name} into {collection}"
        )
        return self._intake(
            title,
            owner,
            len(sources),
            lambda: intake.take_in(self.library, owner, collection, sources),
        )

    def ingest_url(self, owner: str, collection: str, url: str) -> Run[list[DocumentDone]]:
        """Fetch what is at a web address and take it in.

        When it cannot be had, a document that failed says why, and can be retried.
        """
        title = f"{to_shown_name(url)} into {collection}"
        return self._intake(
            title,
            owner,
            1,
            lambda: intake.take_in(
                self.library, owner, collection, [source_at(url, self.settings)]
            ),
        )

    def retry(self, owner: str, document_ids: Sequence[str]) -> Run[list[DocumentDone]]:
        """Take documents in once more that failed or were stopped."""
        ids = list(document_ids)
        title = "1 document once more"
        if len(ids) != 1:
            title = f"{len(ids)} documents once more"
        return self._intake(title, owner, len(ids), lambda: self.library.retry(owner, ids))

    def ingest_samples(self, owner: str) -> Run[list[DocumentDone]]:
        """Take in the sample documents that ship with the project."""
        sources = []
        if self.settings.samples.is_dir():
            sources = sources_from_paths([self.settings.samples])
        if not sources:
            raise ConfigError(
                f"There are no sample documents in {self.settings.samples}; install from the"
                " project's folder."
            )
        return self.ingest(owner, SAMPLES, sources)

    def build_version(self, owner: str, version_id: str) -> Run[int]:
        """Build what an index version lacks, in a run of its own; raises NotFound at once."""
        return self._version_run(
            "index", owner, version_id, lambda: self.library.versions.build(owner, version_id)
        )

    def promote_version(self, owner: str, version_id: str) -> Run[None]:
        """Let an index version answer, after building what it lacks, in a run of its own; raises
        NotFound at once.
        """
        return self._version_run(
            "switch", owner, version_id, lambda: self.library.versions.promote(owner, version_id)
        )

    def export_collection(self, owner: str, collection: str, path: Path | None = None) -> Run[Path]:
        """Write a collection to a file, which is the run's result; raises NotFound at once.

        Without a path it lies below the folder `exports` of the data folder, in a folder of its
        own: names of several collections may give one name of a file.
        """
        found = self.library.collection(owner, collection)
        name, own = found.name, self.settings.data / "exports"
        target = path or own / found.id / file_name(name)

        def work() -> Path:
            made = self.library.transfer.export(owner, name, target)
            if path is None:
                private.close_files(target.parent)
                private.close_files(own)
            return made

        return self._transfer(f"Export of {name}", owner, work)

    def import_collection(
        self, owner: str, path: Path, name: str = "", *, called: str = ""
    ) -> Run[Collection]:
        """Make a collection of such a file; a copy in the folder of uploads is removed afterwards.

        `called` is what messages call the file, by default its name.
        """
        called = called or path.name

        def work() -> Collection:
            try:
                return self.library.transfer.load(owner, path, name, called=called)
            finally:
                intake.discard(path, self.settings.data / "uploads")

        return self._transfer(f"Import of {name or called}", owner, work)

    def _version_run(self, kind: str, owner: str, version_id: str, work: Callable[[], T]) -> Run[T]:
        library = self.library
        version = library.versions.one(owner, version_id)
        everything = [*library.collections(owner), *library.collections(owner, hidden=True)]
        names = {found.id: found.name for found in everything}
        name = names[version.collection_id]
        listed = {one.version.id: one for one in library.versions.listed(owner, name)}
        title = f"{version.max_tokens} tokens, {version.embedder} for {name}"
        size = listed[version_id].missing
        return runs.start(work, kind=kind, title=title, owner=owner, ledger=self.ledger, size=size)

    def _transfer(self, title: str, owner: str, work: Callable[[], T]) -> Run[T]:
        return runs.start(work, kind="transfer", title=title, owner=owner, ledger=self.ledger)

    def _intake(
        self, title: str, owner: str, size: int, work: Callable[[], list[DocumentDone]]
    ) -> Run[list[DocumentDone]]:
        return runs.start(
            work, kind="ingest", title=title, owner=owner, ledger=self.ledger, size=size
        )

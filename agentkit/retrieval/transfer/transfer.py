"""Collections as one file: originals, chunks and vectors as Parquet, and a manifest that says what
is in it.

The index version that answers is exported; others beside it are not, they can be built again from
what is in the file.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit import private
from agentkit.core import stopping
from agentkit.documents import Limits
from agentkit.errors import ConfigError, NotFound, StoreError, explain_os
from agentkit.messages import new_id
from agentkit.retrieval.index.indexes import Indexes
from agentkit.retrieval.names import check_name, to_shown_name
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.chunk_table import marks
from agentkit.retrieval.store.originals import Originals
from agentkit.retrieval.store.store import UNFINISHED, Store
from agentkit.retrieval.transfer import bundle
from agentkit.retrieval.transfer.bundle import CHUNKS, DOCUMENTS, Bundle, Writer
from agentkit.retrieval.transfer.bundle_tables import Checked, TableWriter, groups
from agentkit.retrieval.types import Collection, IndexVersion

if TYPE_CHECKING:
    import pyarrow

_LARGEST_DIMENSION = 65_536
_GROUP_DOCUMENTS, _GROUP_CHUNKS, _GROUP_BYTES = 500, 2_000, 16 * 2**20
"""So much, or one document that is larger, is read from the database at once."""
IMPORTED = "imported:"
"""Before the path that a document came from elsewhere: no file of this machine is to be read for
it.
"""


@dataclass(frozen=True, slots=True)
class _Content:
    """What the manifest says of the collection."""

    name: str
    options: SearchOptions
    version: IndexVersion
    probe: Sequence[float]
    """What the embedder made of the probe text; empty when that is not known."""
    documents: int
    chunks: int


class Transfer:
    """Writes and reads such files."""

    def __init__(
        self, store: Store, originals: Originals, indexes: Indexes, limits: Limits
    ) -> None:
        self._store, self._originals, self._indexes = store, originals, indexes
        self._limits = limits
        self._database = store.database

    def export(self, owner: str, collection: str, path: Path) -> Path:
        """Write the collection to a file at `path`, in place of one that is there, and give the
        path.

        Documents that are taken in just now are in it as they answered before. Raises NotFound,
        Stopped, and StoreError when the file cannot be written; what was at `path` stays as it was
        then.
        """
        found, version, options = self._look_up(owner, collection)
        with bundle.writing(path) as writer:
            documents, chunks, contents = self._write_tables(writer, version, path.parent)
            self._write_originals(writer, contents)
            if self._look_up(owner, collection)[1].id != version.id:
                raise StoreError(
                    f"Another index version took over in {collection!r} while it was exported;"
                    " export it once more."
                )
            writer.finish(
                {
                    "collection": {"name": found.name, "options": json.loads(options.to_json())},
                    "version": {
                        "embedder": version.embedder,
                        "dimension": version.dimension,
                        "max_tokens": version.max_tokens,
                        "overlap": version.overlap,
                        "probe": list(self._store.version_table.probe(version)),
                    },
                    "counts": {"documents": documents, "chunks": chunks},
                }
            )
        return path

    def load(self, owner: str, path: Path, name: str = "", *, called: str = "") -> Collection:
        """Make a collection of the file, under the name it had or another; whole or not at all.

        `called` is what messages call the file, by default its name. Raises ConfigError when the
        file is not an exported collection, damaged, from a newer version or beyond the limits, or
        the name is taken; StoreError when the data folder cannot be written; and Stopped. The
        embedder need not be here: words are found without it.
        """
        with bundle.reading(path, called) as opened:
            content = _read_content(opened)
            wanted = self._free_name(owner, name or content.name)
            checked = Checked(
                opened, content.version.dimension, content.documents, content.chunks, self._limits
            )
            added: set[str] = set()
            try:
                self._keep_originals(opened, added)
                with self._database.transaction():
                    version = self._add_collection(owner, self._free_name(owner, wanted), content)
                    ids = {old: new_id() for old in checked.lengths}
                    self._add_documents(opened, version, ids, content.documents)
                    self._add_chunks(opened, version, ids, content.chunks)
                # One of them may have been deleted with its last document meanwhile.
                self._keep_originals(opened, added)
            except BaseException:
                self._originals.remove_unused(self._store, added)
                raise
        self._indexes.of(version).settle()
        return self._look_up(owner, wanted)[0]

    # Writing

    def _look_up(self, owner: str, name: str) -> tuple[Collection, IndexVersion, SearchOptions]:
        found, searched = (
            self._store.collection(owner, name),
            self._store.find_searched(owner, name),
        )
        if found is None or searched is None:
            raise NotFound(f"There is no collection {name!r}; it may have been renamed or deleted.")
        return found, *searched

    def _write_tables(
        self, writer: Writer, version: IndexVersion, folder: Path
    ) -> tuple[int, int, set[str]]:
        """Gives the numbers of documents and of chunks, and the sha256 of the originals that belong
        to them.
        """
        contents: set[str] = set()
        # An archive takes one member after the other: the documents wait in a file of their own
        # until all chunks are written.
        with tempfile.TemporaryFile(dir=folder) as aside:
            with (
                closing(TableWriter(DOCUMENTS, aside)) as documents,
                writer.member(CHUNKS) as member,
                closing(TableWriter(CHUNKS, member)) as chunks,
            ):
                for ids in self._batches(version):
                    stopping.check()
                    with self._database.transaction():  # both as they are at one moment
                        some = self._database.arrow(
                            _EXPORTED.format(marks(ids)), [version.id, *[*ids] * 2]
                        )
                        pieces = self._database.arrow(
                            _PIECES.format(marks(ids)), [version.id, *ids]
                        )
                    documents.write(some)
                    chunks.write(pieces)
                    contents.update(
                        some.column("sha256").to_pylist(), some.column("pending_sha256").to_pylist()
                    )
            aside.seek(0)
            writer.copy(DOCUMENTS, aside)
        return documents.rows, chunks.rows, contents - {""}

    def _batches(self, version: IndexVersion) -> Iterator[list[str]]:
        """Ids of the documents that are exported, some at a time, in the order in which their
        chunks were added.
        """
        batch: list[str] = []
        chunks = size = 0
        for row in self._database.rows(
            _SIZES.format(marks(UNFINISHED)), [version.id, version.collection_id, *UNFINISHED]
        ):
            full = (
                chunks + row["chunks"] > _GROUP_CHUNKS
                or size + row["size"] > _GROUP_BYTES
                or len(batch) >= _GROUP_DOCUMENTS
            )
            if batch and full:
                yield batch
                batch, chunks, size = [], 0, 0
            batch.append(row["id"])
            chunks, size = chunks + row["chunks"], size + row["size"]
        if batch:
            yield batch

    def _write_originals(self, writer: Writer, contents: set[str]) -> None:
        for sha256 in sorted(contents):
            with suppress(FileNotFoundError), self._originals.path(sha256).open("rb") as opened:
                writer.original(sha256, opened)

    # Reading

    def _free_name(self, owner: str, name: str) -> str:
        name = check_name(name, "collection")
        if self._store.collection(owner, name) is not None:
            raise ConfigError(
                f"There is a collection {name!r} already; give another name for the imported one."
            )
        return name

    def _keep_originals(self, opened: Bundle, added: set[str]) -> None:
        """Copy those originals that are not here yet, durably; their names go into `added`."""
        for sha256 in opened.originals:
            target = self._originals.path(sha256)
            if target.exists():
                continue
            temporary = target.with_name(f"{uuid.uuid4().hex}.tmp")
            try:
                private.make_folder(target.parent)
                with open(temporary, "wb", opener=private.opener) as written:
                    written.writelines(opened.original(sha256))
                    written.flush()
                    os.fsync(written.fileno())
                added.add(sha256)
                temporary.replace(target)
            except OSError as error:
                raise StoreError(
                    f"An original of {opened.name} cannot be copied to {target}"
                    f" ({explain_os(error)}); check free space and permissions."
                ) from error
            finally:
                temporary.unlink(missing_ok=True)

    def _add_collection(self, owner: str, name: str, content: _Content) -> IndexVersion:
        self._store.add_collection(owner, name, False, content.version)
        found, version, _ = self._look_up(owner, name)
        self._store.set_options(found.id, content.options)
        if content.probe:
            self._store.version_table.keep_probe(version, content.probe)
        return version

    def _add_documents(
        self, opened: Bundle, version: IndexVersion, ids: dict[str, str], count: int
    ) -> None:
        import pyarrow.compute as pc

        for group in groups(opened, DOCUMENTS, count):
            known = [ids[old] for old in group.column("id").to_pylist()]
            group = _with(group, "id", known)
            texts = group.select(["id", "text", "sections"]).rename_columns(
                ["document_id", "text", "sections"]
            )
            self._database.insert_arrow("texts", texts.filter(pc.is_valid(texts.column("text"))))
            rows = _with(
                group.drop_columns(["text", "sections"]), "version_id", [version.id] * len(known)
            )
            rows = _with(rows, "collection_id", [version.collection_id] * len(known))
            names = [to_shown_name(name) for name in group.column("name").to_pylist()]
            rows = _with(rows, "name", names)
            sources = [_source(source) for source in group.column("source").to_pylist()]
            self._database.insert_arrow("documents", _with(rows, "source", sources))

    def _add_chunks(
        self, opened: Bundle, version: IndexVersion, ids: dict[str, str], count: int
    ) -> None:
        for group in groups(opened, CHUNKS, count):
            numbers = self._database.rows(
                "select nextval('changes') as id from range(?)", [group.num_rows]
            )
            rows = _with(
                group, "document_id", [ids[old] for old in group.column("document_id").to_pylist()]
            )
            rows = _with(rows, "id", sorted(row["id"] for row in numbers))
            self._database.insert_arrow(
                "chunks", _with(rows, "version_id", [version.id] * group.num_rows)
            )


def _with(table: pyarrow.Table, name: str, values: Sequence[object]) -> pyarrow.Table:
    """The table with this column, in place of one of that name."""
    import pyarrow

    if name in table.column_names:
        table = table.drop_columns([name])
    return table.append_column(name, pyarrow.array(values))


def _source(source: str) -> str:
    """Where a document came from, so that no path leads to a file of this machine."""
    if Path(source).is_absolute():
        return IMPORTED + source
    return source


def _read_content(opened: Bundle) -> _Content:
    """What the manifest says; raises ConfigError for impossible values."""
    try:
        manifest = opened.manifest
        collection, version, counts = (
            manifest["collection"],
            manifest["version"],
            manifest["counts"],
        )
        name, embedder = collection["name"], version["embedder"]
        sizes = [
            version["dimension"],
            version["max_tokens"],
            version["overlap"],
            counts["documents"],
            counts["chunks"],
        ]
        probe = [float(number) for number in version["probe"]]
        options = SearchOptions.from_json(json.dumps(collection["options"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise opened.refuse(f"its manifest is not as it should be ({error}).") from error
    dimension, max_tokens, overlap, documents, chunks = sizes
    are_of_their_types = set(map(type, sizes)) == {int} and set(map(type, (name, embedder))) == {
        str
    }
    if not are_of_their_types or not _are_possible(dimension, max_tokens, overlap, min(sizes)):
        raise opened.refuse(
            f"its manifest says impossible sizes ({version.get('dimension')} numbers in a vector,"
            " for example)."
        )
    if len(probe) not in (0, dimension) or not all(math.isfinite(number) for number in probe):
        raise opened.refuse("its manifest has an impossible probe of the embedding model.")
    made = IndexVersion("", "", embedder, dimension, max_tokens, overlap)
    return _Content(name, options, made, probe, documents, chunks)


def _are_possible(dimension: int, max_tokens: int, overlap: int, least: int) -> bool:
    return 0 < dimension <= _LARGEST_DIMENSION and 0 <= overlap < max_tokens < 2**31 and least >= 0


_SIZES = """select d.id, coalesce(k.chunks, 0) as chunks, coalesce(strlen(t.text), 0) as size
from documents d
    left join (select document_id, count(*) as chunks, min(id) as first from chunks
    where version_id = ? group by document_id) k
        on k.document_id = d.id
    left join texts t on t.document_id = d.id
    where d.collection_id = ? and (d.sha256 <> '' or d.status not in ({}))
    order by k.first nulls last, d.created_at, d.id"""
_EXPORTED = f"""select d.id, d.name, d.source, d.sha256, d.bytes, d.media_type, d.title, d.pages,
d.error, d.note, d.seconds,
    case when d.status in ('failed', 'stopped') then d.pending_sha256 else d.sha256 end
    as pending_sha256,
    case when d.status in ({", ".join(f"'{status}'" for status in UNFINISHED)}) then 'indexed'
    else d.status end as status,
    coalesce(k.chunks, 0) as chunks, coalesce(k.tokens, 0) as tokens, d.created_at, d.updated_at,
    d.tags,
    t.text, t.sections::varchar as sections
    from documents d left join texts t on t.document_id = d.id
    left join (select document_id, count(*) as chunks, sum(tokens)::bigint as tokens from chunks
        where version_id = ? and document_id in ({{0}}) group by document_id) k
        on k.document_id = d.id
    where d.id in ({{0}})"""
_PIECES = """select document_id, ordinal, text, heading, page, place, start_at, end_at, tokens,
embedding from chunks
    where version_id = ? and document_id in ({0}) order by id"""

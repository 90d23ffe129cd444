"""The tags and the media types of documents, in the database."""

from __future__ import annotations

from collections.abc import Sequence

from agentkit.database import Database
from agentkit.errors import ConfigError
from agentkit.retrieval.names import MOST_TAGS, check_tag
from agentkit.retrieval.store.chunk_table import CHANGES, LISTED


class TagTable:
    """What documents are narrowed by."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def change(
        self, owner: str, ids: Sequence[str], add: Sequence[str], remove: Sequence[str]
    ) -> int:
        """Add and take away tags; gives how many of the documents there are. Raises ConfigError,
        and changes nothing then.
        """
        new, old = [check_tag(tag) for tag in add], [tag.strip() for tag in remove]
        if not ids:
            return 0
        with self._database.transaction():
            self._database.touch(CHANGES)  # what a scope leaves
            rows = self._database.rows(
                f"""select d.id, d.name, len({_RETAGGED}) as tags from documents d
                join collections c on c.id = d.collection_id
                where c.owner = ? and d.id in {LISTED}""",
                [new, old, owner, list(ids)],
            )
            for row in rows:
                if row["tags"] > MOST_TAGS:
                    raise ConfigError(
                        f"{row['name']} would have {row['tags']} tags; a document can have"
                        f" {MOST_TAGS}. Remove some."
                    )
            found = [row["id"] for row in rows]
            self._database.execute(
                f"update documents set tags = {_RETAGGED} where id in {LISTED}", [new, old, found]
            )
        return len(rows)

    def tags(self, collection_id: str) -> list[str]:
        """The tags of the collection's documents, each once, in order."""
        return self._values("unnest(tags)", collection_id)

    def media_types(self, collection_id: str) -> list[str]:
        """The media types of the collection's documents that answer, each once, in order."""
        return self._values("media_type", collection_id, "and media_type <> '' and chunks > 0")

    def _values(self, what: str, collection_id: str, condition: str = "") -> list[str]:
        sql = (
            f"select distinct {what} as found from documents where collection_id = ? {condition}"
            " order by found"
        )
        return [row["found"] for row in self._database.rows(sql, [collection_id])]


_RETAGGED = """list_sort(list_distinct(list_filter(
    list_concat(tags, ?::varchar[]), lambda tag: not list_contains(?::varchar[], tag))))"""

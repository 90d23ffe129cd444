"""The views that a SELECT may read, with their columns: names and types stay as they are.

Each holds what belongs to one owner. Times are UTC, costs US dollars; an unknown cost is null.
`docs/usage-sql.md` has the same tables.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from agentkit.database.asked import ROW
from agentkit.ledger.queries import COMPLETION, COST, PROMPT, RUN_S


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and how it comes about."""

    name: str
    kind: str
    """Its type, in DuckDB's words."""
    about: str
    sql: str = ""
    """Where it is not a column of that name."""


@dataclass(frozen=True, slots=True)
class View:
    """A table that a SELECT may read."""

    name: str
    about: str
    columns: tuple[Column, ...]
    source: str
    """What it is selected from, with `?` for the owner; it ends with a condition."""
    row: str = ""
    """What tells its rows apart for as long as nothing changes, as a number; empty for nothing."""

    def with_rows(self) -> View:
        """The same with a column of these numbers."""
        numbers = Column(ROW, "integer", "the number of the row", self.row)
        return replace(self, columns=(*self.columns, numbers))

    def select(self, columns: Collection[str]) -> str:
        """The statement that gives these columns of its rows."""
        picked = [
            f"cast({one.sql or one.name} as {one.kind}) as {one.name}"
            for one in self.columns
            if one.name in columns
        ]
        return f"select {', '.join(picked)} {self.source}"


def describe_schema(views: Sequence[View] | None = None) -> str:
    """The views as text, one column a line, for whoever writes a SELECT."""
    return "\n\n".join(map(_describe, VIEWS.values() if views is None else views))


def _describe(view: View) -> str:
    lines = [f"  {one.name} {one.kind.upper()}  -- {one.about}" for one in view.columns]
    return "\n".join([f"{view.name}: {view.about}", *lines])


_CALLS = View(
    "calls",
    "Each attempt to ask a model, failed and stopped ones too.",
    (
        Column("id", "varchar", "the call; its attempts share it", "c.id"),
        Column("attempt", "integer", "counted from 1"),
        Column("run_id", "varchar", "the run that asked; null outside of runs", "c.run_id"),
        Column("chat_id", "varchar", "null outside of chats", "c.chat_id"),
        Column("chat", "varchar", "the chat's title; empty without one", "coalesce(h.title, '')"),
        Column("message_id", "varchar", "the answer that it was for", "c.message_id"),
        Column("agent", "varchar", "who asked; empty for none"),
        Column("team", "varchar", "the team of the run; empty for none", "coalesce(r.team, '')"),
        Column("provider", "varchar", "the server"),
        Column("model", "varchar", "as the server calls it", "c.model"),
        Column("purpose", "varchar", "chat, embedding, rerank, test or follow-up"),
        Column("status", "varchar", "ok, failed, stopped or cached"),
        Column("error", "varchar", "why it failed, in words; empty when it did not"),
        Column("error_type", "varchar", "the kind of error, such as RateLimited"),
        Column("input_tokens", "bigint", "of the prompt, those that no cache knew"),
        Column("cache_read_tokens", "bigint", "of the prompt, those out of the server's cache"),
        Column("cache_write_tokens", "bigint", "of the prompt, those written into its cache"),
        Column("output_tokens", "bigint", "of the reply, without thinking"),
        Column("reasoning_tokens", "bigint", "of the reply, thinking"),
        Column("prompt_tokens", "bigint", "input, cache read and cache write together", PROMPT),
        Column("completion_tokens", "bigint", "output and reasoning together", COMPLETION),
        Column("estimated", "boolean", "whether the tokens are our estimate"),
        Column("cost", "double", "US dollars; null when the price is unknown", COST),
        Column("seconds", "double", "from sending to the last word"),
        Column("first_token_s", "double", "seconds to the first word; null without streaming"),
        Column("finished_at", "timestamp", "when it ended, UTC", "c.finished_at"),
    ),
    # As on the usage page: what an imported chat took was paid for elsewhere.
    """from llm_calls c left join chats h on h.id = c.chat_id and h.deleted_at is null
        left join runs r on r.id = c.run_id where c.owner = ? and not c.imported""",
    row="c.rowid",
)
_RUNS = View(
    "runs",
    "Each question, ingest or other piece of work, with what its calls took.",
    (
        Column("id", "varchar", "the run", "r.id"),
        Column("kind", "varchar", "such as chat, ingest or try", "r.kind"),
        Column("title", "varchar", "the question, or what was done", "r.title"),
        Column(
            "team", "varchar", "the team that was asked; empty for none", "coalesce(r.team, '')"
        ),
        Column("state", "varchar", "running, finished, failed, stopped, interrupted, waiting"),
        Column("reason", "varchar", "why it ended so; empty for none", "r.reason"),
        Column("chat_id", "varchar", "null outside of chats", "r.chat_id"),
        Column("message_id", "varchar", "the answer that it gave", "r.message_id"),
        Column("started_at", "timestamp", "UTC"),
        Column("finished_at", "timestamp", "UTC; null while it goes on", "r.finished_at"),
        Column(
            "seconds",
            "double",
            "from start to end; null while it goes on",
            RUN_S,
        ),
        Column("calls", "bigint", "attempts to ask a model", "coalesce(u.calls, 0)"),
        Column("tokens", "bigint", "of prompts and replies", "coalesce(u.tokens, 0)"),
        Column("cost", "double", "US dollars of the calls with a price; null for none", "u.cost"),
        Column("unpriced", "bigint", "calls of unknown price", "coalesce(u.unpriced, 0)"),
    ),
    f"""from runs r left join (select c.run_id, count(*) as calls, sum({COST}) as cost,
        sum({PROMPT} + {COMPLETION}) as tokens,
        count(*) filter ({COST} is null and {PROMPT} + {COMPLETION} > 0) as unpriced
        from llm_calls c where not c.imported group by c.run_id) u on u.run_id = r.id
        where r.owner = ?""",
    row="r.rowid",
)
_MESSAGES = View(
    "messages",
    "What was said in the chats that are not deleted, inner messages of agents included.",
    (
        Column("id", "varchar", "the message", "m.id"),
        Column("chat_id", "varchar", "the chat", "m.chat_id"),
        Column("chat", "varchar", "the chat's title", "h.title"),
        Column("parent_id", "varchar", "the message before it; null for the first", "m.parent_id"),
        Column("run_id", "varchar", "the run that it was said in", "m.run_id"),
        Column("sender", "varchar", "an agent, or user"),
        Column("recipient", "varchar", "who it was said to"),
        Column("role", "varchar", "user, assistant, tool or function"),
        Column("is_inner", "boolean", "said among agents", "coalesce(m.extra->>'inner', 'false')"),
        Column("content", "varchar", "its text"),
        Column("status", "varchar", "complete, stopped or failed"),
        Column("model", "varchar", "the model that was chosen; null for none", "m.extra->>'model'"),
        Column(
            "citations",
            "integer",
            "passages that it points to",
            "coalesce(json_array_length(m.extra->'citations'), 0)",
        ),
        Column("rating", "varchar", "up or down; null where nobody said", "f.value"),
        Column("comment", "varchar", "what goes with the rating", "f.comment"),
        Column("created_at", "timestamp", "UTC", "m.created_at"),
    ),
    """from messages m join chats h on h.id = m.chat_id and h.deleted_at is null
        left join feedback f on f.message_id = m.id and f.owner = h.owner where h.owner = ?""",
    row="m.rowid",
)
_RETRIEVALS = View(
    "retrievals",
    "Each look-up of passages in a run.",
    (
        Column("run_id", "varchar", "the run that looked up", "e.run_id"),
        Column("seq", "integer", "its place in the run's events"),
        Column("chat_id", "varchar", "null outside of chats", "r.chat_id"),
        Column("happened_at", "timestamp", "UTC"),
        Column("query", "varchar", "what was looked for", "e.data->>'query'"),
        Column("collection", "varchar", "where", "e.data->>'collection'"),
        Column("mode", "varchar", "hybrid, dense, lexical or exact", "e.data->>'mode'"),
        Column("hits", "integer", "passages that were found", "json_array_length(e.data->'hits')"),
        Column(
            "weak",
            "integer",
            "passages left out, as they scored below the threshold",
            "coalesce(e.data->'left_out'->>'weak', '0')",
        ),
        Column(
            "best_score",
            "double",
            "of the first passage; null for none",
            "e.data->>'$.hits[0].score'",
        ),
        Column("seconds", "double", "how long it took", "e.data->>'seconds'"),
        Column(
            "document_ids",
            "varchar[]",
            "the documents of the passages, in their order",
            "coalesce(e.data->>'$.hits[*].document_id', [])",
        ),
    ),
    """from events e join runs r on r.id = e.run_id
        where r.owner = ? and e.kind = 'Retrieved'""",
    row="e.rowid",
)
_CITATIONS = View(
    "citations",
    "Each passage that a message of a chat points to.",
    (
        Column("message_id", "varchar", "the answer", "m.id"),
        Column("run_id", "varchar", "the run that gave it", "m.run_id"),
        Column("chat_id", "varchar", "the chat", "m.chat_id"),
        Column("marker", "integer", "the number in the text", "one->>'marker'"),
        Column("document_id", "varchar", "the document", "one->>'document_id'"),
        Column("document", "varchar", "its name when it was cited", "one->>'document'"),
        Column("page", "integer", "null without pages", "one->>'page'"),
        Column("heading", "varchar", "above the passage; empty for none", "one->>'heading'"),
        Column("score", "double", "of the look-up", "one->>'score'"),
        Column("text", "varchar", "the passage", "one->>'text'"),
        Column("cited_at", "timestamp", "UTC", "m.created_at"),
    ),
    """from (select m.*, unnest(cast(m.extra->'citations' as json[])) as one from messages m
        join chats h on h.id = m.chat_id and h.deleted_at is null where h.owner = ?) m""",
)
_DOCUMENTS = View(
    "documents",
    "The documents that there are now.",
    (
        Column("id", "varchar", "the document", "d.id"),
        Column("collection", "varchar", "where it is kept", "c.name"),
        Column("attached", "boolean", "whether it is attached to one chat alone", "c.hidden"),
        Column("name", "varchar", "of the file", "d.name"),
        Column("title", "varchar", "as it stands in the file; empty for none", "d.title"),
        Column("media_type", "varchar", "such as application/pdf", "d.media_type"),
        Column("bytes", "bigint", "of the file"),
        Column("pages", "integer", "null without pages"),
        Column("chunks", "bigint", "pieces that can be found"),
        Column("tokens", "bigint", "of the text"),
        Column("status", "varchar", "such as indexed or failed", "d.status"),
        Column("error", "varchar", "why it could not be taken in; empty when it was", "d.error"),
        Column("tags", "varchar[]", "what it is tagged with", "coalesce(d.tags, [])"),
        Column("created_at", "timestamp", "UTC", "d.created_at"),
        Column("updated_at", "timestamp", "UTC", "d.updated_at"),
    ),
    """from documents d join collections c on c.id = d.collection_id
        join index_versions v on v.id = d.version_id and v.state = 'active' where c.owner = ?""",
)
VIEWS = {one.name: one for one in (_CALLS, _RUNS, _MESSAGES, _RETRIEVALS, _CITATIONS, _DOCUMENTS)}
"""By their names."""

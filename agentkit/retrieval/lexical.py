"""The lexical index of one collection: BM25 by tantivy over title, heading and text. A cache: the truth is in the database.

Words are folded to plain lower-case letters and stemmed as English ones; the same is done to the query, so exact words of any
language are found too. Scripts without spaces are indexed by single characters and pairs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentkit.retrieval.chunk_table import IndexRow

_MEMORY = 15_000_000
_MOST_TERMS = 256
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
"""Thai, Lao, Burmese, Khmer, Kana, Han and Hangul."""


class LexicalIndex:
    """Chunks by their words. Writing is for one thread at a time; reading is safe beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None
        self._open()

    def __len__(self) -> int:
        return max(0, int(self._searcher.num_docs) - (1 if self.change else 0))

    def clear(self) -> None:
        """Start anew with nothing."""
        self.settle()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._open()

    def add(self, rows: Sequence[IndexRow]) -> None:
        """Add chunks under new ids; seen by searches after `commit`."""
        import tantivy

        writer = self._writing()
        for row in rows:
            writer.add_document(
                tantivy.Document(id=row.id, head=row.head, text=row.text, pairs=" ".join(_pairs(f"{row.head} {row.text}")))
            )

    def remove(self, ids: Sequence[int]) -> None:
        """Remove chunks; ids that are not there are passed over. Seen by searches after `commit`."""
        writer = self._writing()
        for number in ids:
            writer.delete_documents_by_term("id", number)

    def commit(self, change: int) -> None:
        """Make all since the last commit durable and visible, as containing every change up to that number."""
        import tantivy

        writer = self._writing()
        # The number is a document of the index itself, so that both are written in one step.
        writer.delete_documents_by_term("kind", "state")
        writer.add_document(tantivy.Document(kind="state", change=change))
        writer.commit()
        self._refresh()

    def settle(self) -> None:
        """Let background merges end and free the writer; the next change opens another."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.wait_merging_threads()

    def search(self, query: str, k: int, allowed: Sequence[int] | None = None) -> tuple[list[int], list[float]]:
        """Ids and BM25 scores of the at most `k` best chunks that share a word with the query, best first."""
        import tantivy

        words = self._query(query)
        if words is None or not k or (allowed is not None and not allowed):
            return [], []
        if allowed is not None:
            inside = tantivy.Query.const_score_query(tantivy.Query.term_set_query(self._schema, "id", list(allowed)), 0.0)
            words = tantivy.Query.boolean_query([(tantivy.Occur.Must, words), (tantivy.Occur.Must, inside)])
        searcher = self._searcher
        hits = searcher.search(words, k, count=False).hits
        ids = searcher.fast_field_values("id", [address for _, address in hits])
        found = sorted(zip((score for score, _ in hits), ids, strict=True), key=lambda hit: (-hit[0], hit[1]))
        return [int(number) for _, number in found], [float(score) for score, _ in found]

    def ids(self) -> set[int]:
        """Ids of all chunks in it, for checks."""
        import tantivy

        searcher = self._searcher
        everything = searcher.search(tantivy.Query.all_query(), max(1, searcher.num_docs), count=False).hits
        return {int(number) for number in searcher.fast_field_values("id", [at for _, at in everything]) if number is not None}

    def _open(self) -> None:
        import tantivy

        self._schema = _schema()
        self._words, self._plain_words = _analyzer(stop=True), _analyzer(stop=False)
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._index = self._opened(tantivy)
        except (ValueError, OSError, RuntimeError):  # damaged, or of another layout: a cache is built again
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            self._index = self._opened(tantivy)

    def _opened(self, tantivy: Any) -> Any:
        self._index = tantivy.Index(self._schema, path=str(self._folder))
        self._index.register_tokenizer("words", self._plain_words)
        self._refresh()
        return self._index

    def _refresh(self) -> None:
        import tantivy

        self._index.reload()
        self._searcher = self._index.searcher()
        found = self._searcher.search(tantivy.Query.term_query(self._schema, "kind", "state"), 1).hits
        self.change = int(self._searcher.fast_field_values("change", [found[0][1]])[0]) if found else 0
        """The number of the last change that is in the index; 0 when it is empty."""

    def _writing(self) -> Any:
        if self._writer is None:
            self._writer = self._index.writer(_MEMORY, 1)
        return self._writer

    def _query(self, text: str) -> Any:
        import tantivy

        words = self._words.analyze(text) or self._plain_words.analyze(text)
        terms = [(field, word) for word in dict.fromkeys(words) for field in ("text", "head")]
        terms += [("pairs", pair) for pair in dict.fromkeys(_pairs(text, query=True))]
        if not terms:
            return None
        return tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, field, word, "freq"))
                for field, word in terms[:_MOST_TERMS]
            ]
        )


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    for field in ("text", "head"):
        builder.add_text_field(field, tokenizer_name="words", index_option="freq")
    builder.add_text_field("pairs", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_integer_field("change", fast=True)
    return builder.build()


def _analyzer(stop: bool) -> Any:
    """The analysis of words; `stop` leaves out English words without content, for queries."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(64))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
    )
    if stop:
        builder = builder.filter(Filter.stopword("english"))
    return builder.filter(Filter.stemmer("english")).build()


def _pairs(text: str, query: bool = False) -> Iterator[str]:
    """Pairs of neighbouring characters in scripts without spaces, and the single ones; a query has these only where it must."""
    for match in _UNSPACED.finditer(text):
        run = match.group()
        yield from (run[place : place + 2] for place in range(len(run) - 1))
        if not query or len(run) == 1:
            yield from run

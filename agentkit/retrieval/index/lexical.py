"""The lexical index of one collection: BM25 by tantivy over title, heading and text. A cache: the
truth is in the database.

A chunk is indexed in its language (see `languages`), or else as English, with title and heading as
part of it; a query is analysed in each language that chunks have, and each of its words counts
once, with the best match. What is written without spaces is found by its pairs of characters; see
`terms`.
"""

from __future__ import annotations

import math
import shutil
import threading
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from agentkit import private
from agentkit.core.given import list_missing
from agentkit.retrieval.index.languages import STEMMED, language, languages_of
from agentkit.retrieval.index.terms import (
    analyzer,
    drop_unspaced,
    normalise,
    pairs,
    parts,
    query_pairs,
    stems,
)
from agentkit.retrieval.store.chunk_table import IndexRow

_MEMORY = 15_000_000
_MOST_WORDS = 256
_MOST_CHARACTERS = 20_000
"""Of a query; what is beyond is not looked for."""
_K1 = 1.2
"""BM25's constant for saturation, as tantivy has it."""
_SHARED_PARTS = 3
"""Parts that a German word and a compound must share: a stretch of six letters, or all of a shorter
word.
"""

_OTHERS = sorted(set(STEMMED.values()) - {"english"})
Term = tuple[str, str]
"""A field and what stands in it."""


class LexicalIndex:
    """Chunks by their words. Writing is for one thread at a time; reading is safe beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None
        self._kept = threading.local()
        """What `_analyse` has found last, for each thread: several search at a time."""
        self._open()

    def __len__(self) -> int:
        return max(0, int(self._searcher.num_docs) - bool(self.change))

    @property
    def waste(self) -> float:
        """The share of removed chunks that are still in the files, where every score counts them, 0
        to 1.
        """
        if not self._held:
            return 0.0
        return 1 - len(self) / self._held

    def clear(self) -> None:
        """Start anew with nothing."""
        self.settle()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._open()

    def add(self, rows: Sequence[IndexRow]) -> None:
        """Add chunks under new ids; seen by searches after `commit`."""
        writer = self._open_writer()
        for _, of_document in groupby(rows, itemgetter("document_id")):
            for document in self._documents(list(of_document)):
                writer.add_document(document)

    def empty(self) -> None:
        """Remove all chunks and what is left of removed ones. Seen by searches after `commit`."""
        self._open_writer().delete_all_documents()

    def remove(self, ids: Sequence[int]) -> None:
        """Remove chunks; ids that are not there are passed over. Seen by searches after
        `commit`.
        """
        writer = self._open_writer()
        for number in ids:
            writer.delete_documents_by_term("id", number)

    def commit(self, change: int) -> None:
        """Make all since the last commit durable and visible, as containing every change up to that
        number.
        """
        import tantivy

        writer = self._open_writer()
        # The number is a document of the index itself, so that both are written in one step.
        writer.delete_documents_by_term("kind", "state")
        writer.add_document(tantivy.Document(kind="state", change=change))
        writer.commit()
        private.close_files(self._folder)
        self._refresh()

    def settle(self) -> None:
        """Let background merges end and free the writer; the next change opens another."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.wait_merging_threads()
            private.close_files(self._folder)

    def search(
        self, query: str, k: int, allowed: Sequence[int] | None = None
    ) -> tuple[list[int], list[float]]:
        """Ids and BM25 scores of the at most `k` best chunks that share a word with the query, best
        first.
        """
        import tantivy

        searcher = self._searcher
        clauses = [self._clause(choices) for choices in self._analyse(query)]
        if not clauses or not k:
            return [], []
        words = tantivy.Query.boolean_query([(tantivy.Occur.Should, clause) for clause in clauses])
        if allowed is not None:
            words = self._among(words, allowed)
        hits = searcher.search(words, k, count=False).hits

        ids = searcher.fast_field_values("id", [address for _, address in hits])
        scores = [float(score) for score, _ in hits]
        found = sorted(zip(scores, map(int, ids), strict=True), key=_best_first)
        return [number for _, number in found], [score for score, _ in found]

    def ceiling(self, query: str) -> float:
        """About the highest BM25 score that a chunk can have for the query, so that shares of it
        are comparable between queries.

        It is the sum of idf * (k1 + 1) over the query's words; one that is nowhere counts as if it
        were rare. 0 without words.
        """
        searcher = self._searcher
        # As the scores have it, with removed chunks until segments are merged.
        total = max(self._held, searcher.num_docs)
        bound = 0.0
        for choices in self._analyse(query):
            held = [searcher.doc_freq(*term) for term in choices if term[0] != "parts"]
            rarest = min(filter(None, held), default=0)
            bound += math.log(1 + (max(total, rarest) - rarest + 0.5) / (rarest + 0.5)) * (_K1 + 1)
        return bound

    def ids(self) -> set[int]:
        """Ids of all chunks in it, for checks."""
        import tantivy

        searcher = self._searcher
        most = max(1, searcher.num_docs)
        everything = searcher.search(tantivy.Query.all_query(), most, count=False).hits
        found = set(searcher.fast_field_values("id", [at for _, at in everything]))
        return found - {None}  # the number of the last change has no id

    def _documents(self, rows: Sequence[IndexRow]) -> Iterable[Any]:
        """Tantivy's documents of chunks that are of one document of ours."""
        texts: list[str] = []
        for row in rows:
            # Title and heading count twice, as fields of more weight do in BM25F (Robertson,
            # Zaragoza and Taylor 2004).
            head = f"{row['document']} {row['title']} {row['heading']}"
            texts.append(normalise(f"{head} {head} {row['text']}"))
        words = [drop_unspaced(text) for text in texts]
        for row, text, plain, spoken in zip(rows, texts, words, languages_of(words), strict=True):
            yield self._document(row["id"], text, plain, spoken or "english")

    def _document(self, number: int, text: str, words: str, spoken: str) -> Any:
        import tantivy

        document = tantivy.Document(id=number)
        document.add_text("kind", "chunk")
        if spoken == "english" and words is text:
            document.add_text("stems", text)
            return document
        found = stems(spoken, words)
        document.add_pre_tokenized_text("stems", _tokens([*found, *pairs(text)]))
        if spoken == "german":
            document.add_text("parts", " ".join(parts(found)))
        if spoken != "english":
            document.add_text("kind", spoken)
        return document

    def _open(self) -> None:
        import tantivy

        self._schema = _schema()
        private.make_folder(self._folder)
        try:
            self._index = self._open_files(tantivy)
        # Damaged, or of another layout: a cache is built again.
        except (ValueError, OSError, RuntimeError):
            shutil.rmtree(self._folder, ignore_errors=True)
            private.make_folder(self._folder)
            self._index = self._open_files(tantivy)

    def _open_files(self, tantivy: Any) -> Any:
        self._index = tantivy.Index(self._schema, path=str(self._folder))
        self._index.register_tokenizer("english", analyzer("english"))
        self._refresh()
        return self._index

    def _refresh(self) -> None:
        import tantivy

        self._index.reload()
        self._searcher = self._index.searcher()
        self._languages = [one for one in _OTHERS if self._searcher.doc_freq("kind", one)]
        """The languages of its chunks, English apart."""
        state = tantivy.Query.term_query(self._schema, "kind", "state")
        found = [at for _, at in self._searcher.search(state, 1).hits]
        (change,) = self._searcher.fast_field_values("change", found) if found else (0,)
        self.change = int(change)
        """The number of the last change that is in the index; 0 when it is empty."""
        self._held = int(self._searcher.doc_freq("kind", "chunk"))
        """Chunks in the files, removed ones included; 0 in files from before this was counted."""

    def _open_writer(self) -> Any:
        if self._writer is None:
            self._writer = self._index.writer(_MEMORY, 1)
            # of a commit that was killed: the next one would write files of the same names
            self._writer.garbage_collect_files()
        return self._writer

    def _analyse(self, query: str) -> list[list[Term]]:
        """For each word of the query the terms that it may match; kept, as after the best chunks
        their ceiling is asked for.
        """
        asked = (query, self._languages)
        last: tuple[object, list[list[Term]]] | None = getattr(self._kept, "last", None)
        if last is None or last[0] != asked:
            last = asked, self._find_terms(query)
            self._kept.last = last
        return last[1]

    def _find_terms(self, query: str) -> list[list[Term]]:
        """For each word of the query the terms that it may match, and for each pair of characters
        that one.
        """
        text = normalise(query[:_MOST_CHARACTERS])
        words = list(dict.fromkeys(analyzer().analyze(drop_unspaced(text))))[:_MOST_WORDS]
        spoken = self._guess_language(text, words)
        content = analyzer(spoken or "english", stop=True)
        meaningful = [word for word in words if content.analyze(word)]
        # An English question is not after German compounds, and looking for parts takes longer than
        # looking for words.
        compounds = "german" in self._languages and spoken in ("", "german")
        found = [self._choices(word, compounds) for word in meaningful or words]
        pairs = query_pairs(text)[:_MOST_WORDS]
        found += [[("stems", pair)] for pair in pairs]
        return list(filter(None, found))

    def _guess_language(self, text: str, words: Sequence[str]) -> str:
        """The language with the most words without content in the query, of those that chunks have;
        empty if unclear.
        """
        found = language(text)
        others = list_missing(self._languages, ("german",))
        if not others:
            return found
        asked = " ".join(words)
        candidates = (found or "english", *others)

        def count_content(spoken: str) -> int:
            return len(analyzer(spoken, stop=True).analyze(asked))

        least = min(candidates, key=count_content)
        if least == "english":
            return found
        return least

    def _choices(self, word: str, compounds: bool) -> list[Term]:
        """The terms of a word in every language that chunks have."""
        found: dict[Term, None] = {}
        for one in ("english", *self._languages):
            found |= dict.fromkeys(("stems", stem) for stem in stems(one, word))
        if compounds:
            found |= dict.fromkeys(("parts", stem) for stem in stems("german", word))
        return list(found)

    def _among(self, words: Any, allowed: Sequence[int]) -> Any:
        """The query for these words among the allowed chunks; the score is that of the words."""
        import tantivy

        ids = tantivy.Query.term_set_query(self._schema, "id", list(allowed))
        inside = tantivy.Query.const_score_query(ids, 0.0)
        both = [(tantivy.Occur.Must, words), (tantivy.Occur.Must, inside)]
        return tantivy.Query.boolean_query(both)

    def _clause(self, choices: Sequence[Term]) -> Any:
        """The best of the choices, so that a word counts once."""
        import tantivy

        clauses = [self._term(*choice) for choice in choices]
        if len(clauses) == 1:
            return clauses[0]
        return tantivy.Query.disjunction_max_query(clauses)

    def _term(self, field: str, stem: str) -> Any:
        import tantivy

        if field == "parts":
            return self._compound(stem)
        return tantivy.Query.term_query(self._schema, field, stem, "freq")

    def _compound(self, stem: str) -> Any:
        """Compounds with the German word in them, or what the word is composed of; scored as its
        mean part.
        """
        import tantivy

        found = list(dict.fromkeys(parts([stem])))
        if not found:
            return tantivy.Query.empty_query()
        terms = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "parts", part, "freq"))
            for part in found
        ]
        shared = tantivy.Query.boolean_query(
            terms, minimum_number_should_match=min(_SHARED_PARTS, len(found))
        )
        return tantivy.Query.boost_query(shared, 1 / len(found))


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    # One field for all languages: BM25's mean length would be wrong for a language that only some
    # chunks have. A change of what stands in it takes another name: files that have it not are made
    # anew from the database.
    builder.add_text_field("stems", tokenizer_name="english", index_option="freq")
    builder.add_text_field("parts", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_integer_field("change", fast=True)
    return builder.build()


def _tokens(terms: Sequence[str]) -> Any:
    from tantivy import PreTokenizedString, Token

    return PreTokenizedString(
        "", [Token(term, position, 0, 0) for position, term in enumerate(terms)]
    )


def _best_first(hit: tuple[float, int]) -> tuple[float, int]:
    return -hit[0], hit[1]

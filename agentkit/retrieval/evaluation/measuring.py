"""Measuring a search with a question set, and keeping what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from agentkit.core.given import list_missing
from agentkit.errors import ConfigError
from agentkit.messages import new_id
from agentkit.retrieval.evaluation.evaluation import trial
from agentkit.retrieval.library import Library
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.questions import Measurement, Question
from agentkit.retrieval.types import utc_now


def measure(
    library: Library,
    owner: str,
    set_id: str,
    collection: str,
    options: SearchOptions,
    version_id: str = "",
) -> Measurement:
    """Ask every question of the set, and keep what came of it; `version_id` is by default the
    version that answers.

    Emits a Retrieved without hits for each question, and the calls of the embedder. Raises Stopped,
    after which nothing is kept, NotFound, and ConfigError when the set is empty, or none of the
    documents that it expects is in the collection.
    """
    questions = library.questions.questions(owner, set_id)
    check_set(library, owner, set_id, collection, questions)
    usual = find_usual(library, owner, collection)
    version = version_id or usual[0]
    contents = library.questions.describe_contents(owner, collection)
    figures, results = trial(library, owner, collection, questions, options, version_id)
    measured = Measurement(
        new_id(),
        set_id,
        collection,
        version,
        options,
        figures,
        utc_now(),
        results,
        contents,
        usual == (version, options),
    )
    library.questions.keep(owner, measured)
    return measured


def find_usual(library: Library, owner: str, collection: str) -> tuple[str, SearchOptions]:
    """The id of the index version that answers, and how chats search; raises NotFound."""
    answering = library.versions.listed(owner, collection)[0].version
    return answering.id, library.options(owner, collection)


def unknown_documents(
    library: Library, owner: str, collection: str, questions: Sequence[Question]
) -> list[str]:
    """Names of expected documents that are not in the collection, in their order; raises
    NotFound.
    """
    there = {document.name for document in library.documents(owner, collection)}
    return list_missing(find_expected(questions), there)


def find_expected(questions: Sequence[Question]) -> list[str]:
    """Names of the documents that a question expects, each once."""
    names = chain.from_iterable(question.expected for question in questions)
    return list(dict.fromkeys(names))


def check_set(
    library: Library, owner: str, set_id: str, collection: str, questions: Sequence[Question]
) -> None:
    """Raise ConfigError when there is nothing to measure: no question, or none of the documents
    that are expected is in the collection.
    """
    name = library.questions.one(owner, set_id).name
    if not questions:
        raise ConfigError(f"The question set {name!r} has no questions; add some first.")
    expected = find_expected(questions)
    if unknown_documents(library, owner, collection, questions) == expected:
        some = ", ".join(expected[:3])
        raise ConfigError(
            f"None of the documents that {name!r} expects ({some}) is in the collection"
            f" {collection!r}; measure it on the collection that it was made for, or correct the"
            " names."
        )

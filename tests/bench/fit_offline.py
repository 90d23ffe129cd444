"""Fits the weights of the offline model: `python -m tests.bench.fit_offline`.

A conditional logit (McFadden 1974): of the units that can be quoted for a question, and of "nothing
answers", whose score is 0, each is right with a probability in proportion to exp(score). The score
is `BIAS` and the weighted features of `agentkit.llm.offline.rank`. Weights are those that make the
right ones of the 232 fitted questions (`bench_offline`) likeliest, by steepest ascent.

It prints them, and what they choose for the documents that were left out while fitting: in seven
turns each document, with the questions about it, is left out once. `MEANING_OF_WORDS` is what makes
them likeliest when it stands in for the cosine, the weights being given.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agentkit.llm.offline.answer import complete_unit, quote_units
from agentkit.llm.offline.passages import Passage
from agentkit.llm.offline.question import parse
from agentkit.llm.offline.rank import MOST_COMPARED, Ranker, Similarity
from agentkit.llm.offline.units import cut_units
from tests.bench.bench_offline import Item, found, items, library

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
FEATURES = 4
FOLDS = 7
STEPS, STEP = 10_000, 1.0
PENALTY = 0.1
"""Of half the squared weights, against the log-likelihood; by the cross-validation."""


@dataclass(frozen=True)
class Table:
    """A row for each question, a column for each unit; the first column is that nothing answers."""

    features: Floats
    """Of shape (questions, 1 + units, 1 + features); the first feature is 1, for the bias."""
    there: Flags
    right: Flags

    def of(self, rows: Flags) -> Table:
        """The questions of these rows."""
        return Table(self.features[rows], self.there[rows], self.right[rows])


def right_units(
    item: Item, given: Sequence[Passage], similarity: Similarity
) -> list[tuple[tuple[float, ...], bool]]:
    """The features of each unit that can be quoted, and whether the quotation would be right."""
    units, question = cut_units(given), parse(item.question)[-1]
    wanted = (*question.stems, *question.borrowed)
    made: list[tuple[tuple[float, ...], bool]] = []
    for one in Ranker(units, similarity).rank(question):
        said = quote_units(complete_unit(question, one.unit, units), False, wanted).lower()
        from_there = given[one.unit.rank].source.startswith(item.document)
        has_all = all(part.lower() in said for part in item.answer)
        made.append((one.features, bool(item.answer) and from_there and has_all))
    return made


def table(rows: Sequence[Sequence[tuple[tuple[float, ...], bool]]]) -> Table:
    """The questions side by side; where no unit is right, nothing answers."""
    shape = (len(rows), 1 + MOST_COMPARED)
    features = np.zeros((*shape, 1 + FEATURES))
    there, right = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    there[:, 0] = True
    for place, row in enumerate(rows):
        for column, (values, good) in enumerate(row, start=1):
            features[place, column] = (1.0, *values)
            there[place, column], right[place, column] = True, good
        right[place, 0] = not right[place].any()
    return Table(features, there, right)


def chances(weights: Floats, given: Table, among: Flags) -> Floats:
    """The probability of each column among those that are marked."""
    scores = np.where(among, given.features @ weights, -np.inf)
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    made: Floats = grown / grown.sum(axis=1, keepdims=True)
    return made


def fitted(given: Table) -> Floats:
    """The likeliest weights: bias, then those of the features."""
    weights = np.zeros(1 + FEATURES)
    kept = np.array([0.0] + [PENALTY] * FEATURES)
    for _ in range(STEPS):
        pull = chances(weights, given, given.right) - chances(weights, given, given.there)
        slope = np.einsum("qu,quf->f", pull, given.features) - kept * weights
        weights = weights + STEP * slope / len(given.there)
    return weights


def chosen_rightly(weights: Floats, given: Table) -> Flags:
    """Whether the likeliest column of each question is a right one."""
    best = np.where(given.there, given.features @ weights, -np.inf).argmax(axis=1)
    made: Flags = given.right[np.arange(len(best)), best]
    return made


def folds(asked: Sequence[Item]) -> npt.NDArray[np.int64]:
    """The turn in which each question is left out: with its document, or, having none, in order."""
    documents = sorted({one.document for one in asked if one.answer})
    return np.array(
        [
            (documents.index(one.document) if one.answer else place) % FOLDS
            for place, one in enumerate(asked)
        ]
    )


def by_words(given: Table, share: float) -> Table:
    """The same questions with this share of the words' coverage in place of the cosine."""
    features = given.features.copy()
    features[:, :, 2] = share * features[:, :, 1]
    return Table(features, given.there, given.right)


def log_likelihood(weights: Floats, given: Table) -> float:
    """Of the right columns."""
    right = (chances(weights, given, given.there) * given.right).sum(axis=1)
    return float(np.log(right).sum())


def main() -> None:
    asked = items("fitted")
    with tempfile.TemporaryDirectory() as folder, library(Path(folder)) as opened:
        rows = [right_units(one, found(opened, one), opened.similarity) for one in asked]
    complete, turn = table(rows), folds(asked)
    has_answer = np.array([bool(one.answer) for one in asked])
    weights = fitted(complete)
    print("BIAS =", round(weights[0], 1))
    print("WEIGHTS =", tuple(round(float(one), 1) for one in weights[1:]))
    shares = [number / 20 for number in range(1, 21)]
    best = max(shares, key=lambda one: log_likelihood(weights, by_words(complete, one)))
    print("MEANING_OF_WORDS =", best)
    left_out = np.zeros(len(asked), dtype=bool)
    for fold in range(FOLDS):
        out = turn == fold
        left_out[out] = chosen_rightly(fitted(complete.of(~out)), complete.of(out))
    for name, good in (("all", chosen_rightly(weights, complete)), ("left out", left_out)):
        print(f"{name}: the right unit of {good[has_answer].sum()} of {has_answer.sum()},", end=" ")
        print(f"refused {good[~has_answer].sum()} of {(~has_answer).sum()}")


if __name__ == "__main__":
    main()

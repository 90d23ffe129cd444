"""The offline model: no language model, it quotes what answers, and says so when nothing does.

It takes the question and the passages from the prompt and cuts these into units: sentences, list
items, table rows. Those that only repeat the question are left out. Each other one has four
features, from 0 to 1: the share of the question's words that it has, where rare words count more
and words in its heading half; the cosine of its meaning to the question's (without an embedder, a
share of the first); whether it holds what is asked for, as a date for `when`; and how early the
search had its passage. Their weighted sum is its score; `nothing answers` scores 0. The highest
wins, and brings along its list, or the sentence that it leans on. `rank` has the weights, which
tests/bench/fit_offline.py fits to 232 questions with known answers; tests/bench/bench_offline.py
measures how often it is right, also on 50 questions that had no part in that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

from agentkit.core.given import list_missing
from agentkit.llm.offline import question as questions
from agentkit.llm.offline.answer import choose_units, quote_units
from agentkit.llm.offline.passages import Passage, parse_passages, without_passages
from agentkit.llm.offline.question import Question
from agentkit.llm.offline.rank import Ranker, Scored, Similarity
from agentkit.llm.offline.summary import find_central
from agentkit.llm.offline.units import Unit, cut_units
from agentkit.llm.offline.words import stems
from agentkit.messages import text_of

UPDATE_CONTEXT = "UPDATE CONTEXT"
_QUESTION = re.compile(
    r"(?:user'?s )?question(?: is)?:[ \t]*(.+?)(?=\n\s*\n|\n\s*context\b|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_CONTEXT = re.compile(r"context(?: is)?:[ \t]*\n?(.+)\Z", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt, taken apart."""

    question: str
    earlier: str
    """The user's question before, for follow-ups; empty at the start of a chat."""
    passages: tuple[Passage, ...]
    refusal: str
    """What to reply, word for word, when nothing answers; empty when any honest sentence will
    do.
    """
    cites: bool
    """Whether passages have numbers to cite."""

    def refuse(self, reason: str) -> str:
        """The reply when nothing answers: the words asked for in the prompt, else this reason."""
        return self.refusal or reason


def parse_prompt(messages: Sequence[Mapping[str, Any]]) -> Asked:
    """Take a prompt apart; passages may stand in any message, or unnumbered behind `Context is:` in
    the last one.
    """
    passages: list[Passage] = []
    asked, instructions = ["", ""], ""
    for message in messages:
        role, text = message.get("role"), text_of(message.get("content"))
        passages += parse_passages(text)
        if role == "user":
            asked.append(without_passages(text).strip())
        if role != "assistant":
            instructions += f"{text}\n"

    earlier, question = asked[-2:]
    refusal = ""
    if UPDATE_CONTEXT in instructions:
        refusal = UPDATE_CONTEXT
    return Asked(
        _find_question(question),
        earlier,
        tuple(passages or _find_unnumbered(question)),
        refusal=refusal,
        cites=bool(passages),
    )


def _find_question(text: str) -> str:
    """The text after `Question is:`, or the whole text without such a label."""
    marked = _QUESTION.search(text)
    if marked is None:
        return text
    return marked[1].strip()


def _find_unnumbered(question: str) -> list[Passage]:
    """The blocks behind `Context is:` as passages, numbered from 1."""
    context = _CONTEXT.search(question)
    if context is None:
        return []
    numbered = enumerate(re.split(r"\n\s*\n", context[1]), 1)
    return [Passage(number, "", block) for number, block in numbered if block.strip()]


@dataclass(frozen=True, slots=True)
class _Answer:
    """The ranked units for one question of a message, and those picked as its answer."""

    question: Question
    ranked: Sequence[Scored]
    picked: Sequence[Unit]


SUMMARY_UNITS = 4
_SUMMARY_WORDS = frozenset(
    stems(
        "summarise summary overview main key points ideas topics gist nutshell short brief about"
        " content whole"
    )
)

INTRODUCTION = (
    "I am no language model: I look for the sentences in your documents that answer a question and"
    " quote them with their source. Ask me about something that your documents say, or choose a"
    " language model in the settings."
)
NO_PASSAGES = (
    "There is nothing to quote from: no passage was found that fits this question. Ask in other"
    " words, add documents to the collection, or configure a language model in the settings."
)

NO_ANSWER = "The documents do not answer this question."


def answer(asked: Asked, similarity: Similarity | None) -> str:
    """What is quoted, or why nothing is; `similarity` as `ExtractiveClient` has it."""
    if questions.is_small_talk(asked.question):
        return INTRODUCTION
    if not asked.passages:
        return asked.refuse(NO_PASSAGES)
    units = cut_units(asked.passages)
    if questions.asks_for_summary(asked.question):
        return _summarize(asked, units)

    ranker = Ranker(units, similarity)
    parts = questions.parse(asked.question, asked.earlier)
    answers = list(map(_answer_part, parts, repeat(ranker)))
    if any(map(attrgetter("picked"), answers)):
        return _join(answers, asked.cites)
    return asked.refuse(_explain_refusal(answers))


def _summarize(asked: Asked, units: Sequence[Unit]) -> str:
    topic = list_missing(stems(asked.question), _SUMMARY_WORDS)
    picked = find_central(units, SUMMARY_UNITS, topic)
    return quote_units(picked, asked.cites) or asked.refuse(NO_PASSAGES)


def _answer_part(part: Question, ranker: Ranker) -> _Answer:
    ranked = ranker.rank(part)
    return _Answer(part, ranked, choose_units(part, ranked, ranker.units))


def _join(answers: Sequence[_Answer], cites: bool) -> str:
    """One paragraph for each part; a part that nothing answers is named, and nothing is quoted
    twice.
    """
    said: set[int] = set()
    paragraphs: list[str] = []
    for one in answers:
        new = [unit for unit in one.picked if unit.index not in said]
        said.update(map(attrgetter("index"), new))
        if new:
            paragraphs.append(quote_units(new, cites, one.question.known))
        elif not one.picked:
            part = one.question.text.rstrip("?.! ")
            paragraphs.append(f"The documents do not answer this part: {part}.")
    return "\n\n".join(paragraphs)


def _explain_refusal(answers: Sequence[_Answer]) -> str:
    """A sentence that nothing answers, with the nearest heading; it cites nothing."""
    ranked = chain.from_iterable(map(attrgetter("ranked"), answers))
    heading = next(map(attrgetter("unit.heading"), ranked), "")
    if not heading or " | " in heading:
        return NO_ANSWER
    return f"{NO_ANSWER} The nearest part is “{heading}”."

"""What a user's message asks for: its parts, the kind of answer, or small talk."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from agentkit.core.given import list_missing
from agentkit.llm.offline.words import find_content_words, stem, stems, words

Kind = Literal[
    "person",
    "time",
    "duration",
    "number",
    "place",
    "reason",
    "way",
    "list",
    "definition",
    "compare",
    "broad",
    "yesno",
    "other",
]

_SMALL_TALK = re.compile(
    r"(?:(?:hi|hello|hey|hallo|howdy|greetings|good (?:morning|afternoon|evening|day))(?: there|"
    r" all| everyone)?"
    r"|thanks?(?: you)?(?: so much| very much| a"
    r" lot)?|thx|cheers|great|ok(?:ay)?|bye|goodbye|test|help(?: me)?"
    r"|(?:what|how) (?:can|could|do) you (?:do|help)(?: for me| me| with)?|who are you|what are you"
    r"|are you (?:an? )?(?:ai|bot|llm|chatgpt|human)|how (?:are you|does this work|do you work))"
    r"(?:[ ,]+(?:there|again|today|please))*",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"\b(?:summar[iy]\w*|tl;?dr|overview|gist|key points|main (?:points|ideas|topics)|in a"
    r" nutshell|zusammenfass\w*|fasse?)\b"
    r"|\bwhat(?:'s| is| are)\b.{0,40}\babout\b\W*$",
    re.IGNORECASE,
)
_QUESTION_WORD = (
    r"(?:who|whom|whose|what|when|where|why|how|which|does|do|did|is|are|was|were|can|will|should)"
)
_PARTS = re.compile(
    rf"(?<=\?)\s++|(?:[,;]|(?<![\s,;]))\s++and\s++(?={_QUESTION_WORD}\b)"
    rf"|[;,]\s++(?={_QUESTION_WORD}\s)",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\bhow (long|large|big|tall|high|far|old|heavy|wide|deep|thick|often|fast|soon|late|early"
    r"|quickly|frequently|tightly|well|accurate|expensive)\b",
    re.IGNORECASE,
)
_QUESTION_WORDS = re.compile(r"\b(?:who|whom|whose|what|when|where|why|how|which)\b")
_OPENS_YESNO = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|may|must|will|would|should|has|have|am)\b"
)
_LEANING = frozenset(
    {"it", "its", "they", "them", "their", "theirs", "that", "this", "those", "these", "there"}
    | {"he", "him", "his", "she", "her", "hers", "one", "ones"}
)
_FIGURE = (
    r"\b(?:number|amount|price|cost|costs|fee|rate|percentage|percent|total|sum|budget|salary"
    r"|size|limit|maximum|minimum|temperature|weight|height|speed|voltage|phone)\b"
)
_ASKS_FIGURE = rf"^(?:(?!{_FIGURE}).)*+{_FIGURE}[^?]*+\?"
"""Matches a word for a figure with a question mark somewhere behind it."""
_OPENS_LEANING = ("and ", "what about ", "how about ")
_LEANING_MOST = 12
"""Words of a question that may point back to an earlier one."""
_MOST_PARTS = 4
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("compare", r"\b(?:difference|differ|differs|compare[ds]?|comparison|versus|vs)\b"),
    ("reason", r"^why\b|\b(?:reasons?|causes?) (?:for|of|why)|\bhow come\b|\bwarum\b"),
    ("duration", r"\bhow (?:long|often)\b|\bwhat (?:period|duration)\b"),
    (
        "number",
        r"\bhow (?:many|much|far|tall|fast|high|heavy|old|large|big|wide|deep|thick"
        r"|late|early|hot|cold)\b"
        rf"|\bwie ?viele?\b|\bcombien\b|{_ASKS_FIGURE}",
    ),
    (
        "time",
        (
            r"^when\b|\b(?:what|which) (?:year|date|day|month|time)\b|\b(?:deadline|by"
            r" what)\b|\bwann\b|\bquand\b"
        ),
    ),
    ("person", r"^who(?:m|se)?\b|\bwhich (?:person|people|author|company)\b|\bwer\b"),
    (
        "place",
        (
            r"^where\b|\b(?:which|what)"
            r" (?:country|city|place|town|location|address|building|room|state)\b|\bwo\b"
        ),
    ),
    (
        "way",
        r"^(?:and )?how\b|\bhow (?:to|do|does|can|should|is|are|would)\b|\bsteps\b|\bprocedure\b",
    ),
    (
        "list",
        r"^(?:list|name|enumerate)\b|\b(?:what|which) (?:are|were)\b|^what (?:will|should|must)"
        r" (?:be|change|happen)\b"
        r"|\b(?:what|which) (?:\w+ ){0,2}\w+s (?:are|were|do|does|can|have|must)\b",
    ),
    (
        "definition",
        r"^(?:so )?(?:what(?:'s| is| are)|define|explain)\b|\bmean(?:s|ing)?\b|\bstands? for\b"
        r"|^what (?:does|do|did)\b.*\bdo\b",
    ),
    ("broad", r"^(?:describe|tell me|explain|discuss|say)\b"),
    (
        "yesno",
        r"^(?:is|are|was|were|do|does|did|can|could|may|must|will|would|should|has|have|am)\b",
    ),
    ("other", ""),
)


@dataclass(frozen=True, slots=True)
class Question:
    """One question: its text, its kind, the stems to look for, and those that an earlier question
    lends.
    """

    text: str
    kind: Kind
    stems: tuple[str, ...]
    borrowed: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    """Stems of what is to be measured, `heavy` of `how heavy`: an answer may have them or not."""

    @property
    def known(self) -> frozenset[str]:
        """The stems to look for, lent ones included."""
        return frozenset((*self.stems, *self.borrowed))


def is_small_talk(text: str) -> bool:
    """A greeting, thanks, or a question about the assistant itself."""
    said = " ".join(re.sub(r"[.!?,]+", " ", text).split())
    return not text.strip(" .!?") or _SMALL_TALK.fullmatch(said) is not None


def asks_for_summary(text: str) -> bool:
    """Whether a summary is wanted rather than a fact."""
    return _SUMMARY.search(text) is not None


def parse(text: str, earlier: str = "") -> list[Question]:
    """The questions of a message, at most four; one that leans on another borrows its words."""
    questions: list[Question] = []
    before = earlier
    for part in _split(text.strip()):
        question = _borrow(_read_question(part), before)
        questions.append(question)
        if not question.borrowed:
            before = ""
        before = f"{before} {part}"
    return questions


def _split(text: str) -> list[str]:
    """The questions of a text that say something; the text itself when none does."""
    telling = filter(_find_stems, _PARTS.split(text))
    return list(map(str.strip, telling))[:_MOST_PARTS] or [text]


def _read_question(text: str) -> Question:
    measures = tuple(stem(match[1].lower()) for match in _MEASURE.finditer(text))
    return Question(text, _find_kind(text), _find_stems(text), measures=measures)


def _borrow(question: Question, before: str) -> Question:
    """The question, with the stems of the one before if it cannot be understood without it."""
    if not _leans(question):
        return question
    new = list_missing(_find_stems(before), question.stems)
    return replace(question, borrowed=tuple(new))


def _find_kind(text: str) -> Kind:
    """The kind of answer, by the first question word and what follows it."""
    lowered = " ".join(text.lower().replace("’", "'").split())
    first = _QUESTION_WORDS.search(lowered)
    if first and not _OPENS_YESNO.match(lowered):
        lowered = lowered[first.start() :]
    for kind, pattern in _KINDS:
        if re.search(pattern, lowered):
            return kind
    raise AssertionError("unreachable: the last pattern finds anything")


def _find_stems(text: str) -> tuple[str, ...]:
    """Stems of the words that carry meaning, each once; all words when none of them does.

    `How large` asks for a number.
    """
    found = stems(_MEASURE.sub(" ", text)) or find_content_words(text)
    return tuple(dict.fromkeys(found))


def _has_name(text: str) -> bool:
    """Whether a word has a capital or a digit, save the first of the sentence."""
    found = re.findall(r"(?<=[\s\"“(])[^\W_]*(?:[A-ZÄÖÜ]|\d)[\w.’'-]*", text)
    return any(map(stems, found))


def _leans(question: Question) -> bool:
    """Whether it cannot be understood without the question before."""
    said = words(question.text)
    if f"{' '.join(said)} ".startswith(_OPENS_LEANING):
        return True
    if not _LEANING.isdisjoint(said[:_LEANING_MOST]):
        return True
    return len(question.stems) < 2 and not _has_name(question.text)

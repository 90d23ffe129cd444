"""What a user's message asks for: its parts, the kind of answer, or small talk."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from agentkit.llm.offline.words import STOP, stem, stems, words

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
_ASKED = re.compile(r"\b(?:who|whom|whose|what|when|where|why|how|which)\b")
_OPENS_YESNO = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|may|must|will|would|should|has|have|am)\b"
)
_LEANING = frozenset(
    {"it", "its", "they", "them", "their", "theirs", "that", "this", "those", "these", "there"}
    | {"he", "him", "his", "she", "her", "hers", "one", "ones"}
)
_FIGURE = re.compile(
    r"\b(?:number|amount|price|cost|costs|fee|rate|percentage|percent|total|sum|budget|salary"
    r"|size|limit|maximum|minimum|temperature|weight|height|speed|voltage|phone)\b"
)
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("compare", r"\b(?:difference|differ|differs|compare[ds]?|comparison|versus|vs)\b"),
    ("reason", r"^why\b|\b(?:reasons?|causes?) (?:for|of|why)|\bhow come\b|\bwarum\b"),
    ("duration", r"\bhow (?:long|often)\b|\bwhat (?:period|duration)\b"),
    (
        "number",
        r"\bhow (?:many|much|far|tall|fast|high|heavy|old|large|big|wide|deep|thick"
        r"|late|early|hot|cold)\b"
        r"|\bwie ?viele?\b|\bcombien\b",
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


def is_small_talk(text: str) -> bool:
    """A greeting, thanks, or a question about the assistant itself."""
    return (
        not text.strip(" .!?")
        or _SMALL_TALK.fullmatch(" ".join(re.sub(r"[.!?,]+", " ", text).split())) is not None
    )


def asks_for_summary(text: str) -> bool:
    """Whether a summary is wanted rather than a fact."""
    return _SUMMARY.search(text) is not None


def parse(text: str, earlier: str = "") -> list[Question]:
    """The questions of a message, at most four; one that leans on another borrows its words."""
    pieces = [piece.strip() for piece in _PARTS.split(text.strip()) if piece and _content(piece)][
        :4
    ] or [text.strip()]
    questions: list[Question] = []
    before = earlier
    for piece in pieces:
        question = Question(piece, _kind(piece), _content(piece), (), _measures(piece))
        if before and _leans(piece, question):
            borrowed = tuple(one for one in _content(before) if one not in question.stems)
            question = replace(question, borrowed=borrowed)
        questions.append(question)
        before = f"{before} {piece}" if question.borrowed else piece
    return questions


def _kind(text: str) -> Kind:
    """By the first question word, and what follows it."""
    lowered = " ".join(text.lower().replace("’", "'").split())
    asked = _ASKED.search(lowered)
    if asked and not _OPENS_YESNO.match(lowered):
        lowered = lowered[asked.start() :]
    for kind, pattern in _KINDS:
        if re.search(pattern, lowered) or (kind == "number" and _asks_figure(lowered)):
            return kind
    return "other"


def _asks_figure(lowered: str) -> bool:
    """Whether a question mark stands behind a word for a figure."""
    found = _FIGURE.search(lowered)
    return found is not None and "?" in lowered[found.end() :]


def _content(text: str) -> tuple[str, ...]:
    """Stems of the words that carry meaning, each once; all words when none of them does. `How
    large` asks for a number.
    """
    found = stems(_MEASURE.sub(" ", text)) or [word for word in words(text) if word not in STOP]
    return tuple(dict.fromkeys(found))


def _measures(text: str) -> tuple[str, ...]:
    """What is to be measured: `heavy` of `how heavy`."""
    return tuple(stem(match[1].lower()) for match in _MEASURE.finditer(text))


def _names(text: str) -> tuple[str, ...]:
    """Stems of the words with a capital or a digit, save the first of the sentence."""
    found = re.findall(r"(?<=[\s\"“(])[^\W_]*(?:[A-ZÄÖÜ]|\d)[\w.’'-]*", text)
    return tuple(dict.fromkeys(one for word in found for one in stems(word)))


def _leans(text: str, question: Question) -> bool:
    said = words(text)
    opens = said[:1] == ["and"] or said[:2] in (["what", "about"], ["how", "about"])
    return (
        opens or bool(_LEANING & set(said[:12])) or (len(question.stems) < 2 and not _names(text))
    )

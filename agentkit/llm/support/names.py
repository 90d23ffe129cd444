"""Names in a text: of people, places and products by their capitals; codes such as `S-2217`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from agentkit.llm.offline.words import STOP, has_form_of, stem, without_accents
from agentkit.llm.support.dates import MONTHS, WEEKDAYS
from agentkit.llm.support.units import UNITS

_CODE = re.compile(
    r"\b(?:[A-Z][A-Za-z]*-\d[\w-]*|[A-Za-z]+\d[\w-]*|\d+[A-Za-z]+\d\w*|\d+(?:\.\d+){2,})(?![\w%])"
)
_QUARTER = re.compile(r"Q[1-4]")
_TOKEN = re.compile(r"[^\W\d_](?:[\w’'.-]*\w)?")
_OPENS = re.compile(r"(?:[.!?:;…]|\n)[\s\"“„‚‘’'«»(\[*_#>•-]*\Z")
_AROUND = 12  # characters before a word that tell whether it begins a sentence
_GAP = re.compile(r"[ \u00a0]+(?:(?:of|de|der|van|von|la|del|da|di|the)[ \u00a0]+)?")
_TITLE_WORDS = "mr mrs ms dr prof sir st herr frau monsieur madame señor señora"
_OTHER_WORDS = "i i'm i'll i'd i've ok eur usd gbp chf uhr co h2o"
_TITLES_BEFORE = "herr herrn frau dr dr. prof prof. firma"
_OPENING_WORDS = (
    "before besides unlike under since although though while whereas despite however therefore"
    " moreover furthermore otherwise instead every many several another such those during within"
    " without until unless upon according given based inside outside between among across around"
    " toward towards through throughout yes after near beyond above below once later earlier today"
    " nach bei seit bis durch gegen ohne unter vor laut gemäß wegen trotz während sowie beide"
    " alle jede jeder jedes nur auch ab ende anfang mitte après avant selon depuis según desde"
    " antes"
)
_BEFORE_NAME = frozenset(_TITLES_BEFORE.split())
_OPENERS = frozenset(_OPENING_WORDS.split())
"""Words that begin a sentence with a capital and are no part of the name behind them."""
_NO_NAMES = STOP.union(_OPENERS, _TITLE_WORDS.split(), _OTHER_WORDS.split())
_CALENDAR = frozenset((*MONTHS, *WEEKDAYS))
_COMMON = _OPENERS.union(MONTHS)
_LABEL = re.compile(r"\A\W*(?:[\w’'/-]+ ?){1,5}(?:\([^()]*\))?\s?:\s")
_VERB = re.compile(
    r" (?:is|are|was|were|has|had|have|will|would|can|could|may|might|must|shall|should|wrote|led"
    r"|built|won|became|made|found|gave|took|held|drew|ran|began|sold|bought|paid|left"
    r"|\w{3,}(?:ed|[^su\W]s))\b"
)
_HEADLINE = 0.6
"""Share of words with a capital from which capitals tell nothing."""
_HEADLINE_WORDS = 4
_SHORTEST = 4
"""Letters of a name that opens a sentence, and of what the forms of a name have in common."""
_LONGEST_ACRONYM = 12
"""Letters of an acronym that is looked for among neighbouring words."""


def normalize(word: str) -> str:
    """Lower case, without accents and without the `'s` of English."""
    bare = without_accents(word.lower().replace("ß", "ss"))
    return bare.removesuffix("'s").removesuffix("’s").strip("’'.-")


def find_codes(text: str) -> list[tuple[int, int]]:
    """The places of codes such as `S-2217`; a number with its unit, as `5km`, is not a code."""
    return [match.span() for match in _CODE.finditer(text) if _is_code(match[0])]


def find_names(text: str, language: str) -> list[str]:
    """Words that are names, in order: capitals within a sentence; in German only beside others."""
    text = _LABEL.sub("", text, count=1)
    tokens = list(_TOKEN.finditer(text))
    if _is_headline(tokens):
        return []

    beside = _find_neighbours(text, tokens)
    stands_alone = _follows_title if language == "german" else _is_within_sentence
    found: list[str] = []
    for place, token in enumerate(tokens):
        is_told = place in beside or _is_acronym(token[0]) or stands_alone(text, tokens, place)
        if is_told and _may_be_name(token[0]):
            found.append(token[0])
    return found


def find_opening_name(text: str) -> str:
    """The first word when it may be a name, as in `Aspirin reduces fever`; else empty."""
    first = _TOKEN.search(text)
    if first is None or not _VERB.match(text, first.end()):
        return ""
    if not _may_be_name(first[0]):
        return ""

    word = normalize(first[0])
    if len(word) < _SHORTEST or word.endswith("s"):
        return ""
    return first[0]


def is_mentioned(
    name: str, words: AbstractSet[str], stems: AbstractSet[str], acronyms: AbstractSet[str]
) -> bool:
    """Whether a name is in a passage, in whatever form: Germany as German, European Union as EU."""
    word = normalize(name)
    if word in words or stem(word) in stems:
        return True
    if word.replace("-", "") in acronyms or _has_all_parts(word, words):
        return True
    return has_form_of(word, words, _SHORTEST, _count_alike)


def _has_all_parts(word: str, words: AbstractSet[str]) -> bool:
    """Whether each part of a word with hyphens or points is there."""
    parts = set(filter(None, re.split(r"[-.]", word)))
    return bool(parts) and parts <= words


def find_acronyms(text: str) -> set[str]:
    """First letters of neighbouring words with capitals, as `ncu` of Northgate Credit Union."""
    found: set[str] = set()
    for run in re.findall(r"[A-Z]\w+(?:(?: of| and| for| the)* [A-Z]\w+)+", text):
        first_letters = "".join(word[0] for word in run.split())
        letters = "".join(filter(str.isupper, first_letters)).lower()
        for length in range(2, _LONGEST_ACRONYM + 1):
            starts = range(len(letters) - length + 1)
            found.update(letters[start : start + length] for start in starts)
    return found


def split_words(text: str) -> Iterator[str]:
    """Each word of a text as names are compared."""
    for token in _TOKEN.finditer(text):
        word = normalize(token[0])
        yield word
        parts = re.split(r"[-.’']", word)
        if len(parts) > 1:
            yield from filter(None, parts)


def _is_code(text: str) -> bool:
    """Whether it is a code, not a quarter such as `Q3` or a number with its unit."""
    if _QUARTER.fullmatch(text):
        return False
    glued = re.fullmatch(r"\d+([A-Za-z]+)", text)
    return glued is None or glued[1].lower() not in UNITS


def _count_alike(shorter: int, longer: int) -> int:
    """Letters that two words of these lengths have in common where they are forms of one."""
    return max(shorter - 1, math.ceil(0.55 * longer))


def _is_headline(tokens: Sequence[re.Match[str]]) -> bool:
    """Whether so many words have a capital that capitals show no names."""
    capitals = sum(_is_capital(token) for token in tokens)
    return len(tokens) >= _HEADLINE_WORDS and capitals > _HEADLINE * len(tokens)


def _is_capital(token: re.Match[str]) -> bool:
    return token[0][0].isupper()


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isalpha() and word.isupper()


def _may_be_name(word: str) -> bool:
    """Whether it has a capital and is not a word that often has one, such as a month."""
    if not word[0].isupper() or word.lower() in _CALENDAR:
        return False
    return normalize(word) not in _NO_NAMES


def _is_within_sentence(text: str, tokens: Sequence[re.Match[str]], place: int) -> bool:
    start = tokens[place].start()
    before = text[max(0, start - _AROUND) : start]
    return place > 0 and _OPENS.search(before) is None


def _follows_title(text: str, tokens: Sequence[re.Match[str]], place: int) -> bool:
    return place > 0 and tokens[place - 1][0].lower() in _BEFORE_NAME


def _find_neighbours(text: str, tokens: Sequence[re.Match[str]]) -> set[int]:
    """Places of words with a capital directly beside another one, as a first name and surname."""
    found: set[int] = set()
    for place, (one, two) in enumerate(pairwise(tokens)):
        if _are_neighbours(text, one, two):
            # Beside a common word a word is no part of a name.
            beside = {place: two[0], place + 1: one[0]}
            found.update(at for at, other in beside.items() if not _is_common(other))
    return found


def _are_neighbours(text: str, one: re.Match[str], two: re.Match[str]) -> bool:
    """Whether both have a capital, with nothing or a word such as `von` between them."""
    if not (_is_capital(one) and _is_capital(two)):
        return False
    return _GAP.fullmatch(text, one.end(), two.start()) is not None


def _is_common(word: str) -> bool:
    return normalize(word) in STOP or word.lower() in _COMMON

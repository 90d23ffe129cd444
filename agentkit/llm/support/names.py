"""Names in a text: of people, places and products by their capitals; codes such as `S-2217`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator

from agentkit.core.normal import normalized
from agentkit.llm.offline.words import STOP, stem
from agentkit.llm.support.dates import MONTHS, WEEKDAYS

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
_TITLES = frozenset(_TITLE_WORDS.split())
_NO_NAMES = frozenset(_OTHER_WORDS.split())
_BEFORE_NAME = frozenset(_TITLES_BEFORE.split())
_OPENERS = frozenset(_OPENING_WORDS.split())
"""Words that begin a sentence with a capital and are no part of the name behind them."""
_NO_NAMES_AT_ALL = _TITLES | _NO_NAMES | _OPENERS
_LABEL = re.compile(r"\A\W*(?:[\w’'/-]+ ?){1,5}(?:\([^()]*\))?\s?:\s")
_VERB = re.compile(
    r" (?:is|are|was|were|has|had|have|will|would|can|could|may|might|must|shall|should|wrote|led"
    r"|built|won|became|made|found|gave|took|held|drew|ran|began|sold|bought|paid|left"
    r"|\w{3,}(?:ed|[^su\W]s))\b"
)
_HEADLINE = 0.6
"""Share of words with a capital from which capitals tell nothing."""


def plain(word: str) -> str:
    """Lower case, without accents and without the `'s` of English."""
    decomposed = normalized("NFKD", word.lower().replace("ß", "ss"))
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return bare.removesuffix("'s").removesuffix("’s").strip("’'.-")


def codes(text: str) -> list[tuple[int, int]]:
    """Where codes stand, which are no numbers; what is a number with its unit is none."""
    from agentkit.llm.support.units import UNITS

    found = []
    for match in _CODE.finditer(text):
        glued = re.fullmatch(r"\d+([A-Za-z]+)", match[0])
        if not _QUARTER.fullmatch(match[0]) and not (glued and glued[1].lower() in UNITS):
            found.append(match.span())
    return found


def names(text: str, language: str) -> list[str]:
    """Words that are names, in order: capitals within a sentence; in German only beside others."""
    text = _LABEL.sub("", text, count=1)
    tokens = list(_TOKEN.finditer(text))
    capital = [_is_capital(token[0]) for token in tokens]
    if not tokens or (len(tokens) > 3 and sum(capital) > _HEADLINE * len(tokens)):
        return []
    found: list[str] = []
    for place, token in enumerate(tokens):
        if not capital[place] or _is_no_name(token[0]):
            continue
        before = text[max(0, token.start() - _AROUND) : token.start()]
        begins = place == 0 or _OPENS.search(before) is not None
        alone = _titled(tokens, place) if language == "german" else not begins
        if alone or _is_acronym(token[0]) or _beside(text, tokens, capital, place):
            found.append(token[0])
    return found


def opening_name(text: str) -> str:
    """The first word when it may be a name, as in `Aspirin reduces fever`; else empty."""
    first = _TOKEN.search(text)
    if (
        first is None
        or not _is_capital(first[0])
        or _is_no_name(first[0])
        or not _VERB.match(text, first.end())
    ):
        return ""
    word = plain(first[0])
    return "" if len(word) < 4 or word.endswith("s") else first[0]


def stands_in(
    name: str, words: Collection[str], stems: Collection[str], acronyms: Collection[str]
) -> bool:
    """Whether a name is in a passage, in whatever form: Germany as German, European Union as EU."""
    word = plain(name)
    if word in words or stem(word) in stems or word.replace("-", "") in acronyms:
        return True
    parts = [part for part in re.split(r"[-.]", word) if part]
    if len(parts) > 1 and all(part in words for part in parts):
        return True
    return any(_is_form_of(word, other) for other in words)


def acronyms(text: str) -> set[str]:
    """First letters of neighbouring words with capitals, as `ncu` of Northgate Credit Union."""
    found: set[str] = set()
    for run in re.findall(r"[A-Z]\w+(?:(?: of| and| for| the)* [A-Z]\w+)+", text):
        letters = "".join(word[0] for word in run.split() if word[0].isupper()).lower()
        found |= {
            letters[start:end]
            for start in range(len(letters))
            for end in range(start + 2, len(letters) + 1)
        }
    return found


def _is_form_of(word: str, other: str) -> bool:
    """Whether two words begin alike for so long that they are forms of one."""
    shorter = min(len(word), len(other))
    alike = next((at for at in range(shorter) if word[at] != other[at]), shorter)
    return alike >= 4 and alike >= shorter - 1 and alike >= 0.55 * max(len(word), len(other))


def _is_capital(word: str) -> bool:
    return word[0].isupper()


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isalpha() and word.isupper()


def _is_no_name(word: str) -> bool:
    bare = plain(word)
    return (
        bare in _NO_NAMES_AT_ALL
        or word.lower() in MONTHS
        or word.lower() in WEEKDAYS
        or bare in STOP
    )


def _titled(tokens: list[re.Match[str]], place: int) -> bool:
    return place > 0 and tokens[place - 1][0].lower() in _BEFORE_NAME


def _beside(text: str, tokens: list[re.Match[str]], capital: list[bool], place: int) -> bool:
    """Whether another such word stands directly beside it, as in a first name and a surname."""
    return any(_pairs(text, tokens, capital, one, place) for one in (place - 1, place))


def _pairs(
    text: str, tokens: list[re.Match[str]], capital: list[bool], one: int, place: int
) -> bool:
    other = one if one != place else place + 1
    if not (one >= 0 and one + 1 < len(tokens) and capital[one] and capital[one + 1]):
        return False
    first, second = tokens[one], tokens[one + 1]
    return _GAP.fullmatch(text, first.end(), second.start()) is not None and not _is_common(
        tokens[other][0]
    )


def _is_common(word: str) -> bool:
    return plain(word) in STOP or word.lower() in MONTHS or word.lower() in _OPENERS


def spoken(text: str) -> Iterator[str]:
    """Each word of a text as names are compared."""
    for token in _TOKEN.finditer(text):
        word = plain(token[0])
        yield word
        yield from (part for part in re.split(r"[-.’']", word) if part and part != word)

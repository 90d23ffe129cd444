"""Words of a text as they are compared: lower case, without accents, cut to their stem."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_SUFFIXES = (
    "ifications ification izations isations ization isation ational fulness iveness ousness ations ation ements ement ments ment ities"
    " ness ances ance ences ence ables able ibles ible ating ators ator ated ates ical ings ions ying ied ies ing ion ers est ors ity ive"
    " ful ous ate ize ise ess al ed er or es ly ic s"
).split()
_IRREGULAR = {
    "paid": "pay", "bought": "buy", "sold": "sell", "made": "mak", "left": "leav", "kept": "keep", "held": "hold", "sent": "send",
    "took": "tak", "taken": "tak", "gave": "giv", "given": "giv", "wrote": "writ", "written": "writ", "built": "build", "began": "begin",
    "begun": "begin", "ran": "run", "went": "go", "gone": "go", "won": "win", "lost": "los", "found": "find", "chose": "choos",
    "chosen": "choos", "met": "meet", "grew": "grow", "grown": "grow", "rose": "ris", "fell": "fall", "led": "lead", "spent": "spend",
    "children": "child", "people": "person", "men": "man", "women": "woman", "feet": "foot",
}  # fmt: skip

STOP = frozenset(
    "a an the and or but nor if of in on at by for from to with without into onto about as is are was were be been being am do does did"
    " done doing has have had having will would shall should can could may might must not no it its he him his she her hers they them"
    " their theirs we us our you your i me my mine this that these those there here what which who whom whose when where why how than"
    " then so such too very just also any some each all both more most other only own same s t d ll re ve m please tell say says said"
    " give show know let want need many much get got go goes one ones mean means called name named happen happens happened kind type"
    " sort exactly according document documents text passage file mentioned list explain describe find der die das und oder ist sind"
    " war ein eine einer eines den dem des von zu zum zur im in auf mit für wie was wer wo wann warum welche welcher welches le la les"
    " un une des du de et est sont que qui quoi quand où comment pourquoi combien el los las y es son qué quién cuándo dónde cómo".split()
)


def words(text: str) -> list[str]:
    """The words of a text in lower case, without accents."""
    return _WORD.findall(_plain(text))


def stems(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order."""
    return [stem(part) for word in words(text) if word not in STOP for part in _parts(word) if part not in STOP]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word's stem: endings off, at least three letters left, numbers untouched."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if any(letter.isdigit() for letter in word):
        return word.replace(",", "")
    word = word.removesuffix("'s").removesuffix("’s")
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "eiy" else word


def _parts(word: str) -> list[str]:
    """A hyphenated word counts by its parts, a number with its signs stays whole."""
    return [word] if any(letter.isdigit() for letter in word) else [part for part in re.split(r"[-.,]", word) if part]


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))

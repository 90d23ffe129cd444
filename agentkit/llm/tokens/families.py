"""How each kind of model counts: its tokenizer, and what a chat costs beyond its texts."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agentkit.core.given import find_value
from agentkit.errors import ConfigError

if TYPE_CHECKING:
    import tiktoken

T = TypeVar("T")
TextCounter = Callable[[str], int]
"""Tokens of a text."""

_RANKS = Path(__file__).parent / "ranks"
_own: dict[str, TextCounter] = {}


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of model; the figures are tokens."""

    encoding: str
    text_is_known: bool
    """False when the tokenizer is not the model's own, so that every count is an estimate."""
    chat_is_known: bool
    """True when recorded calls confirm what is counted around each message."""
    per_message: int = 3
    per_name: int = 1
    role: int = 1
    reply: int = 3
    """The opening of the reply."""
    own: TextCounter | None = None

    @property
    def is_newer(self) -> bool:
        """Whether it has the tokenizer that came with gpt-4o."""
        return self.encoding == "o200k_base"

    def count(self, text: str) -> int:
        """Tokens of a text."""
        if self.own is not None:
            return self.own(text)
        return sum(map(len, encode(text, self.encoding)))


# The first pattern that fits the model's name decides. Sources: OpenAI's cookbook, "How to count
# tokens with tiktoken", for the chats of gpt-3.5, gpt-4 and gpt-4o; the calls in
# tests/llm/recorded_usage for the others.
_FAMILIES = [
    (r"gpt-3\.5-turbo-0301$", Family("cl100k_base", True, True, per_message=4, per_name=-1)),
    (r"gpt-(3\.5-turbo|4)(-|$)", Family("cl100k_base", True, True)),
    (r"(chatgpt-4o|gpt-4o|gpt-4\.[15])(-|$)", Family("o200k_base", True, True)),
    (r"(o[134]|gpt-5)(-|$)", Family("o200k_base", True, True, reply=2)),
    (r"gpt-(5\.|oss-)", Family("o200k_base", True, False, reply=2)),
    (r"text-embedding-|davinci-002|babbage-002", Family("cl100k_base", True, False)),
    (r"(gpt-|o)[5-9]", Family("o200k_base", False, False, reply=2)),
]
_WINDOW, _NEARBY = 100_000, 1_000
_BORDER = re.compile(r"(?<=[^\W_]) (?=[^\W_])")
_UNKNOWN = Family("cl100k_base", False, False)


@cache
def family_of(model: str) -> Family:
    """The family of a model by its name; a maker before a slash and the mark of a fine-tuned model
    do not count.
    """
    counter = find_by_name(model.lower(), reversed(_own.items()))
    if counter is not None:
        return replace(_UNKNOWN, text_is_known=True, own=counter)
    name = base_name(model)
    return find_value(_FAMILIES, lambda pattern: re.match(pattern, name), _UNKNOWN)


def find_by_name(name: str, patterns: Iterable[tuple[str, T]]) -> T | None:
    """The value of the first pattern that fits a name; None without one."""
    return find_value(patterns, partial(fnmatchcase, name), None)


def base_name(model: str) -> str:
    """The name as OpenAI writes it: `openai/gpt-4o`, `ft:gpt-4o:us::1` and Azure's `gpt-35-turbo`
    without what they add.
    """
    name = model.rsplit("/", 1)[-1]
    if name.startswith("ft:"):
        name = name.split(":")[1]
    return re.sub(r"^gpt-?35", "gpt-3.5", re.sub(r"^gpt4", "gpt-4", name))


def register_token_counter(model: str, counter: TextCounter) -> None:
    """Count the texts of a model by its own tokenizer; `model` is a name, or a pattern such as
    `llama3*`.

    The one registered last wins. A prompt remains an estimate: how a server frames messages is not
    known.
    """
    _own.pop(model.lower(), None)
    _own[model.lower()] = counter
    family_of.cache_clear()


def encode(text: str, name: str) -> Iterator[list[int]]:
    """The tokens of a text by the tokenizer of this name, in windows: tiktoken breaks off at a
    million blanks in a row.

    A window ends where a word ends that a blank follows, where the tokenizer parts the text anyway,
    if there is one nearby.
    """
    coder, start = load_encoding(name), 0
    while len(text) - start > _WINDOW:
        end = _find_border(text, start + _WINDOW)
        yield coder.encode_ordinary(text[start:end])
        start = end
    yield coder.encode_ordinary(text[start:])


def _find_border(text: str, most: int) -> int:
    """The last place up to `most` where a blank stands between two words; else `most`."""
    end = most
    for blank in _BORDER.finditer(text, most - _NEARBY + 1, most + 2):
        end = blank.start()
    return end


@cache
def load_encoding(name: str) -> tiktoken.Encoding:
    """The tokenizer `cl100k_base` or `o200k_base` from the files of this package; ConfigError when
    one is damaged.
    """
    import tiktoken

    described = json.loads((_RANKS / "patterns.json").read_text(encoding="utf-8"))[name]
    path = _RANKS / f"{name}.tiktoken.xz"
    try:
        data = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); install agentkit again.") from error
    if hashlib.sha256(data).hexdigest() != described["sha256"]:
        raise ConfigError(f"{path} is not the file it should be; install agentkit again.")
    ranked = map(bytes.split, data.splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in ranked}
    return tiktoken.Encoding(
        name, pat_str=described["pattern"], mergeable_ranks=ranks, special_tokens={}
    )

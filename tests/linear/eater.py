"""What eats text: a function, the signs of its grammar, and the texts that are known to be its worst."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

SIZE = 1_000_000
"""Characters of a text."""
_COMMON = ("a", " ", "\n", "\t", "1", "é", "\u0301", "中", ".", ",", ":", "-", "(", ")", "[", "]", "'", '"', "\\", "\x00")
"""Signs that mean something nearly everywhere."""


@dataclass(frozen=True, slots=True)
class Worst:
    """A text of any length: `before`, then `piece` over and over, then `after`."""

    piece: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return " + ".join([ascii(self.before)] * bool(self.before) + [f"{self.piece!a}*n"] + [ascii(self.after)] * bool(self.after))

    def text(self, size: int) -> str:
        """It, of about so many characters."""
        return self.before + self.piece * max(1, size // len(self.piece)) + self.after


@dataclass(frozen=True, slots=True)
class Eater:
    """A function that reads what a model, a document, a page or a tool wrote."""

    name: str
    eat: Callable[[str], object]
    signs: Sequence[str] = ()
    """What means something to it, beside the common signs."""
    worst: Sequence[Worst | str] = ()
    """Known bad texts; a string alone is repeated."""
    size: int = SIZE

    @property
    def worsts(self) -> list[Worst]:
        return [each if isinstance(each, Worst) else Worst(each) for each in self.worst]

    def mixtures(self, count: int) -> Iterator[Worst]:
        """Texts of its own signs, the same in every run."""
        chance = random.Random(self.name)
        own, every = [*self.signs] or [*_COMMON], [*self.signs, *_COMMON]
        for _ in range(count):
            piece = "".join(chance.choices(own, k=chance.choice((1, 1, 2, 2, 3))))
            piece += "".join(chance.choices(every, k=chance.choice((0, 0, 1, 2))))
            before, after = ("".join(chance.choices(["", *every], k=2)) for _ in range(2))
            yield Worst(piece, before, after)

"""Types and functions for tools, with the schemas of the types."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, Field
from typing_extensions import TypedDict


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Currency(BaseModel):
    currency: Annotated[Literal["USD", "EUR"], Field(description="Currency symbol")]
    amount: Annotated[float, Field(description="Amount", ge=0)] = 100.0


class Inner(BaseModel):
    x: int


class Outer(BaseModel):
    """What the class says is no description of a parameter."""

    inner: Inner
    items: list[Inner] = []


class Node(BaseModel):
    v: int
    kids: list[Node] = []


@dataclasses.dataclass
class Point:
    x: int
    y: float = 1.0


class Options(TypedDict):
    a: int
    b: NotRequired[str]


class Opaque:
    """Nothing that pydantic knows."""


CURRENCY = {
    "type": "object",
    "title": "Currency",
    "required": ["currency"],
    "properties": {
        "currency": {
            "description": "Currency symbol",
            "enum": ["USD", "EUR"],
            "title": "Currency",
            "type": "string",
        },
        "amount": {
            "default": 100.0,
            "description": "Amount",
            "minimum": 0,
            "title": "Amount",
            "type": "number",
        },
    },
}
INNER = {
    "properties": {"x": {"title": "X", "type": "integer"}},
    "required": ["x"],
    "title": "Inner",
    "type": "object",
}
POINT = {
    "type": "object",
    "title": "Point",
    "required": ["x"],
    "properties": {
        "x": {"title": "X", "type": "integer"},
        "y": {"default": 1.0, "title": "Y", "type": "number"},
    },
}


def taking(annotation: Any) -> Callable[..., Any]:
    def tool(value: Any) -> Any:
        return value

    tool.__annotations__["value"] = annotation
    return tool


async def exchange(
    base: Annotated[Currency, "what is there"],
    quote: Annotated[Literal["USD", "EUR"], "what is wanted"] = "USD",
) -> Currency:
    return base.model_copy(update={"currency": quote})


class Shop:
    def price(self, item: Annotated[str, "what"], *, count: int = 1) -> str:
        return f"{item} x {count}"

    @classmethod
    def opened(cls, year: int) -> int:
        return year

    async def __call__(self, item: str) -> str:
        return item


def base(a: int, b: Annotated[str, "the b"], c: float = 1.0) -> str:
    return f"{a} {b} {c}"


@functools.wraps(base)
def around(*args: Any, **kwargs: Any) -> Any:
    return base(*args, **kwargs)

"""Replies of a language model: for each field a value with the quote that shows it, or null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from agentkit.core.given import pick
from agentkit.errors import JsonDictValidationError
from agentkit.messages import text_or_empty
from agentkit.parsers import MarkdownJsonDictParser, ModelResponse
from agentkit.teams.extraction.schema import Field, Schema, describe_misfit
from agentkit.teams.extraction.values import Style

_KEYS_OF_VALUES = frozenset({"type", "items", "enum"})
"""What a server is told about a value; the limits, which not every server knows, are checked by the
parser.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a model says about a field; None stands for no value."""

    value: Any = None
    quote: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it stands in a reply."""
        return {"value": self.value, "quote": self.quote}


def read_claims(schema: Schema, reply: Mapping[str, Any], style: Style) -> dict[str, Claim]:
    """The claims of a reply for all fields, whatever form each has."""
    return {each.name: _read_claim(each, reply.get(each.name), style) for each in schema.fields}


def find_misfits(schema: Schema, claims: Mapping[str, Claim]) -> dict[str, str]:
    """What is wrong with which value, as `Schema.misfits` says."""
    return schema.misfits({name: claim.value for name, claim in claims.items()})


def _read_claim(field: Field, item: object, style: Style) -> Claim:
    claim = item if isinstance(item, Mapping) else {"value": item}
    value = _parse_value(field, claim.get("value"), style)
    if value in ("", []):
        value = None
    quote = text_or_empty(claim.get("quote"))
    return Claim(value, quote)


class FieldsParser(MarkdownJsonDictParser):
    """Reads `{"field": {"value": ..., "quote": "..."} or null}` and checks the values by the
    schema.
    """

    def __init__(self, schema: Schema, style: Style) -> None:
        self.schema, self.style = schema, style
        hint = {
            each.name: Claim(_describe(each), "<exact words of the document>").to_json()
            for each in schema.fields
        }
        super().__init__(hint, keys_to_metadata=True, json_schema=reply_schema(schema.fields))

    def parse(self, response: ModelResponse | str) -> ModelResponse:
        """With the fields as `parsed`; raises JsonDictValidationError that says which value does
        not fit, and why.
        """
        made = super().parse(response)
        wrong = find_misfits(self.schema, read_claims(self.schema, made.parsed, self.style))
        if wrong:
            made.parsed = None
            said = "; ".join(starmap(describe_misfit, wrong.items()))
            raise JsonDictValidationError(
                f"These values cannot be: {said}. Correct them, or give null.", made.text
            )
        return made

    def _accept(self, value: object, text: str) -> dict[str, Any]:
        """Remarks beside the fields are left out, and a number that is written as a text is one: no
        reason to ask again.
        """
        if isinstance(value, Mapping):
            value = self._select_fields(value) or value
        return super()._accept(value, text)

    def _select_fields(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a reply, whatever the case of their keys, with their values as they are
        meant.
        """
        fields = {each.name.casefold(): each for each in self.schema.fields}
        selected: dict[str, Any] = {}
        for key, item in reply.items():
            field = fields.get(key.strip().casefold())
            if field is not None:
                selected[key] = self._to_item(field, item)
        return selected

    def _to_item(self, field: Field, item: Any) -> Any:
        if not isinstance(item, Mapping):
            return item
        if "value" not in item:
            return item
        value = _parse_value(field, item["value"], self.style)
        return {**item, "value": value}


def reply_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON schema of a reply: for each field its value with a quote, or null."""
    properties = {
        each.name: {
            "type": ["object", "null"],
            "properties": {"value": _value_schema(each), "quote": {"type": "string"}},
            "required": ["value", "quote"],
            "additionalProperties": False,
        }
        for each in fields
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _parse_value(field: Field, value: object, style: Style) -> Any:
    """A value as its field has it: dates as ISO texts, a text that is nothing but a number, yes or
    no as what it says.
    """
    if not isinstance(value, str):
        return value
    return field.type.parse(value.encode("utf-8", "replace").decode().strip(), style)


def _value_schema(field: Field) -> dict[str, Any]:
    schema = field.type.describe()
    return pick(schema, _KEYS_OF_VALUES)


def _describe(field: Field) -> str:
    parts = filter(None, (field.type.hint, field.description))
    return f"<{': '.join(parts)}>"

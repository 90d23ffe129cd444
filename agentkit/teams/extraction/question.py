"""Which fields a question asks for: a JSON schema in it, a list of names, or what a language model
reads out of it.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Any

from agentkit.agents.dialog import DictDialogAgent, Msg
from agentkit.core.io import quietly
from agentkit.errors import ConfigError, JsonDictValidationError
from agentkit.llm.model import Model
from agentkit.parsers import MarkdownJsonDictParser, ModelResponse
from agentkit.teams.extraction.forms import from_json_schema, from_text
from agentkit.teams.extraction.schema import Schema
from agentkit.teams.roster import PLANNER

HOW = (
    "Name the fields of the table, for example:\n\n    table of: invoice number, date (date), total"
    " (number): the sum with tax\n\nIn brackets stands the type: text, number, integer, boolean,"
    " date, list, or the possible values as (open|paid). A JSON schema does as well."
)
"""How the fields are named in a question."""

_LIST = re.compile(
    r"\b(?:table\s+(?:of|with)|extract|fields|columns)\s*:\s*(?P<fields>.+)",
    re.IGNORECASE | re.DOTALL,
)
_TYPED = re.compile(r"\((?:text|string|number|integer|boolean|date|list)\)", re.IGNORECASE)
_LONGEST_NAME = 4  # words
_SPEECH = frozenset(
    {
        "hello",
        "hi",
        "hey",
        "please",
        "thanks",
        "what",
        "who",
        "how",
        "when",
        "where",
        "why",
        "which",
        "is",
        "are",
        "do",
        "does",
    }
    | {
        "can",
        "could",
        "would",
        "i",
        "you",
        "we",
        "me",
        "give",
        "show",
        "tell",
        "make",
        "list",
        "find",
        "and",
        "then",
    }
)
_INSTRUCTIONS = """Somebody wants a table out of their documents, with one row for each document.
Say which fields they want: for each a short name in the language of the question, its type, and \
what it means.
Name only what they ask for. When they name no field at all, give an empty list."""
_FIELDS = {
    "type": "object",
    "properties": {
        "fields": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "type": {
                        "type": "string",
                        "enum": ["string", "number", "integer", "boolean", "date", "list"],
                    },
                    "description": {"type": "string"},
                },
                "required": ["name", "type", "description"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["fields"],
    "additionalProperties": False,
}


def find_schema(question: str, model: Model) -> Schema | None:
    """The schema of the wanted table; None when the question names no fields. Raises ConfigError
    for a wrong schema.
    """
    stated = read_stated(question)
    if stated is not None:
        return stated
    if model.is_language_model:
        return _ask_planner(question, model)
    return _read_list(question)


def read_stated(question: str) -> Schema | None:
    """The fields that stand in a question as such; None where they have to be read out of it.
    Raises ConfigError for a wrong schema.
    """
    start = question.find("{")
    if start >= 0:
        try:
            described, _ = json.JSONDecoder().raw_decode(question[start:])
        except (json.JSONDecodeError, RecursionError) as error:
            raise ConfigError(
                f"The JSON schema in the question is not valid JSON ({error}); correct it there."
            ) from error
        return from_json_schema(described)
    found = _LIST.search(question)
    if found:
        return from_text(found["fields"])
    if _TYPED.search(question):
        return _read_list(question)
    return None


def _read_list(question: str) -> Schema | None:
    """Nothing but names with commas between them; None for what reads like a sentence."""
    try:
        schema = from_text(question)
    except ConfigError:
        return None
    if "?" in question:
        return None
    names = [name.casefold().split() for name in schema.names]
    longest = max(map(len, names))
    if longest > _LONGEST_NAME:
        return None
    words = set(chain.from_iterable(names))
    if not _SPEECH.isdisjoint(words):
        return None
    if len(names) > 1:
        return schema
    if _TYPED.search(question):
        return schema
    return None


def _ask_planner(question: str, model: Model) -> Schema | None:
    agent = DictDialogAgent(
        PLANNER,
        _INSTRUCTIONS,
        None,
        False,
        2,
        llm_config={"config_list": [{"model": model}], "cache_seed": None},
    )
    agent.set_parser(PlanParser())
    with quietly(True):
        reply = agent(Msg("user", question, "user"))
    fields = reply.metadata["fields"]
    if not fields:
        return None
    return _build_schema(fields)


def _build_schema(fields: list[dict[str, str]]) -> Schema:
    described: dict[str, Any] = {}
    for each in fields:
        kind = each["type"]
        type_of_values = _TYPES.get(kind, {"type": kind})
        described[each["name"]] = {**type_of_values, "description": each["description"]}
    return from_json_schema({"type": "object", "properties": described})


_TYPES: dict[str, dict[str, object]] = {
    "date": {"type": "string", "format": "date"},
    "list": {"type": "array", "items": {"type": "string"}},
}


class PlanParser(MarkdownJsonDictParser):
    """Reads the list of fields, and refuses one of which no table can be made."""

    def __init__(self) -> None:
        hint = {
            "fields": [
                {"name": "<text>", "type": "<one of the types>", "description": "<what it means>"}
            ]
        }
        super().__init__(hint, keys_to_metadata=True, json_schema=_FIELDS)

    def parse(self, response: ModelResponse | str) -> ModelResponse:
        """With `fields` as `parsed`; raises JsonDictValidationError for names that clash."""
        made = super().parse(response)
        try:
            if made.parsed["fields"]:
                _build_schema(made.parsed["fields"])
        except ConfigError as error:
            made.parsed = None
            raise JsonDictValidationError(str(error), made.text) from error
        return made

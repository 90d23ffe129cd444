"""Replies that are JSON, in a fenced block of Markdown or bare."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentkit.core.given import coalesce
from agentkit.errors import (
    JsonParsingError,
    JsonTypeError,
    RequiredFieldNotFoundError,
    ResponseParsingError,
)
from agentkit.parsers.base import TextParser, excerpt
from agentkit.parsers.candidates import Unrelated, read_json
from agentkit.parsers.decoding import decode_strictly
from agentkit.parsers.filters import DictFilterMixin, Keys, find_missing, list_keys
from agentkit.parsers.hints import Shape, fit, infer_from_hint, infer_from_schema, write_hint
from agentkit.parsers.reasoning import find_answer
from agentkit.parsers.schemas import (
    check_schema,
    is_pydantic_class,
    response_format,
    validate_model,
    validate_schema,
)

if TYPE_CHECKING:
    from pydantic import BaseModel


class MarkdownJsonObjectParser(TextParser):
    """Reads any JSON value out of a reply.

    The hint is a text or what JSON can hold, and shows the model what to write. Raises
    JsonParsingError when there is no JSON, or when it is malformed in a way that cannot be repaired
    without guessing.
    """

    name = "json block"
    tag_begin = "```json"
    tag_end = "```"

    def __init__(self, content_hint: Any = None) -> None:
        self.content_hint = "{your JSON}" if content_hint is None else write_hint(content_hint)
        self._shape = infer_from_hint(content_hint)

    @property
    # It follows a change of the hint.
    def format_instruction(self) -> str:  # type: ignore[override]
        """What the model is told at the end of the prompt."""
        return f"Reply with JSON in a fenced block, in this form:\n{self._example()}"

    def _example(self) -> str:
        return f"{self.tag_begin}\n{self.content_hint}\n{self.tag_end}"

    def _read(self, text: str) -> Any:
        return read_json(text, find_answer(text), lambda value: self._accept(value, text))

    def _accept(self, value: object, text: str) -> Any:
        return fit(value, self._shape)


class MarkdownJsonDictParser(MarkdownJsonObjectParser, DictFilterMixin):
    """Reads a JSON object out of a reply, checks its fields, and knows which of them go where.

    content_hint: what the model should write, as text, as dict, or as a pydantic class that also
        checks the reply.
    json_schema: a JSON schema (dict) that the reply must fit.
    required_keys: fields that must be there; "vote.target" is `target` in the object `vote`.
    The keys_to_... and keys_allow_missing are described at DictFilterMixin. Raises JsonParsingError
    for a text without JSON or one that does not fit the schema, JsonTypeError for JSON other than
    an object, and RequiredFieldNotFoundError for missing fields.
    """

    def __init__(
        self,
        content_hint: Any = None,
        required_keys: Sequence[str] | None = None,
        keys_to_memory: Keys = True,
        keys_to_content: Keys = True,
        keys_to_metadata: Keys = False,
        *,
        json_schema: Mapping[str, Any] | None = None,
        keys_allow_missing: Sequence[str] | None = None,
        keys_to_speak: Keys = None,
        keys_to_return: Keys = None,
    ) -> None:
        self.keys_allow_missing = keys_allow_missing
        self.pydantic_class: type[BaseModel] | None = (
            content_hint if is_pydantic_class(content_hint) else None
        )
        self.json_schema = None if json_schema is None else check_schema(json_schema)
        self.required_keys = list(coalesce(required_keys, ()))
        hint = "{your JSON object}" if self.pydantic_class or content_hint is None else content_hint
        MarkdownJsonObjectParser.__init__(self, hint)
        DictFilterMixin.__init__(
            self,
            keys_to_memory,
            keys_to_content,
            keys_to_metadata,
            keys_to_speak=keys_to_speak,
            keys_to_return=keys_to_return,
        )
        self._shape = self._find_fields(content_hint)

    def _find_fields(self, hint: object) -> Shape:
        shape = infer_from_schema(self._schema())
        if not self.pydantic_class:
            shape.fields = infer_from_hint(hint).fields | shape.fields
        for key in (*self.required_keys, *self.filtered_keys()):
            shape.add_path(key)
        return shape

    def _schema(self) -> dict[str, Any]:
        """The schema that the reply must fit; empty when it may be any object."""
        if self.json_schema:
            return self.json_schema
        if self.pydantic_class is None:
            return {}
        return self.pydantic_class.model_json_schema()

    @property
    # It follows a change of the hint.
    def format_instruction(self) -> str:  # type: ignore[override]
        """What the model is told at the end of the prompt."""
        instruction = (
            f"Reply with one JSON object in a fenced block, in this form:\n{self._example()}"
        )
        if schema := self._schema():
            instruction += (
                f"\nThe object must fit this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
            )
        return instruction

    def api_format(self) -> dict[str, Any]:
        """The value for `response_format` of the chat API: the schema where there is one, else any
        JSON object.
        """
        schema = self._schema()
        if not schema:
            return {"type": "json_object"}
        return response_format(schema, str(schema.get("title", "")))

    def _accept(self, value: object, text: str) -> dict[str, Any]:
        found = fit(_to_object(value, text), self._shape)
        try:
            if self.json_schema:
                validate_schema(found, self.json_schema, text)
            if self.pydantic_class:
                found = validate_model(found, self.pydantic_class, text)
            self._require(found, text)
        except (JsonParsingError, RequiredFieldNotFoundError) as error:
            if self._shape.fields.keys().isdisjoint(found):
                raise Unrelated(error) from None
            raise
        return dict(found)

    def _require(self, found: Mapping[str, object], text: str) -> None:
        if missing := find_missing(found, self.required_keys):
            raise RequiredFieldNotFoundError(
                f"The JSON object lacks the required keys {list_keys(missing)}; it has the keys"
                f" {list_keys(list(found))}. Reply with all of {list_keys(self.required_keys)}. The"
                f" reply: {excerpt(text)}",
                text,
            )


def _to_object(value: object, text: str) -> dict[str, Any]:
    """The value, or what is written in it when it is a JSON text in a JSON text; raises Unrelated
    when that is another kind of value.
    """
    inner = _decode_again(value) if isinstance(value, str) else value
    if isinstance(inner, dict):
        return inner
    error: ResponseParsingError = JsonTypeError(
        "A JSON object is wanted, but the JSON in the reply is a"
        f" {_NAMES.get(type(value), 'value')}. The reply: {excerpt(text)}",
        text,
    )
    raise Unrelated(error)


def _decode_again(source: str) -> object:
    """The JSON value in the text, None when there is none."""
    try:
        return decode_strictly(source)
    except (ValueError, RecursionError):
        return None


_NAMES = {
    list: "list",
    str: "string",
    int: "number",
    float: "number",
    bool: "bool",
    type(None): "null",
}

"""JSON schemas and pydantic classes: what they refuse, and how the API of a model is told of
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from agentkit.errors import JsonParsingError, WrongArgument

if TYPE_CHECKING:
    from pydantic import BaseModel

_MOST_PROBLEMS = 10


def is_pydantic_class(hint: object) -> bool:
    """Whether that is a class of pydantic models; loads pydantic for classes only."""
    if not isinstance(hint, type):
        return False
    from pydantic import BaseModel

    return issubclass(hint, BaseModel)


def check_schema(schema: object) -> dict[str, Any]:
    """The schema itself; raises WrongArgument when it is not a JSON schema."""
    from jsonschema import exceptions, validators  # type: ignore[import-untyped]

    if not isinstance(schema, Mapping):
        raise WrongArgument(f"json_schema must be a dict, not {schema!r}.")
    try:
        validators.validator_for(schema).check_schema(schema)
    except exceptions.SchemaError as error:
        place = _format_path(error.absolute_path)
        raise WrongArgument(
            f"json_schema is not a valid JSON schema: {error.message} at {place}."
        ) from None
    return dict(schema)


def validate_schema(value: object, schema: Mapping[str, object], text: str) -> None:
    """Raises JsonParsingError that says for each field what the schema refuses, WrongArgument for a
    reference to nowhere.
    """
    from jsonschema import validators
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # An empty registry: a schema may refer to itself, never to an address in the network.
    checking = validators.validator_for(schema)(schema, registry=Registry())
    try:
        problems = [
            f"{_format_path(error.absolute_path)}: {error.message[:200]}"
            for error in islice(checking.iter_errors(value), 50)
        ]
    except Unresolvable as error:
        raise WrongArgument(f"json_schema refers to {error.ref!r}, which is not in it.") from None
    if problems:
        raise _make_error(problems, text)


def validate_model(value: object, model: type[BaseModel], text: str) -> dict[str, Any]:
    """The fields of the pydantic model as JSON has them; raises JsonParsingError that says for each
    field what is wrong.
    """
    from pydantic import ValidationError

    try:
        made = model.model_validate(value).model_dump(mode="json")
        json.dumps(made, allow_nan=False)  # pydantic takes "inf" for a float
        return made
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        raise _make_error(
            [f"{_format_path(detail['loc'])}: {detail['msg'][:200]}" for detail in details], text
        ) from None
    except ValueError:
        raise _make_error(["(the whole): it holds an infinite number, or NaN"], text) from None


def _make_error(problems: list[str], text: str) -> JsonParsingError:
    more = ""
    if len(problems) > _MOST_PROBLEMS:
        more = f"; and {len(problems) - _MOST_PROBLEMS} more"
    listed = "; ".join(problems[:_MOST_PROBLEMS])
    return JsonParsingError(
        f"The JSON does not fit the schema. {listed}{more}. Reply with JSON that fits.", text
    )


def _format_path(parts: Iterable[str | int]) -> str:
    return ".".join(map(str, parts)) or "(the whole)"


def response_format(schema: Mapping[str, object], name: str) -> dict[str, Any]:
    """The value for `response_format` of the chat API that enforces a schema.

    It is strict when the schema is written for that: every object lists all its fields as required,
    and allows no others.
    """
    named = re.sub(r"[^\w-]+", "_", name, flags=re.ASCII).strip("_")[:64] or "reply"
    inside = {
        "name": named,
        "schema": dict(schema),
        "strict": schema.get("type") == "object" and _is_strict(schema),
    }
    return {"type": "json_schema", "json_schema": inside}


def _is_strict(schema: object) -> bool:
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") != "object":
        return all(map(_is_strict, schema.values()))
    fields = schema.get("properties", {})
    told = (schema.get("additionalProperties"), set(schema.get("required", ())))
    within = (*fields.values(), schema.get("$defs", {}))
    return told == (False, set(fields)) and all(map(_is_strict, within))

"""From what a planner writes in the brackets to arguments by name, and from a result to text."""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from agentkit.agents.rewoo.describing import Description
from agentkit.core.given import list_missing
from agentkit.core.tools import parse_arguments, to_text
from agentkit.errors import WrongArgument

Arguments = str | Sequence[object] | Mapping[str, object]
"""What an action is called with: a text, a JSON array, or arguments by name."""


class Described(Protocol):
    """What a parser knows of its action."""

    @property
    def name(self) -> str:
        """Under which the planner knows it."""

    @property
    def description(self) -> Description:
        """Name, purpose and parameters; of a toolkit `api_list` with those of its APIs."""

    @property
    def is_toolkit(self) -> bool:
        """Whether it has several APIs."""


class BaseParser:
    """Gives the whole input to the first parameter; also the base of the other parsers.

    `PARAMETER_DESCRIPTION` tells the planner how to write the input. Raises WrongArgument where an
    action's description requires a parameter that it does not list.
    """

    PARAMETER_DESCRIPTION = ""

    def __init__(self, action: Described) -> None:
        self.action = action
        self._parameters: dict[str, dict[str, str]] = {}
        self._required: dict[str, list[str]] = {}
        for api in action.description.get("api_list", [action.description]):
            self._add_api(api)
            if self.PARAMETER_DESCRIPTION:
                api["parameter_description"] = self.PARAMETER_DESCRIPTION

    def _add_api(self, api: Description) -> None:
        """What one API takes, the only one of an action being `run`."""
        name = api["name"] if self.action.is_toolkit else "run"
        known = {each["name"]: each.get("type", "STRING") for each in api["parameters"]}
        required = list(api["required"])
        if unknown := list_missing(required, known):
            raise WrongArgument(
                f"{self.action.name}: {name} requires {unknown}, which are not among its"
                " parameters; list them."
            )
        self._parameters[name] = known
        self._required[name] = required

    def parse_inputs(self, inputs: object, name: str = "run") -> dict[str, object]:
        """The arguments by name; raises WrongArgument when the API takes none."""
        if isinstance(inputs, Mapping) and self._fits(inputs, name):
            return dict(inputs)
        if not self._parameters[name]:
            raise WrongArgument(f"{self.action.name} takes no input; leave the brackets empty.")
        first, *_ = self._parameters[name]
        return {first: to_text(inputs)}

    def from_text(self, text: str, name: str = "run") -> Arguments:
        """A text that holds evidence, in a form that `parse_inputs` takes for one text, whatever it
        contains.
        """
        return text

    def parse_outputs(self, outputs: object) -> list[dict[str, object]]:
        """What the action returned, as items of an ActionReturn; other values are told as JSON
        where it has that form.
        """
        return [{"type": "text", "content": to_text(outputs)}]

    def _fits(self, arguments: Mapping[str, object], name: str) -> bool:
        """Whether all names are known, and none that is required is missing."""
        return set(self._required[name]) <= arguments.keys() <= self._parameters[name].keys()

    def _check(self, arguments: Mapping[str, object], name: str) -> dict[str, object]:
        known = self._parameters[name]
        if unknown := list_missing(arguments, known):
            raise WrongArgument(
                f"unknown arguments: {_join_names(unknown)}; {self.action.name} takes"
                f" {_join_names(known, 'none')}."
            )
        if missing := list_missing(self._required[name], arguments):
            raise WrongArgument(
                f"missing required arguments: {_join_names(missing)}; give them as a JSON object."
            )
        return dict(arguments)


class JsonParser(BaseParser):
    """Arguments by name as a JSON object; a plain text where only one parameter can be meant."""

    PARAMETER_DESCRIPTION = (
        "Write the input as a JSON object {parameter: value}; plain text is enough where only one"
        " parameter is needed."
    )

    def parse_inputs(self, inputs: object, name: str = "run") -> dict[str, object]:
        """The arguments by name; raises WrongArgument when they are unknown, missing, or cannot be
        told apart.
        """
        if isinstance(inputs, Mapping):
            return self._load_all(inputs, name)
        if isinstance(inputs, str):
            return self._read_text(inputs, name)
        only = self._find_only(name)
        if only is None:
            raise WrongArgument(
                f"{inputs!r:.200} must be a JSON object with"
                f" {_join_names(self._parameters[name], 'no names')}."
            )
        return self._load_only(inputs, name, only)

    def _read_text(self, text: str, name: str) -> dict[str, object]:
        """The arguments in a text: none, by name, or the one that it can be."""
        if not text.strip():
            return self._check({}, name)
        only = self._find_only(name)
        if only is None or text.lstrip().startswith(("{", "`")):
            return self._read_named(text, name, only)
        return self._load_only(text, name, only)

    def _load_only(self, value: object, name: str, only: str) -> dict[str, object]:
        if self._parameters[name][only] == "STRING":
            return {only: to_text(value)}
        return {only: self._load_typed(value, name, only)}

    def from_text(self, text: str, name: str = "run") -> Arguments:
        """Arguments by name only if the text is a JSON object of exactly such; else the value of
        the one parameter it can be.
        """
        value = _load_json(text, default=None)
        if isinstance(value, dict) and value and self._fits(value, name):
            return value
        only = self._find_only(name)
        if only is None:
            return text
        if not text.strip():
            return text
        return {only: self._load_typed(text, name, only)}

    def _load_all(self, arguments: Mapping[str, object], name: str) -> dict[str, object]:
        loaded = self._check(arguments, name)
        for key, value in loaded.items():
            loaded[key] = self._load_typed(value, name, key)
        return loaded

    def _read_named(self, text: str, name: str, only: str | None) -> dict[str, object]:
        try:
            arguments = parse_arguments(text)
        except WrongArgument as error:
            if only is None:
                raise WrongArgument(f"invalid json format: {text:.200}; {error}") from error
            return {only: self._load_typed(text, name, only)}
        return self._load_all(arguments, name)

    def _find_only(self, name: str) -> str | None:
        """The parameter that an input without a name must mean."""
        required, all_of_them = self._required[name], list(self._parameters[name])
        if len(required) == 1:
            return required[0]
        if len(all_of_them) == 1:
            return all_of_them[0]
        return None

    def _load_typed(self, value: object, name: str, parameter: str) -> object:
        """A text where a list or an object is wanted may be its JSON, as evidence is; the action
        checks the type.
        """
        wanted = self._parameters[name][parameter]
        if isinstance(value, str) and wanted in ("Array", "OBJECT"):
            return _load_json(value, default=value)
        return value


class TupleParser(BaseParser):
    """Arguments in their order, as a tuple."""

    PARAMETER_DESCRIPTION = (
        "Write the input as a tuple (value, value, ...), with the values in the order of the"
        " parameters."
    )

    def parse_inputs(self, inputs: object, name: str = "run") -> dict[str, object]:
        """The arguments by name; raises WrongArgument for another form, and for too few or too
        many values.
        """
        given = inputs
        if isinstance(inputs, str):
            given = _read_literal(inputs)
        values = given if isinstance(given, list | tuple) else (given,)
        known, least = list(self._parameters[name]), len(self._required[name])
        if len(values) not in range(least, len(known) + 1):
            raise WrongArgument(
                f"{self.action.name} takes {least} to {len(known)} values, but"
                f" {len(values)} were given."
            )
        return dict(zip(known, values, strict=False))

    def from_text(self, text: str, name: str = "run") -> Arguments:
        """The text as a tuple where it is one that fits, else as the first value."""
        try:
            self.parse_inputs(text, name)
        except WrongArgument:
            return [text]
        return text


def _read_literal(text: str) -> object:
    try:
        return literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise WrongArgument(
            f"invalid tuple format: {text:.200}; write (value, value, ...)."
        ) from error


def _load_json(text: str, default: object) -> object:
    value = default
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
    return value


def _join_names(names: Iterable[str], none: str = "") -> str:
    return ", ".join(map(repr, names)) or none

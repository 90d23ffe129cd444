"""Writes docs/team-documents.md from the models: `python -m tests.teams.built.fields`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentkit.teams.built import agents, document, flows

PAGE = Path(__file__).parents[3] / "docs" / "team-documents.md"
_LIMITS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}
_BEGIN = """# What a team's document holds

A team is one JSON document. `read_document` of `agentkit.teams.built.document` reads it, tells what
is wrong with it and where, and runs nothing. `ready_made` of `agentkit.teams.built.ready_made`
gives those of the teams that come with the app, by their ids; `import_team` of
`agentkit.teams.built.importing` reads workflows of AutoGen Studio and Python scripts as far as they
fit, with a list of what did not.

```json
{
  "name": "Two",
  "agents": [
    {"name": "Asker", "role": "person", "llm": null},
    {"name": "Helper", "documents": {}, "tools": [{"name": "calculate"}]}
  ],
  "flow": {"kind": "two_agents", "starts": "Asker", "answers": "Helper"}
}
```

Every key that is not there is refused, and every field that is left out is as it is by default.
This page is written from the models by `python -m tests.teams.built.fields`.
"""


def write_page() -> str:
    """The page."""
    return "\n".join([_BEGIN, *_write_models()]).rstrip() + "\n"


def _write_models() -> Iterator[str]:
    models: list[type[agents.Part]] = [document.TeamDocument]
    for model in [*models, *_list_parts(agents), *_list_parts(flows)]:
        kind = model.model_fields.get("kind")
        title = model.__name__ if kind is None or model is flows.Stage else f"Flow `{kind.default}`"
        yield f"## {title}\n\n{_flatten(model.__doc__)}\n"
        yield "| field | what it may be | default | what it does |\n| --- | --- | --- | --- |"
        schema = model.model_json_schema(by_alias=True)
        whole = schema.get("$defs", {}).get(model.__name__, schema)
        for name, field in whole["properties"].items():
            yield _write_row(name, field, needed=name in whole.get("required", ()))
        yield ""


def _list_parts(home: object) -> list[type[agents.Part]]:
    """The models that are made there, in their order."""
    found = [one for one in vars(home).values() if isinstance(one, type)]
    here = [one for one in found if one.__module__ == vars(home)["__name__"]]
    return [one for one in here if issubclass(one, agents.Part) and one is not agents.Part]


def _write_row(name: str, field: Mapping[str, Any], needed: bool) -> str:
    empty: object = {} if field.get("type") == "object" else []  # of what a factory makes
    default = "needed" if needed else f"`{json.dumps(field.get('default', empty))}`"
    default = default if len(default) < 60 else "`{...}`"
    cells = [f"`{name}`", _describe(field), default, _flatten(field.get("description"))]
    return f"| {' | '.join(cells)} |"


def _describe(field: Mapping[str, Any]) -> str:
    """What a value may be."""
    kinds = field.get("anyOf") or field.get("oneOf")
    if kinds:
        return " or ".join(map(_describe, kinds))
    if "$ref" in field:
        return f"{field['$ref'].rpartition('/')[2]}"
    values = field.get("enum", [field["const"]] if "const" in field else [])
    if values:
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    if field.get("type") == "array":
        return f"list of {_describe(field.get('items', {}))}"
    limits = [f"{words} {field[key]:g}" for key, words in _LIMITS.items() if key in field]
    return ", ".join([str(field.get("type", "anything")), *limits])


def _flatten(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")

"""Schemas in all their forms, and what is said of those that no table can hold."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator

from agentkit.errors import ConfigError
from agentkit.teams.extraction import from_class, from_json_schema, from_text, load_schema


class Status(Enum):
    open = "open"
    paid = "paid"


class Vendor(BaseModel):
    name: str
    city: str | None = None


class Invoice(BaseModel):
    number: str = Field(description="as printed", pattern=r"^INV")
    total: Decimal
    copies: int | None = Field(None, ge=1)
    issued: date
    status: Status = Status.open
    kind: Literal["goods", "service"]
    tags: list[str] = []
    vendor: Vendor

    @field_validator("issued")
    @classmethod
    def not_too_old(cls, issued: date) -> date:
        if issued.year < 2000:
            raise ValueError("issued before 2000")
        return issued


KINDS = {
    "number": "string",
    "total": "number",
    "copies": "integer",
    "issued": "date",
    "status": "string",
    "kind": "string",
    "tags": "list",
    "vendor.name": "string",
    "vendor.city": "string",
}


def test_a_pydantic_class() -> None:
    schema = from_class(Invoice)
    assert {field.name: field.kind for field in schema.fields} == KINDS
    assert [field.name for field in schema.fields if field.required] == [
        "number",
        "total",
        "issued",
        "kind",
        "vendor.name",
    ]
    by_name = {field.name: field for field in schema.fields}
    assert by_name["number"].description == "as printed"
    assert by_name["status"].choices == ("open", "paid")
    assert by_name["kind"].choices == ("goods", "service")


def test_the_class_checks_what_is_there_and_not_what_is_missing() -> None:
    schema = from_class(Invoice)
    assert schema.misfits({}) == {}
    assert schema.misfits({"issued": "2025-01-01", "total": 12.5, "vendor.name": "ACME"}) == {}
    assert schema.misfits({"issued": "1999-01-01"}) == {"issued": "Value error, issued before 2000"}
    assert set(schema.misfits({"number": "X", "copies": 0, "issued": "soon", "total": "12"})) == {
        "number",
        "copies",
        "issued",
        "total",
    }
    assert schema.find_lacking({"number": "INV1", "total": 1}) == ["issued", "kind", "vendor.name"]


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("number", 1.5, True),
        ("number", "1.5", False),
        ("number", float("nan"), False),
        ("number", 10**400, False),
        ("integer", 3, True),
        ("integer", 3.5, False),
        ("integer", True, False),
        ("integer", 2**63, False),
        ("boolean", False, True),
        ("boolean", "no", False),
        ("date", "2024-02-29", True),
        ("date", "2025-02-29", False),
        ("date", "20250101", False),
        ("list", ["a"], True),
        ("list", "a", False),
        ("list", [1], False),
        ("string", 3, False),
        ("open|paid", "open", True),
        ("open|paid", "shut", False),
    ],
)
def test_values_are_checked_by_their_type(kind: str, value: Any, fits: bool) -> None:
    assert (from_text(f"x ({kind})").misfits({"x": value}) == {}) is fits


def test_a_list_in_words() -> None:
    schema = from_text(
        "invoice number, date (date, required), total (number): the sum with tax, status (open |"
        " Paid)"
    )
    described = [
        (field.name, field.kind, field.description, field.required, field.choices)
        for field in schema.fields
    ]
    assert described == [
        ("invoice number", "string", "", False, ()),
        ("date", "date", "", True, ()),
        ("total", "number", "the sum with tax", False, ()),
        ("status", "string", "", False, ("open", "Paid")),
    ]
    assert from_text("- total (amount): with tax, in euros\n- paid (yes/no)\n").names == [
        "total",
        "paid",
    ]


def test_a_file_a_class_and_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "s.json"
    file.write_text(
        json.dumps({"type": "object", "properties": {"total": {"type": ["number", "null"]}}})
    )
    assert load_schema(str(file)).names == ["total"]
    module = tmp_path / "some_bills.py"
    module.write_text(
        "from __future__ import annotations\nfrom pydantic import BaseModel\nclass"
        " Bill(BaseModel):\n    total: float\n"
    )
    assert load_schema(f"{module}:Bill").names == ["total"]
    monkeypatch.syspath_prepend(tmp_path)
    assert load_schema("some_bills:Bill").title == "Bill"
    assert load_schema('{"properties": {"a": {"type": "string"}}}').names == ["a"]


LOOP = {"$ref": "#/$defs/a"}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ([], "is an object, not []"),
        ({"type": "array", "items": {}}, "for 'array', not for an object"),
        ({"type": "object"}, "is not an object with `properties`"),
        ({"type": "object", "properties": {}}, "has no fields"),
        ({"properties": {"x": {"type": "strin"}}}, "not valid at properties.x.type"),
        ({"properties": {"x": {}}}, "x has the type None"),
        (
            {"properties": {"x": {"type": "array", "items": {"type": "object"}}}},
            "x is a list of object",
        ),
        (
            {"properties": {"x": {"anyOf": [{"type": ["boolean", "null"]}, {"type": "string"}]}}},
            "x may be boolean or string",
        ),
        ({"allOf": [{"$ref": "#"}], "properties": {}}, "leads in a circle"),
        ({"properties": {"x": {"type": ["string", "integer"]}}}, "x may be string or integer"),
        ({"properties": {"x": {"enum": [1, "a"]}}}, "must be of one type"),
        (
            {"properties": {"x": {"$ref": "https://example.org/s.json"}}},
            "only references within the schema",
        ),
        ({"properties": {"x": {"$ref": "#/$defs/none"}}}, "that is not there"),
        ({"properties": {"x": LOOP}, "$defs": {"a": LOOP}}, "leads in a circle"),
        ({"properties": {"x": {"$ref": "#"}}}, "nested more than"),
        ({"properties": {"x": {"type": "string", "pattern": "("}}}, "is not a 'regex'"),
        ({"properties": {"a": {"type": "string"}, "A": {"type": "string"}}}, "would be called 'a'"),
        ({"properties": {"document": {"type": "string"}}}, "would be called 'document'"),
        (
            {"properties": {"a": {"type": "string"}, "a_source": {"type": "string"}}},
            "would be called 'a_source'",
        ),
    ],
)
def test_a_wrong_json_schema_is_refused_in_words(schema: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        from_json_schema(schema)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "has no fields"),
        ("total (money)", "unknown type 'money'"),
        ("total (number", "is not a field"),
        ("no/such/schema.json", "cannot be read"),
        ("{not json", "not valid JSON"),
        ("nothing_of_that_name:Bill", "cannot be imported"),
        ("json:Bill", "json has no 'Bill'"),
        ("json:JSONDecoder", "not a pydantic class"),
        ("/no/such/file.py:Bill", "cannot be imported"),
    ],
)
def test_what_is_no_schema_is_refused_in_words(given: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_schema(given)
    assert message in str(refused.value)

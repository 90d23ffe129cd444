"""With a language model: types, quotes, retries, long documents, and documents that cannot be
read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, model_validator

from agentkit.core import bus, stopping
from agentkit.core.stopping import StopSignal
from agentkit.errors import ContextTooLong, ModelAuthFailed, RateLimited
from agentkit.events import DocumentProgress, Event, ModelReplied, Noted, ReplyParsed
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import count_text
from agentkit.settings import Settings
from agentkit.teams.extraction import (
    Row,
    Schema,
    Table,
    extract,
    from_class,
    from_json_schema,
    from_text,
)
from agentkit.workspace import Workspace
from tests.servers.openai_server import Answer, OpenAIServer
from tests.servers.strict import refuse_as_mistral, strict
from tests.teams.extraction.papers import Broken, Typed

BILL = Typed(
    "bill.txt", "Bill 7\nIssued on 3 March 2025.\nTotal:  12.50 EUR\nStatus \u201copen\u201d", 2
)
SCHEMA = from_text("total (number), issued (date), status (open|paid), note")


def reply(**fields: tuple[Any, str] | None) -> str:
    """What a model says: values with quotes."""
    return json.dumps(
        {name: each and {"value": each[0], "quote": each[1]} for name, each in fields.items()}
    )


RIGHT = reply(
    total=(12.5, "Total: 12.50 EUR"),
    issued=("2025-03-03", "Issued on 3 March 2025"),
    status=("open", 'status "open"'),
    note=None,
)


def one(model: Model, schema: Schema = SCHEMA, document: Typed = BILL) -> Row:
    (row,) = extract(schema, [document], model).rows
    return row


def asked(model: Model) -> list[str]:
    """The last message of each request."""
    assert isinstance(model.client, ScriptedClient)
    return [request["messages"][-1]["content"] for request in model.client.requests]


def test_every_value_has_the_documents_own_words_as_its_source() -> None:
    model = scripted_model([RIGHT])
    row = one(model)
    assert {name: cell.value for name, cell in row.cells.items()} == {
        "total": 12.5,
        "issued": "2025-03-03",
        "status": "open",
        "note": None,
    }
    sources = {name: cell.source.text for name, cell in row.cells.items() if cell.source}
    assert sources == {
        "total": "Total:  12.50 EUR",
        "issued": "Issued on 3 March 2025",
        "status": "Status \u201copen\u201d",
    }
    assert row.cells["total"].said == "bill.txt, p. 2: \u201cTotal: 12.50 EUR\u201d"
    (text,) = asked(model)
    assert BILL.text in text
    assert "issued" in text


def test_what_no_quote_shows_is_kept_and_never_cited() -> None:
    model = scripted_model(
        [
            reply(
                total=(13, "Total: 12.50 EUR"),
                issued=("2025-03-04", "Issued on 3 March 2025"),
                status=("paid", "it is paid"),
                note=("hello", ""),
            ),
        ]
    )
    table = extract(SCHEMA, [BILL], model)
    (row,) = table.rows
    assert [cell.value for cell in row.cells.values()] == [13, "2025-03-04", "paid", "hello"]
    assert all(cell.source is None and cell.unverified for cell in row.cells.values())
    made = table.to_json()["rows"][0]
    assert (made["unverified"], made["citations"]) == (["total", "issued", "status", "note"], {})
    assert table.to_csv().count("unverified") == 4


def test_words_of_the_document_without_the_value_show_nothing() -> None:
    model = scripted_model(
        [
            reply(
                total=(9999, "Bill"),
                issued=("1999-01-01", "Issued on"),
                status=("paid", "Status open"),
            )
        ]
    )
    cells = one(model, from_text("total (number), issued (date), status (open|paid)")).cells
    assert {name: cell.unverified for name, cell in cells.items()} == {
        "total": True,
        "issued": True,
        "status": True,
    }


@pytest.mark.parametrize("value", [5_200_000, "5.2 Million"])
def test_a_number_with_a_scale_is_shown_by_its_quote(value: object) -> None:
    document = Typed("report.txt", "Revenue: 5.2 Million EUR")
    model = scripted_model([reply(revenue=(value, document.text))])
    cell = one(model, from_text("revenue (number)"), document).cells["revenue"]
    assert (cell.value, cell.unverified) == (5_200_000, False)


@pytest.mark.parametrize(
    ("value", "quote"),
    [(12, "takes twelve days"), (30, "THIRTY days"), (0, "no fee"), (7, "Bill 7")],
)
def test_numbers_in_words_are_believed(value: int, quote: str) -> None:
    document = Typed("terms.txt", "It takes twelve days, and thirty days abroad; no fee. Bill 7")
    cell = one(
        scripted_model([reply(days=(value, quote))]), from_text("days (number)"), document
    ).cells["days"]
    assert (cell.value, cell.unverified) == (value, False)


@pytest.mark.parametrize(
    ("said", "meant"), [("no", False), ("Yes", True), ("nein", False), ("true", True)]
)
def test_yes_and_no_are_no_reason_to_ask_again(said: str, meant: bool) -> None:
    model = scripted_model([reply(open=(said, "Status open"))])
    assert one(model, from_text("open (boolean)")).cells["open"].value is meant


def test_a_reply_that_does_not_fit_is_refused_with_the_reason() -> None:
    wrong = (
        RIGHT.replace("12.5,", '"12 EUR",')
        .replace('"open",', '"shut",')
        .replace("2025-03-03", "soon")
    )
    model, events = scripted_model(["No idea.", wrong, RIGHT]), list[Event]()
    with bus.listening(events.append):
        row = one(model)
    assert row.cells["total"].value == 12.5
    tries = [event for event in events if isinstance(event, ReplyParsed)]
    assert [(event.attempt, event.ok) for event in tries] == [(1, False), (2, False), (3, True)]
    assert "total" in tries[1].error
    assert tries[1].error in asked(model)[2]
    assert len([event for event in events if isinstance(event, ModelReplied)]) == 3


def test_dates_in_other_forms_become_iso_and_impossible_ones_are_refused() -> None:
    schema = from_text("issued (date)")
    written = reply(issued=("3rd of March 2025", "Issued on 3 March 2025"))
    assert one(scripted_model([written]), schema).cells["issued"].value == "2025-03-03"
    model = scripted_model([reply(issued=("2025-13-03", "Issued")), written])
    assert one(model, schema).cells["issued"].value == "2025-03-03"
    assert "write it as YYYY-MM-DD" in asked(model)[1]


def test_after_the_last_refusal_what_fits_is_kept_and_the_rest_is_told() -> None:
    wrong = reply(
        total=("12 EUR", "Total"),
        issued=("2025-03-03", "Issued on 3 March 2025"),
        status=None,
        note=None,
    )
    row = one(scripted_model([wrong] * 3))
    assert (row.cells["issued"].value, row.cells["total"].value) == ("2025-03-03", None)
    assert row.problems == ("total: '12 EUR' is not of type 'number', so it was left out",)


def test_a_model_that_only_talks_costs_this_row_alone() -> None:
    model = scripted_model(["No.", "No.", "No.", RIGHT])
    first, second = extract(SCHEMA, [BILL, replace(BILL, name="b.txt")], model).rows
    assert not first.cells
    assert "JSON" in first.error
    assert second.cells["total"].value == 12.5


class Sum(BaseModel):
    net: float
    total: float

    @model_validator(mode="after")
    def adds_up(self) -> Sum:
        if self.total < self.net:
            raise ValueError("the total is less than the net sum")
        return self


def test_a_pydantic_class_refuses_what_only_it_can_know() -> None:
    text = Typed("sum.txt", "net 10, total 12")
    good = reply(net=(10, "net 10"), total=(12, "total 12"))
    model = scripted_model([reply(net=(12, "total 12"), total=(10, "net 10")), good])
    assert one(model, from_class(Sum), text).cells["net"].value == 10
    assert "the total is less than the net sum" in asked(model)[1]
    missing = one(scripted_model([reply(net=(10, "net 10"), total=None)]), from_class(Sum), text)
    assert missing.problems == ("total: required, and not found in the document",)


def test_an_unreadable_document_is_a_row_with_its_error() -> None:
    events: list[Event] = []
    with bus.listening(events.append):
        table = extract(SCHEMA, [Broken(), BILL], scripted_model([RIGHT]))
    assert [row.error for row in table.rows] == [
        "broken.pdf is damaged; open it in its program and save it again.",
        "",
    ]
    assert [event.document for event in events if isinstance(event, DocumentProgress)] == [
        "broken.pdf",
        "bill.txt",
    ]
    assert [event.text for event in events if isinstance(event, Noted)][
        1
    ] == "bill.txt: 3 of 4 fields"


def test_a_model_that_refuses_the_key_ends_it_but_keeps_the_rows_before() -> None:
    with pytest.raises(ModelAuthFailed):
        extract(SCHEMA, [BILL], scripted_model([ModelAuthFailed("wrong key")]))
    model = scripted_model([RIGHT, ModelAuthFailed("wrong key")])
    rows = extract(SCHEMA, [BILL, BILL, BILL], model).rows
    assert [row.error for row in rows] == ["", "wrong key", "wrong key"]
    assert len(asked(model)) == 2
    busy = extract(SCHEMA, [BILL, BILL], scripted_model([RateLimited("busy"), RIGHT])).rows
    assert [row.error for row in busy] == ["busy", ""]


def test_a_stop_keeps_the_rows_that_are_finished() -> None:
    signal = StopSignal()

    def answer(request: Mapping[str, Any]) -> str:
        if "second.txt" in request["messages"][-1]["content"]:
            signal.set()
        return RIGHT

    with stopping.stoppable(signal):
        table = extract(SCHEMA, [BILL, Typed("second.txt", "x"), BILL], scripted_model(answer))
    assert (table.stopped, [row.document for row in table.rows]) == (True, ["bill.txt"])


LONG = "\n\n".join(
    f"Paragraph {number} says nothing of interest about the weather." for number in range(900)
)
FACTS = f"Total: 12.50 EUR\n\n{LONG}\n\nIssued on 3 March 2025\n\n{LONG}\n\nTotal: 99 EUR"


def reader(request: Mapping[str, Any]) -> str:
    """Reads only what stands in the piece, and quotes nothing for the status, which it makes up."""
    text = request["messages"][-1]["content"]
    document = text.partition("<document>")[2].partition("</document>")[0]
    fields: dict[str, Any] = {}
    wanted = text.partition("</document>")[2]
    if '"total"' in wanted:
        found = re.search(r"Total: ([\d.]+) EUR", document)
        fields["total"] = {"value": float(found[1]), "quote": found[0]} if found else None
    if '"issued"' in wanted:
        fields["issued"] = (
            {"value": "2025-03-03", "quote": "Issued on 3 March 2025"}
            if "Issued" in document
            else None
        )
    return json.dumps(fields)


def test_a_long_document_is_read_in_pieces_and_the_first_verified_value_wins() -> None:
    model = replace(scripted_model(reader), context_window=4_000)
    row = one(model, from_text("total (number), issued (date)"), Typed("long.txt", FACTS))
    assert {name: cell.value for name, cell in row.cells.items()} == {
        "total": 12.5,
        "issued": "2025-03-03",
    }
    source = row.cells["issued"].source
    assert source is not None
    assert FACTS[source.start : source.end] == "Issued on 3 March 2025"
    requests = asked(model)
    assert 3 < len(requests) < 20  # it ends when all is found
    assert all(count_text(request, "scripted")[0] < 4_000 for request in requests)
    assert '"total"' not in requests[1].partition("</document>")[2]  # it is not asked for again


def test_all_of_a_long_document_is_read() -> None:
    model = replace(
        scripted_model(lambda request: json.dumps({"note": None})), context_window=4_000
    )
    one(model, from_text("note"), Typed("long.txt", LONG))
    seen = "".join(asked(model))
    assert all(f"Paragraph {number} says" in seen for number in range(900))


def test_a_context_that_is_smaller_than_promised_is_met_with_smaller_pieces() -> None:
    def answer(request: Mapping[str, Any]) -> str | Exception:
        if count_text(request["messages"][-1]["content"], "scripted")[0] > 2_000:
            return ContextTooLong("too long")
        return reader(request)

    model = replace(scripted_model(answer), context_window=8_000)
    row = one(model, from_text("total (number), issued (date)"), Typed("long.txt", FACTS))
    assert {name: cell.value for name, cell in row.cells.items()} == {
        "total": 12.5,
        "issued": "2025-03-03",
    }


@pytest.mark.parametrize("takes_schema", [True, False])
def test_over_a_real_server(tmp_path: Any, takes_schema: bool) -> None:
    """The schema goes along as `response_format`; a server that knows none is asked in words."""

    def script(body: dict[str, Any]) -> Answer:
        if not takes_schema and ("response_format" in body or "tools" in body):
            return Answer(
                status=400, error={"message": "response_format and tools are not supported"}
            )
        return Answer(f"<think>Let me see.</think>```json\n{RIGHT}\n```")

    with OpenAIServer(strict(refuse_as_mistral, script)) as server:
        settings = Settings(
            data=tmp_path / "data", openai_base_url=server.base_url, openai_model="test-model"
        )
        workspace = Workspace(settings)
        try:
            table: Table = extract(SCHEMA, [BILL], workspace.model())
        finally:
            workspace.close()
    assert table.rows[0].cells["total"].value == 12.5
    assert table.rows[0].problems == ()
    format_ = server.chats[0]["response_format"]["json_schema"]
    assert format_["strict"] is True
    assert format_["schema"]["required"] == SCHEMA.names
    assert len(server.chats) == (1 if takes_schema else 3)


def test_a_list_of_choices_is_shown_by_a_quote_that_names_them() -> None:
    items = {"type": "string", "enum": ["red", "green", "blue"]}
    schema = from_json_schema({"properties": {"colours": {"type": "array", "items": items}}})
    document = Typed("paint.txt", "Paint in Green and Red.")
    quote = "in Green and Red"
    shown = one(scripted_model([reply(colours=(["red", "green"], quote))]), schema, document)
    assert not shown.cells["colours"].unverified
    other = one(scripted_model([reply(colours=(["red", "blue"], quote))]), schema, document)
    assert other.cells["colours"].unverified

"""The offline model: what is literally there is found, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.documents import Jail, Limits
from agentkit.teams.extraction import from_text
from agentkit.teams.extraction.literal import read_literally
from agentkit.teams.extraction.quoting import Paper
from tests.teams.extraction.papers import FILES, Typed, write
from tests.timing import processor_time

SAMPLES = Path(__file__).resolve().parents[3] / "data" / "samples"


@pytest.fixture(scope="module")
def jail() -> Any:
    with Jail(Limits()) as jail:
        yield jail


def found(fields: str, text: str, name: str = "paper.txt") -> dict[str, Any]:
    """The values that are there."""
    paper = Paper("1", name, Typed(name, text).read())
    cells, _ = read_literally(from_text(fields), paper)
    return {name: cell.value for name, cell in cells.items() if cell.value is not None}


def test_what_invoices_cvs_and_letters_state_is_found_and_nothing_else(
    jail: Jail, tmp_path: Path
) -> None:
    stated = right = 0
    wrong = []
    for path in write(tmp_path):
        fields, _, values = FILES[path.name]
        paper = Paper(path.name, path.name, jail.read(path, path.name))
        cells, _ = read_literally(from_text(fields), paper)
        stated += len(values)
        right += sum(cells[name].value == value for name, value in values.items())
        wrong += [
            (path.name, name, cell.value)
            for name, cell in cells.items()
            if cell.value not in (None, values.get(name))
        ]
        for cell in cells.values():
            assert (cell.value is None) == (cell.source is None)
            if cell.source is not None:
                assert paper.text[cell.source.start : cell.source.end] == cell.source.text
    assert wrong == []
    assert right == stated == 48


def test_the_samples_give_what_is_literally_in_them(jail: Jail) -> None:
    fields = (
        "author, last changed (date), edition (integer), weight_kg (number), accuracy in mm"
        " (number), interfaces (list), annual leave days (integer), training budget (number),"
        " founded (date), price in EUR (number)"
    )
    schema = from_text(fields)
    got = {}
    for path in sorted(SAMPLES.iterdir()):
        cells, told = read_literally(
            schema, Paper(path.name, path.name, jail.read(path, path.name))
        )
        got[path.name] = {
            name: cell.value for name, cell in cells.items() if cell.value is not None
        }
        if path.name == "price-list.xlsx":
            assert [(remark.field, remark.text) for remark in told] == [
                (
                    "price in EUR",
                    (
                        "price in EUR: 15 different values stand in the document (1890, 2140, 2460,"
                        " 780), so none is taken"
                    ),
                )
            ]
    assert {name: values for name, values in got.items() if values} == {
        "calibration.ipynb": {"author": "Haruto Nakagawa, test laboratory in Wexcombe"},
        "employee-handbook.pdf": {
            "edition": 2025,
            "annual leave days": 27,
            "training budget": 1200,
            "founded": "2011-03-14",
        },
        "support-faq.txt": {"last changed": "2025-05-26"},
        "tidemark-2-manual.docx": {
            "edition": 7,
            "weight_kg": 1.8,
            "accuracy in mm": 2,
            "interfaces": ["USB-C", "RS-485 with Modbus RTU", "LTE-M", "NB-IoT"],
        },
    }


@pytest.mark.parametrize(
    ("fields", "text", "values"),
    [
        ("total (number)", "Total:\n  1,234.50 EUR", {"total": 1234.5}),
        ("total (number)", "Total   1.234,50 €\nDelivery   12,00 €", {"total": 1234.5}),
        ("total amount (number)", "Sum: 5\nTotal: 1 234,50", {"total amount": 1234.5}),
        ("memory (integer)", "Memory | 2 million readings\nMass | 3 kg", {"memory": 2_000_000}),
        ("total (number)", "Total: 2.01 million EUR", {"total": 2_010_000}),
        ("staff (integer)", "Staff: 2.01 thousand", {"staff": 2010}),
        ("total (number)", "Total: 5\nTotal: 5.0", {"total": 5}),
        ("temperature (number)", "Temperature: -20 degrees", {"temperature": -20}),
        ("wall_thickness_mm (number)", "Wall thickness (mm): 4", {"wall_thickness_mm": 4}),
        ("date (date)", "Date: May 4th, 2025", {"date": "2025-05-04"}),
        ("date (date)", "Date: 04.05.2025", {"date": "2025-05-04"}),
        ("date (date)", "Date: 4. Mai 2025", {"date": "2025-05-04"}),
        ("date (date)", "Date: 4. Auguſt 1825", {"date": "1825-08-04"}),
        ("date (date)", "Sent 31/12/2024. Date: 04/05/2025", {"date": "2025-05-04"}),
        ("invoiceNumber", "Invoice no. INV-7", {"invoiceNumber": "INV-7"}),
        ("number of copies (integer)", "Copies, number: 12", {}),
        ("power (mains|solar)", "Power: Solar panel", {"power": "solar"}),
        ("approved (boolean)", "- **Approved:** Yes", {"approved": True}),
        ("warranty (boolean)", "Warranty: none", {"warranty": False}),
        (
            "skills (list)",
            "Skills:\n- SQL\n- Rowing\n\nOther things",
            {"skills": ["SQL", "Rowing"]},
        ),
        (
            "site (list)",
            "site | height | power\nBay | 3 | solar\nLock | 4 | mains",
            {"site": ["Bay", "Lock"]},
        ),
        ("author", "The author is Jane Doe. She lives in Rome.", {"author": "Jane Doe"}),
        ("customer name", "Customer\nName: Jane Doe", {"customer name": "Jane Doe"}),
        ("seller: the vendor, company that sells", "Vendor: ACME", {"seller": "ACME"}),
        (
            "seller, open, by",
            "Seller: ACME, Inc.\nOpen | 5 p.m.\nBy: Ann Lee.",
            {"seller": "ACME, Inc.", "open": "5 p.m.", "by": "Ann Lee"},
        ),
    ],
)
def test_forms_in_which_values_are_written(fields: str, text: str, values: dict[str, Any]) -> None:
    assert found(fields, text) == values


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ("date (date)", "Date: 04/05/2025"),  # April or May
        ("date (date)", "Date: 31 February 2025"),
        ("date (date)", "Date: March 2025"),
        ("date (date)", "Due date: 2025-03-04"),
        ("total (number)", "Subtotal: 12.00"),
        ("total (number)", "Total: 12\nTotal: 13"),
        ("total (number)", "Total: on request"),
        ("weight_kg (number)", "Weight: 1800 g"),
        ("range (number)", "Range: 0.3 to 15 m"),
        ("version (number)", "Version: 4.2.0"),
        ("serial (integer)", "Serial: TM2-01640"),
        ("copies (integer)", "Copies: 2.5"),
        ("copies (integer)", f"Copies: {'9' * 300} billion"),
        ("power (mains|solar)", "Power: mains or solar"),
        ("approved (boolean)", "Approved: notes follow"),
        ("name", "Company name: ACME"),
        ("phone", "Phone hours: 9 to 5"),
        ("company", "Company Car Policy"),
        ("rent (number)", "The rent rises from 900 to 950 euros."),
        (
            "author",
            (
                "The author is not the one who was named first in the long list of people that we"
                " had printed."
            ),
        ),
        ("due date: invoice date, not the date of delivery", "Delivery: 2025-01-01"),
    ],
)
def test_nothing_is_guessed(fields: str, text: str) -> None:
    assert found(fields, text) == {}


def test_the_row_says_why_a_field_stays_empty() -> None:
    paper = Paper("1", "a", Typed("a", "Total: 12\nTotal: 13").read())
    (remark,) = read_literally(from_text("total (number)"), paper)[1]
    assert (remark.field, remark.text) == (
        "total",
        "total: 2 different values stand in the document (12, 13), so none is taken",
    )


def test_the_fields_very_words_win_over_words_of_its_description() -> None:
    text = "Amount due: 7\nTotal: 9"
    assert found("total (number): amount due", text) == {"total": 9}
    assert found("to pay (number): amount due", text) == {"to pay": 7}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5.2 Million EUR", 5_200_000),
        ("$5.2 MILLION", 5_200_000),
        ("EUR 5.2 mio.", 5_200_000),
        ("5,2 Millionen Euro", 5_200_000),
        ("5 Mrd. Euro", 5_000_000_000),
        ("250 Tsd. Euro", 250_000),
        ("500 TEUR", 500_000),
        ("5.2 bn", 5_200_000_000),
        ("5.2 trillion", 5_200_000_000_000),
        ("3 Billionen", 3_000_000_000_000),
        ("2 crore", 20_000_000),
        ("$5.2M", 5_200_000),
        ("£5.2m", 5_200_000),
        ("10k EUR", 10_000),
        ("1e5", 100_000),
        ("1.5e-3", 0.0015),
        ("6.02×10^23", 602 * 10**21),
        ("6.02 x 10²³", 602 * 10**21),
        ("0.5 mm", 0.5),
        ("12 m", 12),
        ("300 K", 300),
    ],
)
def test_numbers_are_as_large_as_what_stands_behind_them_says(written: str, value: float) -> None:
    assert found("revenue (number)", f"Revenue: {written}") == {"revenue": value}
    assert found("revenue (number)", f"Revenue | {written}\nCity | Rome") == {"revenue": value}


@pytest.mark.parametrize(
    "written",
    [
        "10k",
        "10k (2023: 9)",
        "5.2M",
        "5.2 M",
        "$5T",
        "10^6",
        "1e5000",
        "1 Billion (2023: 0,9 Billionen)",
        "5 Million EUR to 6 Million EUR",
    ],
)
def test_a_number_that_may_be_another_one_is_not_taken(written: str) -> None:
    assert found("revenue (number)", f"Revenue: {written}") == {}


def test_the_source_of_a_large_number_holds_what_makes_it_large() -> None:
    paper = Paper("1", "a", Typed("a", "Revenue: EUR 5.2 Mio.").read())
    cell = read_literally(from_text("revenue (number)"), paper)[0]["revenue"]
    assert cell.source is not None
    assert cell.source.text == "Revenue: EUR 5.2 Mio."


@given(st.text(max_size=400))
def test_any_text_is_read_and_every_value_stands_in_it(text: str) -> None:
    paper = Paper("1", "a", Typed("a", text).read())
    schema = from_text("a, date (date), n (number), i (integer), b (boolean), c (x|y), l (list)")
    for cell in read_literally(schema, paper)[0].values():
        assert cell.source is None or cell.source.text == text[cell.source.start : cell.source.end]


@given(
    st.lists(
        st.sampled_from(
            ["Total: 12", "A | B", "| x |", "Date: 2025-01-02", "- b", "", "n 5 kg", "l:", "  3\t4"]
        ),
        max_size=12,
    )
)
def test_lines_in_any_order_are_read(lines: list[str]) -> None:
    values = found("total (number), date (date), n (number), l (list)", "\n".join(lines))
    assert values.get("total") == (12 if "Total: 12" in lines else None)


@pytest.mark.parametrize(
    "unit",
    [
        "1",
        "11.",
        "|",
        " ",
        "a: ",
        "a\t",
        "a,",
        "Skills:\n",
        "may 1 ",
        "A | B | C\n",
        "total 1 is, ",
    ],
)
def test_long_texts_of_any_shape_are_read_in_time_that_grows_with_their_length(unit: str) -> None:
    with processor_time(10):
        found(
            "skills (list), total (number), date (date), status (open|paid), a, b",
            unit * (300_000 // len(unit)),
        )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ("price (number)", "We refund the price less a restocking fee of 10 percent."),
        ("warranty (number)", "A repair under warranty takes 12 working days on average."),
        ("deposit (number)", "Without a deposit we hold the room for 2 days."),
    ],
)
def test_a_value_of_something_else_is_not_taken(fields: str, text: str) -> None:
    assert found(fields, text) == {}


def test_a_value_before_or_behind_its_name_is_taken() -> None:
    assert found(
        "annual leave (integer)", "Everybody has 27 days of paid annual leave per year."
    ) == {"annual leave": 27}
    assert found("price (number)", "The price is 12.50 euros.") == {"price": 12.5}

"""Invoices, CVs and letters as people write them, with what is literally in them: for the tests of
extraction.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docx import Document

from agentkit.documents import DocumentText, Section
from agentkit.errors import DamagedDocument
from tests.documents.makers import pdf

INVOICE = (
    "invoice number, invoice date (date), due date (date), customer, total (number): amount due,"
    " currency (EUR|USD|GBP), paid (boolean), payment terms in days (integer)"
)
CV = (
    "name, email, phone, date of birth (date), nationality, skills (list), years of experience"
    " (integer)"
)
LETTER = (
    "date (date), subject, reference number, contract number, notice period in weeks (integer),"
    " monthly rent (number)"
)


@dataclass
class Typed:
    """A document that needs no file."""

    name: str
    text: str
    page: int | None = None
    sections: Sequence[Section] = ()
    id: str = ""
    reads: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        self.id = self.id or f"id-{self.name}"

    def read(self) -> DocumentText:
        self.reads += 1
        sections = tuple(self.sections) or (
            Section(self.text, 0, len(self.text), "", self.page, ""),
        )
        return DocumentText(self.text, sections, "text/plain", "", None)


@dataclass
class Broken:
    """A document that cannot be read."""

    name: str = "broken.pdf"
    id: str = "broken"

    def read(self) -> DocumentText:
        raise DamagedDocument(f"{self.name} is damaged; open it in its program and save it again.")


def word(paragraphs: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> bytes:
    """A Word document with a heading, paragraphs and a table."""
    made = Document()
    made.add_heading(paragraphs[0], 1)
    for text in paragraphs[1:]:
        made.add_paragraph(text)
    if rows:
        table = made.add_table(rows=len(rows), cols=len(rows[0]))
        for row, texts in zip(table.rows, rows, strict=True):
            for cell, text in zip(row.cells, texts, strict=True):
                cell.text = text
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


FILES: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "invoice-a.txt": (
        INVOICE,
        b"""ACME Pumps Ltd
INVOICE

Invoice No: INV-2025-014
Invoice date: 14 March 2025
Due date: 13 April 2025
Customer: Port of Sandvik Bay

Pump P-7      2 x 595.00     1,190.00
Delivery                        59.50
Subtotal: 1,249.50
Total: 1,486.90 EUR
Currency: EUR
Paid: no
Payment terms: 30 days
""",
        {
            "invoice number": "INV-2025-014",
            "invoice date": "2025-03-14",
            "due date": "2025-04-13",
            "customer": "Port of Sandvik Bay",
            "total": 1486.90,
            "currency": "EUR",
            "paid": False,
            "payment terms in days": 30,
        },
    ),
    "invoice-b.md": (
        INVOICE,
        b"""# Invoice

| Field | Value |
|---|---|
| **Invoice number** | 4711 |
| **Invoice date** | 2025-02-03 |
| **Customer** | Larkmoor Instruments |

| Item | Quantity | Price |
|---|---|---|
| Cable | 3 | 12.50 |
| Arm | 1 | 145.00 |

**Amount due:** $182.50

Please pay within a month.
""",
        {
            "invoice number": "4711",
            "invoice date": "2025-02-03",
            "customer": "Larkmoor Instruments",
            "total": 182.5,
        },
    ),
    "rechnung-c.docx": (
        INVOICE,
        word(
            ["Invoice", "Date: 05.06.2025", "Number: R-88/25"],
            [
                ["Customer", "Rita Moreira"],
                ["Total", "1.234,50 EUR"],
                ["Paid", "yes"],
                ["Due date", "20.06.2025"],
            ],
        ),
        {
            "invoice date": "2025-06-05",
            "invoice number": "R-88/25",
            "customer": "Rita Moreira",
            "total": 1234.5,
            "paid": True,
            "due date": "2025-06-20",
        },
    ),
    "invoice-d.pdf": (
        INVOICE,
        pdf(
            [
                (
                    "Invoice number INV-77\nInvoice date March 3, 2025\nTotal GBP 2,100.00\n\nThank"
                    " you for your order."
                ),
                "Terms\nThe payment terms are 14 days. Goods remain ours until they are paid.",
            ]
        ),
        {
            "invoice number": "INV-77",
            "invoice date": "2025-03-03",
            "total": 2100,
            "payment terms in days": 14,
        },
    ),
    "cv-jane.txt": (
        CV,
        b"""Name: Jane Doe
E-mail: jane.doe@example.org
Phone: +47 55 12 34 56
Date of birth: 1988-07-21
Nationality: Norwegian

Skills: Python, radio engineering, technical writing

Experience
2015 to 2020  Engineer at a gauge maker
2020 to 2025  Lead engineer
""",
        {
            "name": "Jane Doe",
            "email": "jane.doe@example.org",
            "phone": "+47 55 12 34 56",
            "date of birth": "1988-07-21",
            "nationality": "Norwegian",
            "skills": ["Python", "radio engineering", "technical writing"],
        },
    ),
    "cv-omar.md": (
        CV,
        b"""# Omar Haddad

- **Email:** omar@example.net
- **Tel.:** 030 1234567

## Skills:

- SQL
- Data modelling

I have 12 years of experience in databases.
""",
        {
            "email": "omar@example.net",
            "phone": "030 1234567",
            "skills": ["SQL", "Data modelling"],
            "years of experience": 12,
        },
    ),
    "cv-ines.docx": (
        CV,
        word(
            ["Curriculum vitae", "Ines Halloran is a hydrologist who leads a company."],
            [
                ["Name", "Ines Halloran"],
                ["Nationality", "Irish"],
                ["Date of birth", "2 May 1971"],
                ["Phone", "+353 1 555 0101"],
            ],
        ),
        {
            "name": "Ines Halloran",
            "nationality": "Irish",
            "date of birth": "1971-05-02",
            "phone": "+353 1 555 0101",
        },
    ),
    "cv-li.pdf": (
        CV,
        pdf(["Name: Li Wei\nEmail: li.wei@example.com\nSkills: C++, hydrology and sailing"]),
        {
            "name": "Li Wei",
            "email": "li.wei@example.com",
            "skills": ["C++", "hydrology", "sailing"],
        },
    ),
    "letter-rent.txt": (
        LETTER,
        b"""Date: 1 September 2025
Subject: Your new rent
Contract number: M-2019-331

Dear Ms Aune,

the monthly rent is 940 euros from 1 December 2025. The notice period stays at 12 weeks.

Kind regards
Solveig Berg
""",
        {
            "date": "2025-09-01",
            "subject": "Your new rent",
            "contract number": "M-2019-331",
            "monthly rent": 940,
            "notice period in weeks": 12,
        },
    ),
    "letter-end.md": (
        LETTER,
        b"""**Date:** 30/04/2025
**Reference no.:** AB 12-7

I end my contract. The notice period is between 4 and 6 weeks, as you prefer.
""",
        {"date": "2025-04-30", "reference number": "AB 12-7"},
    ),
    "letter-club.docx": (
        LETTER,
        word(
            [
                "Membership",
                "Subject: End of membership",
                "The reference number is CL-5521.",
                "Wexcombe, 9 October 2025",
            ]
        ),
        {"subject": "End of membership", "reference number": "CL-5521"},
    ),
    "letter-plain.pdf": (
        LETTER,
        pdf(
            [
                "Dear Tobias,\n\nit was good to see you in Bergen. The boat needs new paint, and so"
                " do I.\n\nYours, Rita"
            ]
        ),
        {},
    ),
}
"""Name, the schema that is asked, the bytes, and the values that are literally in it; all other
fields are not.
"""


def write(folder: Path) -> list[Path]:
    """The files in a folder."""
    for name, (_, content, _) in FILES.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in FILES]

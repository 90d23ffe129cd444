"""Documents with invented facts, so that an answer can only come from them."""

from __future__ import annotations

import io

from docx import Document

from tests.documents.makers import pdf

WARRANTY = "The warranty on the Copperline kettle lasts 41 months from the day of purchase."
WARRANTY_QUESTION = "How long does the warranty on the kettle last?"
FERRY = "The last ferry to Skarholm leaves at 21:40 from the northern pier."
FERRY_QUESTION = "When does the last ferry to Skarholm leave?"


def kettle_pdf() -> bytes:
    """Four pages; the warranty is on the third."""
    return pdf(
        [
            (
                "The Copperline kettle holds two litres. Fill in cold water only, and keep the cord"
                " dry."
            ),
            "Descale with citric acid every six weeks. Rinse twice before the next use.",
            f"Keep the receipt. {WARRANTY} Dents are not covered.",
            "Spare lids and feet are sent from the workshop in Tannenberg within nine days.",
        ]
    )


def ferry_docx() -> bytes:
    """A letter with headings; when the last ferry leaves stands under "Crossing"."""
    letter = Document()
    letter.add_heading("Visit to the island", 1)
    letter.add_paragraph(
        "The guest house at Skarholm keeps a room with a view of the harbour until midnight."
    )
    letter.add_heading("Crossing", 2)
    letter.add_paragraph(f"Tickets are sold on board. {FERRY}")
    whole = io.BytesIO()
    letter.save(whole)
    return whole.getvalue()

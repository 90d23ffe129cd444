"""What axe finds on a page."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

OPTIONS = {"resultTypes": ["violations"]}
_BRUSH = "Vega's own frame of what is dragged over: it has no size until then, and takes no name."
ALLOWED: dict[tuple[str, str], str] = {
    ("svg-img-alt", ".span_brush_bg"): _BRUSH,
    ("svg-img-alt", ".span_brush"): _BRUSH,
}
"""What Streamlit and Vega themselves do, by rule and selector, and why nothing here can mend it."""


def violations(page: Page, where: str) -> list[str]:
    """What is serious or critical on the page as it is now, but for what those do wrong."""
    results = Axe().run(page, options=OPTIONS).response["violations"]
    return [
        f"{where}: {one['id']} ({one['impact']}) {node['target']} {node['html'][:300]}"
        f" {node.get('failureSummary', '')}"
        for one in results
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
        if (one["id"], str(node["target"][-1])) not in ALLOWED
    ]

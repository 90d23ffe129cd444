"""One file per family of formats; the registry of what is read and how.

A reader takes (bytes, file name, limits) and gives a Reading; it imports its library when called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from agentkit.documents.assembly import Reading
    from agentkit.documents.document import Limits

Reader: TypeAlias = "Callable[[bytes, str, Limits], Reading]"


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of file is read."""

    read_by: str
    """The reader, as `module.function` of this folder."""
    media_type: str
    binary: bool = False
    """Whether the bytes themselves tell the format, so that the name alone is not believed."""

    @property
    def reader(self) -> Reader:
        """The reader; its module is loaded when it is first wanted."""
        module, name = self.read_by.split(".")
        found: Reader = getattr(import_module(f"{__name__}.{module}"), name)
        return found


_OFFICE = "application/vnd.openxmlformats-officedocument"
_FORMATS: dict[str, Format] = {
    ".pdf": Format("pdf.read_pdf", "application/pdf", binary=True),
    ".docx .docm .dotx": Format(
        "word.read_docx", f"{_OFFICE}.wordprocessingml.document", binary=True
    ),
    ".pptx .pptm .ppsx": Format(
        "slides.read_pptx", f"{_OFFICE}.presentationml.presentation", binary=True
    ),
    ".xlsx .xlsm": Format("tables.read_xlsx", f"{_OFFICE}.spreadsheetml.sheet", binary=True),
    ".odt": Format("opendocument.read_odt", "application/vnd.oasis.opendocument.text", binary=True),
    ".epub": Format("web.read_epub", "application/epub+zip", binary=True),
    ".rtf": Format("word.read_rtf", "application/rtf", binary=True),
    ".csv": Format("tables.read_csv", "text/csv"),
    ".tsv": Format("tables.read_csv", "text/tab-separated-values"),
    ".html .htm .xhtml": Format("web.read_html", "text/html"),
    ".md .markdown .mdx": Format("plain.read_markdown", "text/markdown"),
    ".rst": Format("plain.read_rst", "text/rst"),
    ".org": Format("plain.read_org", "text/org"),
    ".adoc": Format("plain.read_asciidoc", "text/asciidoc"),
    ".tex": Format("plain.read_tex", "application/x-tex"),
    ".json .geojson": Format("data.read_json", "application/json"),
    ".jsonl .ndjson": Format("data.read_jsonl", "application/jsonl"),
    ".ipynb": Format("data.read_notebook", "application/x-ipynb+json"),
    ".xml": Format("data.read_xml", "application/xml"),
    ".txt .text": Format("plain.read_plain", "text/plain"),
    ".log": Format("plain.read_plain", "text/x-log"),
    ".yaml .yml": Format("plain.read_plain", "text/x-yaml"),
}
_SOURCE = (
    ".py .pyi .js .mjs .jsx .ts .tsx .vue .java .kt .kts .scala .groovy .c .h .cc .cpp .cxx .hpp"
    " .cs .go .rs .rb .php .swift .m .sh .bash .zsh .ps1 .bat .sql .r .jl .lua .pl .pm .hs .ml .ex"
    " .exs .erl .clj .lisp .el .f90 .pas .vb .dart .zig .nim .proto .graphql .tf .nix .toml .ini"
    " .cfg .conf .env .properties .css .scss .less .cmake .mk .gradle .dockerfile .diff .patch .bib"
    " .srt .vtt"
)

FORMATS: dict[str, Format] = {
    ending: Format("plain.read_plain", f"text/x-{ending[1:]}") for ending in _SOURCE.split()
}
"""Extension with its dot -> how it is read."""
FORMATS.update(
    {ending: format_ for endings, format_ in _FORMATS.items() for ending in endings.split()}
)

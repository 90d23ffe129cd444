"""One file per family of formats; the registry of what is read and how.

A reader takes (bytes, file name, limits) and gives a Reading; it imports its library when called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentkit.documents.assembly import Reading
from agentkit.documents.document import Limits
from agentkit.documents.readers.data import read_json, read_jsonl, read_notebook, read_xml
from agentkit.documents.readers.opendocument import read_odt
from agentkit.documents.readers.pdf import read_pdf
from agentkit.documents.readers.plain import (
    read_asciidoc,
    read_markdown,
    read_org,
    read_plain,
    read_rst,
    read_tex,
)
from agentkit.documents.readers.slides import read_pptx
from agentkit.documents.readers.tables import read_csv, read_xlsx
from agentkit.documents.readers.web import read_epub, read_html
from agentkit.documents.readers.word import read_docx, read_rtf

Reader = Callable[[bytes, str, Limits], Reading]


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of file is read."""

    reader: Reader
    media_type: str
    binary: bool = False
    """Whether the bytes themselves tell the format, so that the name alone is not believed."""


_OFFICE = "application/vnd.openxmlformats-officedocument"
_FORMATS: dict[str, Format] = {
    ".pdf": Format(read_pdf, "application/pdf", binary=True),
    ".docx .docm .dotx": Format(read_docx, f"{_OFFICE}.wordprocessingml.document", binary=True),
    ".pptx .pptm .ppsx": Format(read_pptx, f"{_OFFICE}.presentationml.presentation", binary=True),
    ".xlsx .xlsm": Format(read_xlsx, f"{_OFFICE}.spreadsheetml.sheet", binary=True),
    ".odt": Format(read_odt, "application/vnd.oasis.opendocument.text", binary=True),
    ".epub": Format(read_epub, "application/epub+zip", binary=True),
    ".rtf": Format(read_rtf, "application/rtf", binary=True),
    ".csv": Format(read_csv, "text/csv"),
    ".tsv": Format(read_csv, "text/tab-separated-values"),
    ".html .htm .xhtml": Format(read_html, "text/html"),
    ".md .markdown .mdx": Format(read_markdown, "text/markdown"),
    ".rst": Format(read_rst, "text/rst"),
    ".org": Format(read_org, "text/org"),
    ".adoc": Format(read_asciidoc, "text/asciidoc"),
    ".tex": Format(read_tex, "application/x-tex"),
    ".json .geojson": Format(read_json, "application/json"),
    ".jsonl .ndjson": Format(read_jsonl, "application/jsonl"),
    ".ipynb": Format(read_notebook, "application/x-ipynb+json"),
    ".xml": Format(read_xml, "application/xml"),
    ".txt .text": Format(read_plain, "text/plain"),
    ".log": Format(read_plain, "text/x-log"),
    ".yaml .yml": Format(read_plain, "text/x-yaml"),
}
_SOURCE = (
    ".py .pyi .js .mjs .jsx .ts .tsx .vue .java .kt .kts .scala .groovy .c .h .cc .cpp .cxx .hpp"
    " .cs .go .rs .rb .php .swift .m .sh .bash .zsh .ps1 .bat .sql .r .jl .lua .pl .pm .hs .ml .ex"
    " .exs .erl .clj .lisp .el .f90 .pas .vb .dart .zig .nim .proto .graphql .tf .nix .toml .ini"
    " .cfg .conf .env .properties .css .scss .less .cmake .mk .gradle .dockerfile .diff .patch .bib"
    " .srt .vtt"
)

FORMATS: dict[str, Format] = {
    ending: Format(read_plain, f"text/x-{ending[1:]}") for ending in _SOURCE.split()
}
"""Extension with its dot -> how it is read."""
FORMATS.update(
    {ending: format_ for endings, format_ in _FORMATS.items() for ending in endings.split()}
)

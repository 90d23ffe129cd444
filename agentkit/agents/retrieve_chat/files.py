"""Which files there are to read, and what stands in them, with the names of AutoGen's
`retrieve_utils`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from agentkit.documents import Limits, read_document
from agentkit.documents.readers.web import read_html
from agentkit.errors import DamagedDocument, WrongArgument, WrongType
from agentkit.messages import text_or_empty
from agentkit.retrieval.web.fetching import fetch
from agentkit.settings import load_settings

UNSTRUCTURED_FORMATS = ["docx", "epub", "odt", "org", "pdf", "pptx", "rst", "rtf", "xlsx"]
"""Formats that are more than text; AutoGen needs the package `unstructured` for them, here they are
read as they are.
"""
TEXT_FORMATS = [
    "txt",
    "json",
    "csv",
    "tsv",
    "md",
    "html",
    "htm",
    "rtf",
    "rst",
    "jsonl",
    "log",
    "xml",
    "yaml",
    "yml",
    "pdf",
    "mdx",
    "docx",
    "epub",
    "odt",
    "org",
    "pptx",
    "xlsx",
]
"""The extensions that are read from folders unless others are asked for."""

File = str | tuple[str, str]
"""A path, or a path and the address that it was fetched from."""


def get_files_from_dir(
    dir_path: str | Path | Iterable[str | Path],
    types: Sequence[str] = TEXT_FORMATS,
    recursive: bool = True,
) -> list[File]:
    """The files at a path, at an address, in a folder, or in a list of these: each once, folders in
    order of name.

    `types` are the extensions that are taken from folders; hidden files and folders are not. Files
    and addresses that are named are taken as they are. Raises WrongArgument (a ValueError) for a
    path that does not exist, FetchFailed for an address.
    """
    given = dir_path
    if isinstance(dir_path, str | Path):
        given = [dir_path]
    if not isinstance(given, Iterable):
        raise WrongType(
            f"docs_path must be a path, an address or a list of these, not {given!r:.200}."
        )
    suffixes = tuple(map(_to_suffix, types))
    find = partial(_find_files, suffixes=suffixes, recursive=recursive)
    found: dict[str, File] = {}
    for file in chain.from_iterable(map(find, map(str, given))):
        found.setdefault(_identify(file), file)
    return list(found.values())


def _to_suffix(kind: str) -> str:
    return "." + kind.lower().lstrip(".")


def _identify(file: File) -> str:
    """The same for every way to name the same file."""
    if isinstance(file, str):
        return os.path.realpath(file)
    _, address = file
    return address


def _find_files(path: str, suffixes: tuple[str, ...], recursive: bool) -> Iterator[File]:
    if is_url(path):
        yield get_file_from_url(path)
    elif os.path.isfile(path):
        yield path
    elif os.path.isdir(path):
        yield from _walk(path, suffixes, recursive)
    else:
        raise WrongArgument(
            f"The path {path!r} in docs_path does not exist; give a file, a folder or an address."
        )


def _walk(path: str, suffixes: tuple[str, ...], recursive: bool) -> Iterator[str]:
    for folder, folders, files in os.walk(path):
        folders[:] = _list_visible(folders)
        for name in _list_visible(files):
            if f".{name}".lower().endswith(suffixes):
                yield os.path.join(folder, name)
        if not recursive:
            return


def _list_visible(names: list[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith("."))


def is_url(string: object) -> bool:
    """Whether it is an address on the web: a text with a scheme and a host."""
    try:
        parts = urlsplit(text_or_empty(string))
    except ValueError:
        return False
    return all((parts.scheme, parts.netloc))


def get_file_from_url(url: str, save_path: str | None = None) -> tuple[str, str]:
    """Fetch what is at the address into the data folder, or to `save_path`; gives the path and the
    address.

    A page becomes Markdown at `save_path`. Public addresses only, unless the settings allow others.
    Raises FetchFailed.
    """
    source = fetch(url, load_settings())
    if save_path is None:
        return str(source.path), url
    target = Path(save_path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.path.suffix == ".html":
        target.write_text(_to_markdown(source.path.read_bytes()), encoding="utf-8")
    else:
        shutil.copyfile(source.path, target)
    return save_path, url


def parse_html_to_markdown(html: str, url: str | None = None) -> str:
    """A page as Markdown: its title, headings, paragraphs, lists and table rows; no links, scripts
    or navigation.

    Raises DamagedDocument for one that is nested too deeply.
    """
    return _to_markdown(html.encode("utf-8", "replace"))


def _to_markdown(data: bytes) -> str:
    try:
        reading = read_html(data, "page.html", Limits())
    except RecursionError as error:
        raise DamagedDocument(
            "The page is nested too deeply to be read; fetch it in a flatter form or as text."
        ) from error
    blocks = [_mark_heading(part.heading) + part.text for part in reading.parts]
    if reading.title:
        blocks.insert(0, f"# {reading.title}")
    return "\n\n".join(blocks)


def _mark_heading(heading: str) -> str:
    """What stands before a heading; the deeper it is, the longer."""
    if not heading:
        return ""
    level = 1 + heading.count(" > ")
    return "#" * min(6, level) + " "


def extract_text_from_pdf(file: str) -> str:
    """The text of a PDF file; raises a DocumentError that says why it has none."""
    return read_document(
        Path(file), os.path.basename(file), Limits.from_settings(load_settings())
    ).text

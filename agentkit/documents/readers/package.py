"""Zip packages (OOXML, ODF, EPUB): opened only within limits, their XML parsed without entities,
relations resolved.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from urllib.parse import unquote

from agentkit.documents.refusals import AGAIN, AS_TEXT, refuse_locked
from agentkit.errors import DamagedDocument, DocumentTooLarge

_MAX_TOTAL = 200 * 2**20
_MAX_RATIO = 100
_SMALL = 10 * 2**20
"""Below this size a high ratio is harmless."""
_MAX_ENTRIES = 10_000
_BROKEN = (
    KeyError,
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What zipfile raises for a member that is missing or broken."""
_PICTURE = re.compile(r"/media/|^Pictures/")
_ENTITY = tuple("<!ENTITY".encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))


class Package:
    """An opened zip package; every member is read at most up to its declared size."""

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise DamagedDocument(f"{name} is a damaged package ({error}). {AGAIN}") from error
        infos = self._zip.infolist()
        self._check_size(infos, len(data))
        if any(map(_is_encrypted, infos)):
            raise refuse_locked(name)
        self.members = frozenset(map(attrgetter("filename"), infos))

    def bytes(self, member: str) -> bytes:
        """The content of a member; DamagedDocument when it is missing or broken."""
        try:
            return self._zip.read(member)
        except _BROKEN as error:
            raise DamagedDocument(
                f"{self.name} is damaged: its part {member} cannot be read ({error}). {AGAIN}"
            ) from error

    def xml(self, member: str) -> Any:
        """The root element of an XML member (lxml)."""
        return parse_xml(self.bytes(member), f"{self.name} ({member})")

    def xml_if_there(self, member: str) -> Any:
        """The root element of an XML member; one without content when there is no such member."""
        if member in self.members:
            return self.xml(member)
        return parse_xml(b"<none/>", self.name)

    def relations(self, member: str) -> list[Relation]:
        """What a member of an OOXML package refers to, in file order; empty when it refers to
        nothing.
        """
        folder, file = posixpath.split(member)
        listing = self.xml_if_there(posixpath.join(folder, "_rels", file + ".rels"))
        return [
            Relation(
                node.get("Id", ""),
                node.get("Type", "").rpartition("/")[2],
                resolve(folder, node.get("Target", "")),
            )
            for node in listing.iterchildren("*")
            if node.get("TargetMode") != "External"
        ]

    def main(self, usual: str) -> str:
        """The member that an OOXML package begins with."""
        kinds = {relation.kind: relation.target for relation in reversed(self.relations(""))}
        return kinds.get("officeDocument", usual)

    def has_pictures(self) -> bool:
        """Whether the package holds pictures."""
        return any(map(_PICTURE.search, self.members))

    def _check_size(self, infos: list[zipfile.ZipInfo], size: int) -> None:
        total = sum(map(attrgetter("file_size"), infos))
        packed = max(1, sum(map(attrgetter("compress_size"), infos)))
        allowed = min(_MAX_TOTAL, max(_SMALL, _MAX_RATIO * min(packed, size)))
        if len(infos) > _MAX_ENTRIES or total > allowed:
            raise DocumentTooLarge(
                f"{self.name} would unpack to {total / 2**20:,.0f} MB in {len(infos):,} parts,"
                f" which is over the limit ({_MAX_TOTAL // 2**20} MB, {_MAX_RATIO} times its size,"
                f" {_MAX_ENTRIES:,} parts). Split it, or remove what it embeds."
            )


def _is_encrypted(info: zipfile.ZipInfo) -> int:
    return info.flag_bits & 1


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference of one member to another: `kind` is the last word of its type."""

    id: str
    kind: str
    target: str


def resolve(folder: str, target: str) -> str:
    """The member that `target` names when it is written in a file of `folder`."""
    if target.startswith("/"):
        return posixpath.normpath(target.lstrip("/"))
    return posixpath.normpath(posixpath.join(folder, unquote(target)))


def parse_xml(data: bytes, name: str) -> Any:
    """Parse XML without entities, network and huge nodes; DamagedDocument when it is malformed or
    declares entities.
    """
    from lxml import etree

    if any(each in data for each in _ENTITY):
        raise DamagedDocument(
            f"{name} declares XML entities, which can hide bombs and are refused. Save it without a"
            " DOCTYPE."
        )
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        check_complete(parser)
        raise DamagedDocument(f"{name} is not well-formed XML ({error}). {AS_TEXT}") from error
    if root is None:
        raise DamagedDocument(f"{name} has no XML element. {AS_TEXT}")
    return root


def check_complete(parser: Any) -> None:
    """Raise what libxml2 only notes when it gives up in the middle: MemoryError, or RecursionError
    for a tree too deep.
    """
    kinds = set(map(attrgetter("type_name"), parser.error_log))
    if "ERR_NO_MEMORY" in kinds:
        raise MemoryError
    if "ERR_RESOURCE_LIMIT" in kinds:
        raise RecursionError


def local(node: Any) -> str:
    """The tag without its namespace; "" for comments and processing instructions."""
    if isinstance(node.tag, str):
        return node.tag.rpartition("}")[2]
    return ""


def attribute(node: Any, name: str) -> str:
    """The value of the attribute with that local name, in any namespace, or ""."""
    for key, value in node.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""


def find_outermost(parent: Any, tag: str) -> Iterator[Any]:
    """The elements of that tag below the parent, without those that lie in another of them."""
    pending = list(reversed(parent))
    while pending:
        node = pending.pop()
        if local(node) == tag:
            yield node
        else:
            pending.extend(reversed(node))


def find_attribute(node: Any, path: str, name: str) -> str:
    """The attribute of the first element at that path; "" when either is missing."""
    found = node.find(path)
    if found is None:
        return ""
    return attribute(found, name)

"""What a chat keeps of its cells: pictures, large tables and charts, and files, by their content.

They lie beside the kernel's working folder, where no code comes: what was shown stays as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentkit import private
from agentkit.coding.chat_kernel import made_files
from agentkit.coding.chat_kernel.made_files import MadeFile
from agentkit.coding.chat_kernel.outputs import (
    CellError,
    Chart,
    LeftOut,
    Output,
    Picture,
    Table,
    Text,
    read_chart,
)
from agentkit.errors import NotFound

INLINE_BYTES = 16 << 10
"""Texts, tables and charts that are not larger as JSON stand in the event itself."""
CHAT_BYTES = 500 << 20
FILE_BYTES, FILES = 50 << 20, 50
"""How large a file may be of which a copy is kept, and how many of a cell are told."""
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg"}
_KINDS = {CellError: "error", LeftOut: "left_out"}
NAME = r"^[0-9a-f]{64}\.(png|jpg|json|bin)$"
"""What the names of what is kept look like."""
_FULL = f"the chat keeps no more than {CHAT_BYTES >> 20:,} MB"


class Kept:
    """The folder of what one chat keeps; made when the first thing is kept."""

    def __init__(self, folder: Path, most_bytes: int = CHAT_BYTES) -> None:
        self.folder = folder
        self._most_bytes = most_bytes

    def describe(self, output: Output) -> dict[str, Any]:
        """An output as JSON, with the name of what is kept in place of much content."""
        match output:
            case Text():
                return self._describe_text(output)
            case Picture(data, mime):
                told = {"kind": "picture", "mime": mime, "bytes": len(data)}
                return self._refer(told, data, _ENDINGS[mime])
            case Table():
                figures = {"total_rows": output.total_rows, "total_columns": output.total_columns}
                content = {"columns": list(output.columns), "rows": list(map(list, output.rows))}
                return self._inline({"kind": "table", **figures}, content)
            case Chart(spec):
                return self._inline({"kind": "chart"}, {"spec": dict(spec)})
            case CellError() | LeftOut():
                return _describe_whole(output)

    def describe_files(self, folder: Path, files: Iterable[MadeFile]) -> list[dict[str, Any]]:
        """The first files that a cell made in `folder`, as JSON; of those that are not too large a
        copy is kept.
        """
        return [self._describe_file(folder, file) for file in list(files)[:FILES]]

    def put(self, data: bytes, ending: str) -> str:
        """Keep content as it is; gives its name, empty where the chat keeps no more."""
        return self._keep(data, ending)

    def read(self, name: str) -> bytes:
        """What is kept under a name; raises NotFound."""
        return self.find(name).read_bytes()

    def find(self, name: str) -> Path:
        """Where it lies; raises NotFound when nothing is kept under that name."""
        path = self.folder / name
        if not (re.fullmatch(NAME, name) and path.is_file()):
            raise NotFound("The chat does not keep this any more.")
        return path

    def content(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """The content of a table or a chart that `describe` told; raises NotFound, also for a
        chart that would load something from elsewhere.
        """
        kept = told.get("kept")
        found: dict[str, Any] = json.loads(self.read(str(kept))) if kept else dict(told)
        if told["kind"] == "chart" and not isinstance(read_chart(found["spec"]), Chart):
            raise NotFound("The chart cannot be shown: it would load something from elsewhere.")
        return found

    def _describe_text(self, text: Text) -> dict[str, Any]:
        """The text; of a long one its beginning and its end, as all of it is kept."""
        told, half = {"kind": "text", **asdict(text)}, INLINE_BYTES // 2
        if len(text.text) <= INLINE_BYTES:
            return told
        parts = {"text": text.text[:half], "tail": text.text[-half:]}
        whole = text.text.encode("utf-8", "replace")
        return self._refer({**told, **parts, "characters": len(text.text)}, whole, "bin")

    def _inline(self, told: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
        whole = json.dumps(content, ensure_ascii=False)
        if len(whole) <= INLINE_BYTES:
            return {**told, **content}
        return self._refer({**told, "bytes": len(whole)}, whole.encode("utf-8", "replace"), "json")

    def _refer(self, told: dict[str, Any], data: bytes, ending: str) -> dict[str, Any]:
        if name := self._keep(data, ending):
            return {**told, "kept": name}
        return _describe_whole(LeftOut(str(told["kind"]), len(data), _FULL))

    def _describe_file(self, folder: Path, file: MadeFile) -> dict[str, Any]:
        told = asdict(file)
        with suppress(NotFound):  # it is larger, or no file any more
            if name := self._keep(made_files.read_file(folder, file.name, FILE_BYTES), "bin"):
                told["kept"] = name
        return told

    def _keep(self, data: bytes, ending: str) -> str:
        """The name under which it is kept from now on; empty where the chat keeps no more."""
        private.make_folder(self.folder)
        name = f"{hashlib.sha256(data).hexdigest()}.{ending}"
        path = self.folder / name
        if path.exists():
            return name
        if self._count_bytes() + len(data) > self._most_bytes:
            return ""
        unfinished = self.folder / f".{uuid.uuid4().hex}"
        try:
            with open(unfinished, "wb", opener=private.opener) as file:
                file.write(data)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
        return name

    def _count_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.folder.iterdir())


def _describe_whole(output: CellError | LeftOut) -> dict[str, Any]:
    return {"kind": _KINDS[type(output)], **asdict(output)}

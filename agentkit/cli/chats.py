"""`export` and `import`: a chat as a file, and a chat out of a file."""

from __future__ import annotations

import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.output import count, note, put, put_json
from agentkit.cli.store import open_workspace
from agentkit.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from agentkit.workspace.sharing.form import ChatFile


class Form(StrEnum):
    """What a chat can be written as."""

    MARKDOWN = "md"
    JSON = "json"
    HTML = "html"


def export(
    context: typer.Context,
    chat: Annotated[str, typer.Argument(help="The id of the chat, as in the app's address.")],
    out: Annotated[
        Path, typer.Option("--out", help="Where to write it; below a folder it gets a name.")
    ],
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            help="md: Markdown; html: one page; json: all of it, to be imported again.",
        ),
    ] = Form.MARKDOWN,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Write a chat to a file: the open branch with its sources, or as JSON all branches."""
    from agentkit.workspace.sharing import reading

    with open_workspace(context) as workspace, tempfile.TemporaryDirectory() as made:
        owner = workspace.settings.owner
        whole = workspace.sharing.export(owner, chat, Path(made) / "chat.json")
        content = whole.read_bytes()
    file = reading.parse(content, "the chat")
    path = _choose_path(file, out, form)
    if path.exists() and not force:
        raise ConfigError(f"{path} is there already; give another name, or --force to replace it.")
    _write(path, content if form is Form.JSON else _to_text(file, form).encode())
    if left := sum(file.left_out.values()):
        files = count(len(file.left_out), "file")
        note(f"Note: {files} of its cells ({left / 1e6:,.1f} MB) did not fit in and are left out.")
    if as_json:
        put_json({"file": str(path), "bytes": path.stat().st_size, "title": file.chat.title})
    else:
        messages = count(len(file.messages), "message")
        put(f"{file.chat.title}: {messages} in {path} ({path.stat().st_size / 1e6:,.1f} MB).")


def load(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What `export --format json` wrote.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make a chat of a file: all of it, or nothing when it is damaged."""
    with open_workspace(context) as workspace:
        owner = workspace.settings.owner
        made = workspace.sharing.load(owner, file)
    if as_json:
        put_json({"chat": made.id, "title": made.title})
    else:
        put(f"{made.title}: imported as chat {made.id}.")


def _choose_path(file: ChatFile, out: Path, form: Form) -> Path:
    from agentkit.ui.exports.exchanges import name_file

    if out.is_dir():
        return out / name_file(file.chat.title, form)
    return out


def _to_text(file: ChatFile, form: Form) -> str:
    from agentkit.ui.exports import as_html, as_markdown

    write = {Form.MARKDOWN: as_markdown.write_chat, Form.HTML: as_html.write_page}[form]
    return write(file)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror}); make room, or give another file."
        ) from error

"""`doctor`: whether everything that the app needs is there and works, and what to do where not."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli import folder_checks
from agentkit.cli.checks import Check, attempt, failed
from agentkit.cli.output import put, put_json
from agentkit.cli.store import Opener
from agentkit.errors import StoreError
from agentkit.settings import Settings, load_settings

if TYPE_CHECKING:
    from agentkit.retrieval.types import Problem
    from agentkit.workspace import Workspace

_PACKAGES = (
    "streamlit",
    "duckdb",
    "torch",
    "sentence-transformers",
    "hnswlib",
    "tantivy",
    "openai",
    "pypdfium2",
    "pandas",
)
_MOST_TOLD = 20


def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    rescue: Annotated[
        bool, typer.Option(help="Copy what can be read of a damaged database into a new file.")
    ] = False,
) -> None:
    """Check the installation, the data folder and the model; say what to do where one is wrong."""
    checks = []
    for check in examine(load_settings(), context.obj, rescue=rescue):
        checks.append(check)
        if not as_json:
            mark, advice = "ok " if check.ok else "BAD", check.advice and f"\n     {check.advice}"
            put(f"{mark}  {check.name}: {check.detail}{advice}")
    well = all(check.ok for check in checks)
    if as_json:
        put_json({"ok": well, "checks": [dataclasses.asdict(check) for check in checks]})
    if not well:
        raise typer.Exit(1)


def examine(settings: Settings, opener: Opener, *, rescue: bool = False) -> Iterator[Check]:
    """All checks, one after the other; those that need the database only when it opens.

    A damaged database is not opened, as that would write to it. With `rescue`, what can be read of
    it is copied into a new file.
    """
    yield _packages()
    yield folder_checks.folder(settings)
    if settings.data.is_dir():
        yield attempt("privacy", lambda: folder_checks.privacy(settings))
    try:
        damage = list(folder_checks.database(settings, rescue))
    except StoreError:  # in use, or not to be read: opening it tells
        damage = []
    yield from damage or _opened(settings, opener)
    yield attempt("backups", lambda: folder_checks.backup_files(settings))
    yield attempt("model", lambda: _model(settings))
    yield attempt("sandbox", _sandbox)


def _opened(settings: Settings, opener: Opener) -> Iterator[Check]:
    try:
        workspace = opener(settings)
    except Exception as error:  # noqa: BLE001  # what is broken may break anything
        yield failed("database", "it does not open", error)
        return
    try:
        yield Check("database", True, str(workspace.settings.database))
        yield attempt("store and indexes", lambda: _indexes(workspace))
        yield attempt("originals", lambda: _originals(workspace))
        yield attempt("embedding model", lambda: _embedder(workspace))
    finally:
        closed = attempt("closing", lambda: _closed(workspace))
    if not closed.ok:
        yield closed


def _closed(workspace: Workspace) -> Check:
    workspace.close()
    return Check("closing", True, "")


def _packages() -> Check:
    found: dict[str, str] = {"python": platform.python_version()}
    missing = []
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            missing.append(name)
    detail = ", ".join(f"{name} {number}" for name, number in found.items())
    install = f"Missing: {', '.join(missing)}; run `make app`, or install agentkit again."
    return Check("packages", not missing, detail, install if missing else "")


def _indexes(workspace: Workspace) -> Check:
    return _checked("store and indexes", workspace.library.check_indexes(), "they agree")


def _originals(workspace: Workspace) -> Check:
    return _checked("originals", workspace.library.check_originals(), "all are as they were given")


def _checked(name: str, problems: Sequence[Problem], well: str) -> Check:
    told = [problem.what for problem in problems[:_MOST_TOLD]]
    if len(problems) > len(told):
        told.append(f"and {len(problems) - len(told):,} more of this kind.")
    advice = " ".join(dict.fromkeys(problem.advice for problem in problems))
    return Check(name, not problems, " ".join(told) or well, advice)


def _embedder(workspace: Workspace) -> Check:
    embedder = workspace.embedder
    vectors = embedder.embed(["Is the model there?"])
    right = vectors.shape == (1, embedder.dimension) and abs(float((vectors**2).sum()) - 1) < 0.01
    advice = "" if right else "Reinstall it with `make clean` and `make app`."
    return Check(
        "embedding model", right, f"{embedder.name}, {embedder.dimension} dimensions", advice
    )


def _model(settings: Settings) -> Check:
    from agentkit.llm.connections.config import default_connection
    from agentkit.llm.connections.discover import probe

    connection = default_connection(settings)
    if connection is None:
        return Check(
            "model",
            True,
            "offline: answers quote the documents",
            "For written answers set OPENAI_API_KEY or OPENAI_BASE_URL.",
        )
    tried = probe(connection)
    failed = [f"{step.name}: {step.detail}" for step in tried.steps if not step.ok]
    advice = (
        ""
        if tried.ok
        else (
            "Correct the address or the key in the environment, .streamlit/secrets.toml or the"
            " settings page."
        )
    )
    return Check(
        "model", tried.ok, "; ".join(failed or [step.detail for step in tried.steps]), advice
    )


def _sandbox() -> Check:
    from agentkit.coding import bubblewrap_works, docker_works, how_to_isolate
    from agentkit.documents import confinement_works

    reading = f"documents are read {'in bubblewrap' if confinement_works() else 'without one'}"
    works = [
        name
        for name, tried in (("bubblewrap", bubblewrap_works), ("docker or podman", docker_works))
        if tried()
    ]
    if works:
        return Check("sandbox", True, f"code that agents write runs in {works[0]}; {reading}")
    return Check(
        "sandbox", True, f"none, so code that agents write is refused; {reading}", how_to_isolate()
    )

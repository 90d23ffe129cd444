"""`doctor`: whether everything that the app needs is there and works, and what to do where not."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli import folder_checks
from agentkit.cli.checks import Check, attempt, fail, judge
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
            _show(check)
    well = all(map(attrgetter("ok"), checks))
    if as_json:
        put_json({"ok": well, "checks": list(map(dataclasses.asdict, checks))})
    if not well:
        raise typer.Exit(1)


def _show(check: Check) -> None:
    put(f"{'ok ' if check.ok else 'BAD'}  {check.name}: {check.detail}")
    if check.advice:
        put(f"     {check.advice}")


def examine(settings: Settings, opener: Opener, *, rescue: bool = False) -> Iterator[Check]:
    """All checks, one after the other; those that need the database only when it opens.

    A damaged database is not opened, as that would write to it. With `rescue`, what can be read of
    it is copied into a new file.
    """
    yield _check_packages()
    yield folder_checks.check_folder(settings)
    if settings.data.is_dir():
        yield attempt("privacy", lambda: folder_checks.check_privacy(settings))
    try:
        damage = list(folder_checks.check_database(settings, rescue))
    except StoreError:  # in use, or not to be read: opening it tells
        damage = []
    yield from damage or _check_workspace(settings, opener)
    yield attempt("backups", lambda: folder_checks.check_backups(settings))
    yield attempt("model", lambda: _check_model(settings))
    yield attempt("sandbox", _check_sandbox)


def _check_workspace(settings: Settings, opener: Opener) -> Iterator[Check]:
    try:
        workspace = opener(settings)
    except Exception as error:  # noqa: BLE001  # what is broken may break anything
        yield fail("database", "it does not open", error)
        return
    try:
        yield Check("database", True, str(workspace.settings.database))
        yield attempt("store and indexes", lambda: _check_indexes(workspace))
        yield attempt("originals", lambda: _check_originals(workspace))
        yield attempt("embedding model", lambda: _check_embedder(workspace))
    finally:
        closed = attempt("closing", lambda: _close(workspace))
    if not closed.ok:
        yield closed


def _close(workspace: Workspace) -> Check:
    workspace.close()
    return Check("closing", True, "")


def _check_packages() -> Check:
    found: dict[str, str] = {"python": platform.python_version()}
    missing = []
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            missing.append(name)
    detail = ", ".join(map(" ".join, found.items()))
    install = f"Missing: {', '.join(missing)}; run `make app`, or install agentkit again."
    return judge("packages", not missing, detail, install)


def _check_indexes(workspace: Workspace) -> Check:
    return _sum_up("store and indexes", workspace.library.check_indexes(), "they agree")


def _check_originals(workspace: Workspace) -> Check:
    return _sum_up("originals", workspace.library.check_originals(), "all are as they were given")


def _sum_up(name: str, problems: Sequence[Problem], well: str) -> Check:
    told = list(map(attrgetter("what"), problems[:_MOST_TOLD]))
    if len(problems) > len(told):
        told.append(f"and {len(problems) - len(told):,} more of this kind.")
    advice = " ".join(dict.fromkeys(map(attrgetter("advice"), problems)))
    return Check(name, not problems, " ".join(told) or well, advice)


def _check_embedder(workspace: Workspace) -> Check:
    embedder = workspace.embedder
    vectors = embedder.embed(["Is the model there?"])
    right = vectors.shape == (1, embedder.dimension) and abs(float((vectors**2).sum()) - 1) < 0.01
    detail = f"{embedder.name}, {embedder.dimension} dimensions"
    advice = "Reinstall it with `make clean` and `make app`."
    return judge("embedding model", right, detail, advice)


def _check_model(settings: Settings) -> Check:
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
    detail = "; ".join(failed or map(attrgetter("detail"), tried.steps))
    advice = (
        "Correct the address or the key in the environment, .streamlit/secrets.toml or the settings"
        " page."
    )
    return judge("model", tried.ok, detail, advice)


def _check_sandbox() -> Check:
    from agentkit.coding import bubblewrap_works, docker_works, how_to_isolate
    from agentkit.documents import confinement_works

    reading = f"documents are read {'in bubblewrap' if confinement_works() else 'without one'}"
    for name, works in (("bubblewrap", bubblewrap_works), ("docker or podman", docker_works)):
        if works():
            return Check("sandbox", True, f"code that agents write runs in {name}; {reading}")
    return Check(
        "sandbox", True, f"none, so code that agents write is refused; {reading}", how_to_isolate()
    )

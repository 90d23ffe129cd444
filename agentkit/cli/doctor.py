"""`doctor`: whether everything that the app needs is there and works, and what to do where it does not."""

from __future__ import annotations

import dataclasses
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.output import put, put_json
from agentkit.cli.store import Opener
from agentkit.errors import AgentkitError
from agentkit.settings import Settings, load_settings

if TYPE_CHECKING:
    from agentkit.workspace import Workspace

_PACKAGES = ("streamlit", "duckdb", "torch", "sentence-transformers", "hnswlib", "tantivy", "openai", "pypdfium2", "pandas")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `advice` says what to do about it."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Check the installation, the data folder and the model; say what to do where something is wrong."""
    checks = []
    for check in examine(load_settings(), context.obj):
        checks.append(check)
        if not as_json:
            put(
                f"{'ok ' if check.ok else 'BAD'}  {check.name}: {check.detail}"
                + (f"\n     {check.advice}" if check.advice else "")
            )
    well = all(check.ok for check in checks)
    if as_json:
        put_json({"ok": well, "checks": [dataclasses.asdict(check) for check in checks]})
    if not well:
        raise typer.Exit(1)


def examine(settings: Settings, opener: Opener) -> Iterator[Check]:
    """All checks, one after the other; those that need the database are left out when it does not open."""
    yield _packages()
    yield _folder(settings)
    try:
        workspace = opener(settings)
    except AgentkitError as error:
        yield Check("database", False, "it does not open", str(error))
    else:
        try:
            yield Check("database", True, str(settings.data / "agentkit.duckdb"))
            yield _tried("store and indexes", lambda: _indexes(workspace))
            yield _tried("embedding model", lambda: _embedder(workspace))
            yield _tried("model", lambda: _model(workspace))
        finally:
            workspace.close()
    yield _sandbox()


def _tried(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except AgentkitError as error:
        return Check(name, False, "it does not work", str(error))


def _packages() -> Check:
    found: dict[str, str] = {"python": platform.python_version()}
    missing = []
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            missing.append(name)
    detail = ", ".join(f"{name} {number}" for name, number in found.items())
    return Check("packages", not missing, detail, f"Missing: {', '.join(missing)}; run `make app`." if missing else "")


def _folder(settings: Settings) -> Check:
    folder = settings.data.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"written")
    except OSError as error:
        advice = "Correct its permissions, or name another folder with AGENTKIT_DATA."
        return Check("data folder", False, f"{folder} cannot be written ({error.strerror})", advice)
    free = shutil.disk_usage(folder).free / 2**30
    low = "Little space is left; make room, or name another folder with AGENTKIT_DATA." if free < 1 else ""
    return Check("data folder", not low, f"{folder}, {free:,.1f} GiB free", low)


def _indexes(workspace: Workspace) -> Check:
    problems = workspace.library.check()
    detail = "; ".join(problem.what for problem in problems) or "they agree"
    return Check("store and indexes", not problems, detail, " ".join(dict.fromkeys(problem.advice for problem in problems)))


def _embedder(workspace: Workspace) -> Check:
    embedder = workspace.embedder
    vectors = embedder.embed(["Is the model there?"])
    right = vectors.shape == (1, embedder.dimension) and abs(float((vectors**2).sum()) - 1) < 0.01
    advice = "" if right else "Reinstall it with `make clean` and `make app`."
    return Check("embedding model", right, f"{embedder.name}, {embedder.dimension} dimensions", advice)


def _model(workspace: Workspace) -> Check:
    from agentkit.llm import connections
    from agentkit.llm.discover import probe

    configured = connections(workspace.settings)
    if not configured:
        return Check(
            "model", True, "offline: answers quote the documents", "For written answers set OPENAI_API_KEY or OPENAI_BASE_URL."
        )
    tried = probe(configured[0])
    failed = [f"{step.name}: {step.detail}" for step in tried.steps if not step.ok]
    advice = (
        "" if tried.ok else "Correct the address or the key in the environment, .streamlit/secrets.toml or the settings page."
    )
    return Check("model", tried.ok, "; ".join(failed or [step.detail for step in tried.steps]), advice)


def _sandbox() -> Check:
    from agentkit.coding import bubblewrap_works, docker_works, how_to_isolate

    works = [name for name, tried in (("bubblewrap", bubblewrap_works), ("docker or podman", docker_works)) if tried()]
    if works:
        return Check("sandbox", True, f"code that agents write runs in {works[0]}")
    return Check("sandbox", True, "none, so code that agents write is refused", how_to_isolate())

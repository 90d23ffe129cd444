"""Frozen settings, read once from the environment and `.streamlit/secrets.toml`.

Every field can be set by an environment variable `AGENTKIT_<FIELD>` (for example `AGENTKIT_DATA`)
or by the same key in lower case under `[agentkit]` in the secrets file; the environment wins.
"""

from __future__ import annotations

import dataclasses
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentkit.errors import ConfigError

SECRETS_FILE = Path(".streamlit/secrets.toml")


@dataclass(frozen=True)
class Settings:
    """All settings of one process; sizes in the unit that the name ends with."""

    data: Path = Path("data")
    """The data folder: database, indexes, originals."""
    owner: str = "local"
    """Whose chats, documents and calls these are."""
    max_file_mb: int = 50
    """Largest file that is taken in."""
    max_chars: int = 20_000_000
    """Most characters of text taken from one document."""
    max_pages: int = 5_000
    """Most pages, sheets or slides of one document."""
    read_timeout_s: float = 120.0
    """Longest time that reading one file may take."""
    read_memory_mb: int = 2_048
    """Address space that the reading process may use."""
    allow_private_urls: bool = False
    """Whether documents may be fetched from private and loopback addresses, and through a proxy."""
    fetch_timeout_s: float = 30.0
    """Longest time that fetching one URL may take."""
    open: bool = False
    """Whether the app serves other machines than this one; it has no login of its own."""
    openai_api_key: str = field(default="", repr=False)
    """Key of the model server; `OPENAI_API_KEY` is read as well."""
    openai_base_url: str = ""
    """Address of an OpenAI-compatible server; `OPENAI_BASE_URL` is read as well."""
    openai_model: str = ""
    """Model asked for there; `OPENAI_MODEL` is read as well."""
    embedding_folders: str = ""
    """Folders with sentence-transformers models to embed with, separated as in PATH."""
    reranker_folders: str = ""
    """Folders with cross-encoders to rerank with, separated as in PATH."""
    tools: str = ""
    """Python files whose public functions agents may call, separated as in PATH."""
    run_tokens: int | None = None
    """Most tokens that the models may take for one question; none for any number."""
    run_dollars: float | None = None
    """Most US dollars that one question may cost."""
    chat_tokens: int | None = None
    """Most tokens that the models may take in one chat."""
    chat_dollars: float | None = None
    """Most US dollars that one chat may cost."""

    @property
    def database(self) -> Path:
        """The file with the store and the ledger."""
        return self.data / "agentkit.duckdb"

    @property
    def samples(self) -> Path:
        """The folder of sample documents that ship with the project."""
        return Path(__file__).resolve().parent.parent / "data" / "samples"

    @property
    def sample_questions(self) -> Path:
        """Questions about the samples, some of them answerable, some marked as suggested: a JSON list."""
        return self.samples.with_name("sample-questions.json")


def load_settings(environ: Mapping[str, str] | None = None, secrets: Path = SECRETS_FILE) -> Settings:
    """Read the settings; raise ConfigError naming the variable whose value cannot be understood."""
    environ = os.environ if environ is None else environ
    given = _from_secrets(secrets)
    for name in _names():
        plain = name.upper() if name.startswith("openai_") else None
        for variable in (plain, f"AGENTKIT_{name.upper()}"):
            if variable and environ.get(variable):
                given[name] = environ[variable]
    defaults = Settings()
    return Settings(**{name: _convert(name, value, getattr(defaults, name)) for name, value in given.items()})


def _names() -> tuple[str, ...]:
    return tuple(one.name for one in dataclasses.fields(Settings))


def _from_secrets(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as TOML ({error}); correct or remove it.") from error
    known = _names()
    openai = {name.lower(): value for name, value in table.items() if name.lower().startswith("openai_")}
    section = table.get("agentkit", {})
    if not isinstance(section, dict):
        raise ConfigError(f"{path} has agentkit = {section!r}, but must have a table [agentkit] with one setting a line.")
    if unknown := sorted(set(section) - set(known)):
        raise ConfigError(
            f"{path} has unknown settings under [agentkit]: {', '.join(unknown)}. Known: {', '.join(sorted(known))}."
        )
    return {name: value for name, value in {**openai, **section}.items() if name in known}


def _convert(name: str, value: Any, default: Any) -> Any:
    kind = _OPTIONAL.get(name, type(default))
    try:
        if isinstance(default, bool):
            return value if isinstance(value, bool) else _TRUTH[str(value).lower()]
        if isinstance(default, Path):
            return Path(value).expanduser()
        converted = kind(value)
        if isinstance(converted, (int, float)) and not (converted > 0 and math.isfinite(converted)):
            raise ValueError("must be positive")
        return converted
    except (ValueError, KeyError, TypeError, OverflowError, RuntimeError) as error:
        raise ConfigError(f"AGENTKIT_{name.upper()} is {value!r}, but must be {_WANTED[kind]}.") from error


_OPTIONAL: dict[str, type[int] | type[float]] = {
    "run_tokens": int, "run_dollars": float, "chat_tokens": int, "chat_dollars": float,
}  # fmt: skip
_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_WANTED = {
    bool: "true or false",
    int: "a positive whole number",
    float: "a positive number",
    str: "a text",
    type(Path()): "a path",
}

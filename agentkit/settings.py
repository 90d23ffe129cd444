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
    """Whether documents may be fetched from private and loopback addresses."""
    fetch_timeout_s: float = 30.0
    """Longest time that fetching one URL may take."""
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
    try:
        if isinstance(default, bool):
            return value if isinstance(value, bool) else _TRUTH[str(value).lower()]
        if isinstance(default, Path):
            return Path(value).expanduser()
        converted = type(default)(value)
        if isinstance(converted, (int, float)) and not (converted > 0 and math.isfinite(converted)):
            raise ValueError("must be positive")
        return converted
    except (ValueError, KeyError, TypeError, OverflowError, RuntimeError) as error:
        raise ConfigError(f"AGENTKIT_{name.upper()} is {value!r}, but must be {_WANTED[type(default)]}.") from error


_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_WANTED = {
    bool: "true or false",
    int: "a positive whole number",
    float: "a positive number",
    str: "a text",
    type(Path()): "a path",
}

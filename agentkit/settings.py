"""Frozen settings: of the environment, `.streamlit/secrets.toml` and what was chosen in the app.

Every field can be set by an environment variable `AGENTKIT_<FIELD>` (for example `AGENTKIT_DATA`)
or by the same key in lower case under `[agentkit]` in the secrets file; the environment wins. What
neither of them sets can be chosen in the app, as far as it is in `CHOOSABLE`; that is kept in the
data folder.
"""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agentkit import places, private
from agentkit.errors import ConfigError

T = TypeVar("T")
SECRETS_FILE = Path(".streamlit/secrets.toml")
CHOOSABLE = (
    "max_file_mb",
    "max_chars",
    "max_pages",
    "read_timeout_s",
    "read_memory_mb",
    "fetch_timeout_s",
    "run_tokens",
    "run_dollars",
    "chat_tokens",
    "chat_dollars",
    "answer_s",
    "default_model",
    "resume",
    "followups",
    "fetch_pages",
)
"""What can be chosen in the app: the limits that are figures, the model of new chats, whether
answers that broke off go on by themselves, and what may be asked after an answer.
"""


@dataclass(frozen=True)
class Settings:
    """All settings of one process; sizes in the unit that the name ends with."""

    data: Path = field(default_factory=places.data_folder)
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
    answer_s: float | None = None
    """Longest time that a question to the person waits for the answer; none for any time."""
    default_model: str = ""
    """Id of the model of new chats, such as `Ours/small`; empty: the first that there is."""
    model_folder: Path | None = None
    """Where embedding models that were converted for this machine are kept; none: what
    AGENTKIT_MODEL_FOLDER names, else `models` in the data folder. Several data folders may share
    one.
    """
    resume: bool = False
    """Whether an answer that broke off with its process is gone on with at the next start; once."""
    followups: str = "headings"
    """What may be asked after an answer: `headings` of what was found, which costs nothing; what
    the `model` drafts, in a call of its own; `off` for nothing.
    """
    fetch_pages: bool = False
    """Whether agents may fetch pages of the web, each after the person was asked."""
    otlp_endpoint: str = ""
    """Where finished runs are sent as OpenTelemetry spans, such as `http://localhost:4318`; empty:
    nowhere.
    """
    otlp_headers: str = field(default="", repr=False)
    """What goes with them, such as a key: `name=value`, with commas between several."""
    usage_of_all: bool = False
    """Whether the usage page and `usage` show what the questions of all owners took, and can be
    narrowed to some; else only one's own.
    """

    @property
    def database(self) -> Path:
        """The file with the store and the ledger."""
        return self.data / "agentkit.duckdb"

    @property
    def models(self) -> Path:
        """The folder of embedding models that were converted for this machine."""
        named = self.model_folder or os.environ.get("AGENTKIT_MODEL_FOLDER")
        return Path(named or self.data / "models")

    @property
    def samples(self) -> Path:
        """The folder of sample documents that ship with the project."""
        return places.SHIPPED / "data" / "samples"

    @property
    def sample_questions(self) -> Path:
        """Questions about the samples, some of them answerable, some marked as suggested: a JSON
        list.
        """
        return self.samples.with_name("sample-questions.json")


def load_settings(
    environ: Mapping[str, str] | None = None, secrets: Path = SECRETS_FILE
) -> Settings:
    """Read the settings.

    Raises ConfigError naming the variable, the line of the secrets file or the choice that cannot
    be understood.
    """
    given = _read_given(environ, secrets)
    values = {name: value for name, (value, _) in given.items()}
    chosen = _read_chosen(values.get("data") or places.data_folder())
    return Settings(**{**chosen, **values})


def origins(
    environ: Mapping[str, str] | None = None, secrets: Path = SECRETS_FILE
) -> dict[str, str]:
    """What the environment or the secrets file gives: the variable, or `KEY in FILE`, by setting.

    Raises ConfigError.
    """
    return {name: where for name, (_, where) in _read_given(environ, secrets).items()}


def choose(settings: Settings, name: str, value: float | str | bool | None) -> Settings:
    """Choose a setting from now on, or with None go back to the default; gives the settings then.

    Raises ConfigError for what cannot be chosen, because of the value or since the environment or
    the secrets file gives it.
    """
    if name not in CHOOSABLE:
        raise ConfigError(
            f"{name} cannot be chosen here; set {_variable(name)} in the environment."
        )
    if where := origins().get(name):
        raise ConfigError(
            f"{name} is given by {where}, which wins; change it there, or remove it there first."
        )
    wanted = {}
    if value is not None:
        wanted[name] = _check(name, value, _variable(name))
    with _choosing:
        kept = _read_chosen(settings.data)
        kept.pop(name, None)
        private.write_text(
            _chosen_file(settings.data), json.dumps(kept | wanted, indent=1, ensure_ascii=False)
        )
    default = {name: getattr(Settings(), name)}
    return dataclasses.replace(settings, **(default | wanted))


_choosing = threading.Lock()
_FIELDS = {one.name: one for one in dataclasses.fields(Settings)}
_PREFIX = "AGENTKIT_"
_OTHERS = frozenset({"AGENTKIT_EXECUTION", "AGENTKIT_KERNEL_IMAGE", "AGENTKIT_COLLECTION"})
"""Variables of that prefix other than settings: what marks the processes of code that is run, the
image of kernels in containers, and the collection of an exported team's script.
"""


def _variable(name: str) -> str:
    return _PREFIX + name.upper()


_OPENAI = {name.upper(): name for name in _FIELDS if name.startswith("openai_")}
_OURS = {_variable(name): name for name in _FIELDS}
"""Variable -> the setting; ours win over those that other programs read as well."""


def _read_given(environ: Mapping[str, str] | None, secrets: Path) -> dict[str, tuple[Any, str]]:
    """What is set, each with where: by the environment, else by the secrets file."""
    variables = os.environ if environ is None else environ
    _refuse_unknown(variables)
    given: dict[str, tuple[Any, str]] = {}
    for name, value in _read_secrets(secrets).items():
        given[name] = (value, f"{name} in {secrets}")
    for variable, name in (_OPENAI | _OURS).items():
        if said := variables.get(variable):
            given[name] = (_check(name, said, variable), variable)
    return given


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    """Raise ConfigError for a variable that looks like a setting but would do nothing."""
    given = {name for name, value in environ.items() if value}
    known = {*_OURS, *_OTHERS}
    for name in sorted(given - known):
        if name.upper().startswith(_PREFIX):
            # Without the value, which may be a key.
            raise ConfigError(
                f"{name} is set in the environment, but there is no such setting; {_advise(name)}."
            )


def _advise(variable: str) -> str:
    """What to do about a variable that is unknown."""
    import difflib

    near = difflib.get_close_matches(variable.upper(), sorted(_OURS), 1, 0.75)
    if near:
        return f"if {near[0]} is meant, correct the name, else remove it"
    return f"remove it, or use one of: {', '.join(sorted(_OURS))}"


def _read_secrets(path: Path) -> dict[str, Any]:
    """The settings in the secrets file, in their types."""
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read as TOML ({error}); correct or remove it."
        ) from error
    section = table.get("agentkit", {})
    if not isinstance(section, dict):
        raise ConfigError(
            f"{path} has agentkit = {section!r}, but must have a table [agentkit] "
            "with one setting a line."
        )
    unknown = sorted(section.keys() - _FIELDS.keys())
    if unknown:
        raise ConfigError(
            f"{path} has unknown settings under [agentkit]: {', '.join(unknown)}. "
            f"Known: {', '.join(sorted(_FIELDS))}."
        )
    openai = {name.lower(): value for name, value in table.items() if name.upper() in _OPENAI}
    return _check_all(openai | section, path)


def _chosen_file(data: Path) -> Path:
    return data / "settings.json"


def _read_chosen(data: Path) -> dict[str, Any]:
    """What was chosen in the app for this data folder."""
    path = _chosen_file(data)
    if not os.access(data, os.X_OK):  # there is none, or one that whoever opens it tells about
        return {}
    try:
        chosen = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path}, which has what was chosen in the app, cannot be read "
            f"({type(error).__name__}); correct or remove it."
        ) from error
    if not isinstance(chosen, dict):
        raise ConfigError(f"{path} must hold a JSON object; correct or remove it.")
    unknown = sorted(chosen.keys() - CHOOSABLE)
    if unknown:
        raise ConfigError(
            f"{path} has {', '.join(unknown)}, which cannot be chosen in the app; correct or"
            " remove it."
        )
    return _check_all(chosen, path)


def _check_all(values: Mapping[str, object], path: Path) -> dict[str, Any]:
    """The settings of a file in their types."""
    return {name: _check(name, value, f"{name} in {path}") for name, value in values.items()}


def _check(name: str, value: object, where: str) -> Any:
    """The value of a setting in its type; nothing is rounded, only a text is read as another."""
    setting = _FIELDS[name]
    kind = str(setting.type).removesuffix(" | None")
    try:
        return _READ[kind](value)
    except (ValueError, TypeError, KeyError, RuntimeError, OverflowError) as error:
        shown = "of another type"
        if setting.repr:
            shown = repr(value)
        raise ConfigError(
            f"{where} is {shown}, but must be {_WANTED[kind]}; correct it, or leave it"
            f" out{_tell_default(name)}."
        ) from error


def _tell_default(name: str) -> str:
    """What counts when a setting is left out, as the end of a sentence; nothing for no text."""
    default = getattr(Settings(), name)
    if default == "":
        return ""
    text = str(default)
    return f" for {_WORDS.get(text, text)}"


_WORDS = {"None": "no limit", "True": "true", "False": "false"}


def _to_amount(kind: type[int | float], value: Any) -> float:
    """A number above 0, which may be written as a text."""
    if isinstance(value, str):
        value = kind(value)
    if type(value) not in (int, kind) or not 0 < value <= _MOST:
        raise ValueError(value)
    return kind(value)


def _to_bool(value: object) -> bool:
    if isinstance(value, str):
        return _TRUTH[value.lower()]
    return _require(bool, value)


def _to_path(value: object) -> Path:
    return Path(_require(str, value)).expanduser()


def _to_text(value: object) -> str:
    return _require(str, value)


def _require(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


_MOST = 10**15
_READ: dict[str, Callable[[Any], Any]] = {
    "int": partial(_to_amount, int),
    "float": partial(_to_amount, float),
    "bool": _to_bool,
    "Path": _to_path,
    "str": _to_text,
}
_TRUTH = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
_WANTED = {
    "bool": "true or false",
    "int": "a positive whole number",
    "float": "a positive number",
    "str": "a text",
    "Path": "a path",
}

"""The prompts of a person: texts with variables that are asked again and again, in versions.

A variable stands in a text as `{{name}}`, or with what it is by default as `{{name:default}}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentkit.database import Database
from agentkit.errors import ConfigError, NotFound, WrongArgument
from agentkit.ledger.store import Ledger, utc_now
from agentkit.messages import new_id

LONGEST_NAME, LONGEST_TEXT = 80, 20_000
_VARIABLE = re.compile(r"\{\{([^{}:\n]{1,60})(?::([^{}]{0,1000}))?\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of a prompt; times are UTC without zone."""

    id: str
    name: str
    text: str
    version: int
    """From 1; a change makes the next one."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Variable:
    """What is filled in when a prompt is used."""

    name: str
    default: str | None
    """None where something has to be filled in."""


def find_variables(text: str) -> list[Variable]:
    """The variables of a text, each once, in the order in which they come first.

    The first default that is given for a name is that of all its places.
    """
    found: dict[str, str | None] = {}
    for match in _VARIABLE.finditer(text):
        name = match[1].strip()
        if name and found.get(name) is None:
            found[name] = match[2]
    return [Variable(name, default) for name, default in found.items()]


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with values in place of its variables; where none is given, or an empty one, the
    default. Raises WrongArgument naming the variables that have neither.
    """
    given = {name: value for name, value in values.items() if value.strip()}
    filled = {one.name: given.get(one.name, one.default) for one in find_variables(text)}
    missing = [name for name, value in filled.items() if value is None]
    if missing:
        raise WrongArgument(f"Nothing is given for {', '.join(missing)}; fill in each variable.")

    def fill_in(match: re.Match[str]) -> str:
        name = match[1].strip()
        if not name:
            return match[0]
        return filled[name] or ""

    return _VARIABLE.sub(fill_in, text)


class Prompts:
    """The prompts in the database; every method takes the owner and sees nothing of others."""

    def __init__(self, ledger: Ledger) -> None:
        self._database: Database = ledger.database

    def all(self, owner: str) -> list[Prompt]:
        """Each prompt in its latest version, by name."""
        return self._read(
            """select id, name, text, version, created_at from prompts where owner = ?
            qualify version = max(version) over (partition by id) order by lower(name), id""",
            [owner],
        )

    def versions(self, owner: str, prompt_id: str) -> list[Prompt]:
        """All versions of a prompt, the latest first; raises NotFound."""
        found = self._read(
            """select id, name, text, version, created_at from prompts
            where owner = ? and id = ? order by version desc""",
            [owner, prompt_id],
        )
        if not found:
            raise NotFound("This prompt is not there any more; it may have been deleted.")
        return found

    def create(self, owner: str, name: str, text: str) -> Prompt:
        """A new prompt; raises ConfigError for a name or text that cannot be, or a name taken."""
        with self._database.transaction():
            return self._add(owner, new_id(), name, text, 1)

    def change(self, owner: str, prompt_id: str, name: str, text: str) -> Prompt:
        """Make the next version, unless nothing is changed; raises NotFound, and ConfigError as
        `create` does.
        """
        with self._database.transaction():
            latest = self.versions(owner, prompt_id)[0]
            if (latest.name, latest.text) == (name.strip(), text.strip()):
                return latest
            return self._add(owner, prompt_id, name, text, latest.version + 1)

    def bring_back(self, owner: str, prompt_id: str, version: int) -> Prompt:
        """Make an older version the latest one, as a new version; raises NotFound."""
        for one in self.versions(owner, prompt_id):
            if one.version == version:
                return self.change(owner, prompt_id, one.name, one.text)
        raise NotFound(f"The prompt has no version {version}.")

    def delete(self, owner: str, prompt_id: str) -> None:
        """Remove a prompt with all its versions."""
        self._database.execute("delete from prompts where owner = ? and id = ?", [owner, prompt_id])

    def _read(self, sql: str, values: Sequence[object]) -> list[Prompt]:
        return [Prompt(**row) for row in self._database.rows(sql, values)]

    def _add(self, owner: str, prompt_id: str, name: str, text: str, version: int) -> Prompt:
        made = Prompt(prompt_id, _check_name(name), _check_text(text), version, utc_now())
        ids = {one.name.lower(): one.id for one in self.all(owner)}
        if ids.get(made.name.lower(), prompt_id) != prompt_id:
            raise ConfigError(f"There is a prompt {made.name!r} already; give another name.")
        row = {name: getattr(made, name) for name in Prompt.__dataclass_fields__}
        self._database.insert("prompts", {**row, "owner": owner})
        return made


def _check_name(name: str) -> str:
    plain = " ".join(name.split())
    if not plain or len(plain) > LONGEST_NAME:
        raise ConfigError(f"A prompt needs a name of at most {LONGEST_NAME} characters.")
    return plain


def _check_text(text: str) -> str:
    if not text.strip() or len(text) > LONGEST_TEXT:
        raise ConfigError(f"A prompt needs a text of at most {LONGEST_TEXT:,} characters.")
    return text.strip()

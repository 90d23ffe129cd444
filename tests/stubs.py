"""What type checkers and editors read of the modules that offer the names of `agentkit.names`.

`python -m tests.stubs` writes it into the `.pyi` files beside them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from agentkit import names

ROOT = Path(__file__).resolve().parents[1]
DOORS = sorted(
    {door for _, doors, _ in names.TABLE for door in doors} - {names.MOVED} | {*names.submodules()}
)
HEAD = '"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""\n\n'


def place(door: str) -> Path:
    """The stub's file of a module."""
    file = ROOT.joinpath(*door.split("."))
    packaged = names.parts(door) or door == names.ROOT
    return file / "__init__.pyi" if packaged else file.with_suffix(".pyi")


def stub(door: str) -> str:
    """The stub: an import for each name, what has moved last."""
    known = names.homes(door)
    below = "".join(
        f"from {door} import {part} as {part}\n" for part in names.parts(door) if part not in known
    )
    door_only = _imports(known)
    moved = _imports(names.moved()) if door == names.ROOT else ""
    after = f"\n# Moved; here for one version more.\n{moved}" if moved else ""
    version = "__version__: str\n" if door.count(".") < 2 else ""
    return f"{HEAD}{door_only}{below}{after}\n__all__: list[str]\n{version}"


def _imports(homes: Mapping[str, str]) -> str:
    by_home = defaultdict(list)
    for name, home in homes.items():
        by_home[home].append(name)
    return "".join(
        f"from {home} import {name} as {name}\n"
        for home in sorted(by_home)
        for name in sorted(by_home[home])
    )


def main() -> None:
    """Write all of them."""
    for door in DOORS:
        place(door).parent.mkdir(parents=True, exist_ok=True)
        place(door).write_text(stub(door), encoding="utf-8")


if __name__ == "__main__":
    main()

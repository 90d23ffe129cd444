"""Modules that offer the names of `agentkit.names`, and how those without files are found.

`python -m tests.stubs` writes what type checkers and editors read of them.
"""

from __future__ import annotations

import sys
from types import ModuleType

from agentkit import names

TYPE_CHECKING = False  # of `typing`, which would take longer to load than this module
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any


class Door:
    """What a module needs to offer its names, each loaded when it is first used."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.homes = names.homes(module)
        self.moved = names.moved() if module == names.ROOT else {}
        self.names = sorted(self.homes)
        self.parts = names.parts(module)
        if self.homes.keys() & self.parts:
            sys.modules[module].__class__ = _Named

    def get(self, name: str) -> object:
        """The object of that name, for `__getattr__`; raises AttributeError."""
        from importlib import import_module

        home = self.homes.get(name) or self.moved.get(name)
        if home is None and name in self.parts:
            return import_module(f"{self.module}.{name}")
        if home is None:
            raise AttributeError(f"module {self.module!r} has no attribute {name!r}")
        if name in self.moved:
            _warn(name, home)
        return getattr(import_module(home), name)

    def list_names(self) -> list[str]:
        """The names and the modules below, sorted, for `__dir__`."""
        return sorted({*self.names, *self.parts})


class _Named(ModuleType):
    """A module in which a name that it offers stays that, when the module below of this name is
    loaded.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in vars(self)["__all__"]):
            super().__setattr__(name, value)


def _warn(name: str, home: str) -> None:
    import warnings

    warnings.warn(
        f"{names.ROOT}.{name} has moved and will be gone from {names.ROOT} in the next version; "
        f"write `from {home} import {name}` instead.",
        DeprecationWarning,
        stacklevel=3,
    )


class OldModules:
    """Finds the modules of OLD_MODULES, with a warning: an entry of `sys.meta_path`."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        """How to import a module by its old name; None for all others."""
        if name not in names.OLD_MODULES:
            return None
        from importlib.machinery import ModuleSpec

        loader: Any = OldModules  # what a loader must have is there
        return ModuleSpec(name, loader)

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """The module itself."""
        import warnings
        from importlib import import_module

        home = names.OLD_MODULES[spec.name]
        told = f"{spec.name} has moved; write `from {home} import ...` instead."
        warnings.warn(told, DeprecationWarning, stacklevel=2)
        module = import_module(home)
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """It has been loaded under its own name, which it keeps."""
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state


class Submodules:
    """Finds the modules of SUBMODULES and says what is OUT: an entry of `sys.meta_path`."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        """How to import such a module; None for all others, ModuleNotFoundError for what is out."""
        if not names.below(name)[0]:
            return None
        if name in names.OUT:
            told = f"{name} is not there: agentkit leaves out {names.OUT[name]}."
            raise ModuleNotFoundError(told, name=name)
        if name not in names.submodules():
            return None
        from importlib.machinery import ModuleSpec

        loader: Any = Submodules  # what a loader must have is there
        return ModuleSpec(name, loader, is_package=bool(names.parts(name)))

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """A module as usual."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Let it offer its names."""
        door = Door(module.__name__)
        offered = {"_door": door, "__all__": list(door.names), "__getattr__": door.get}
        vars(module).update(offered, __dir__=door.list_names, __doc__=_ABOUT.format(door.module))


_ABOUT = "The names of {} that are here; `agentkit.names` says where they live."

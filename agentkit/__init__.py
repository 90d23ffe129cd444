"""agentkit: teams of agents that answer over documents, every step and its cost visible.

The names are those of `agentkit.names`, loaded when they are first used, so that the import stays
fast.
"""

import sys

from agentkit.doors import Door, OldModules, Submodules

if Submodules not in sys.meta_path:
    sys.meta_path[:0] = [
        Submodules,
        OldModules,
    ]  # first: a folder with only stubs in it is not a package
__version__ = "0.1.0"
_door = Door(__name__)
__all__ = list(_door.names)
__getattr__, __dir__ = _door.get, _door.list_names

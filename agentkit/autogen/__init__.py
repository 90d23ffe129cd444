"""The names of AutoGen 0.2 that are here: `import agentkit.autogen as autogen`. No behaviour of its
own.
"""

from agentkit.doors import Door

__version__ = "0.2.35"  # whose names these are
_door = Door(__name__)
__all__ = list(_door.names)
__getattr__, __dir__ = _door.get, _door.list_names

"""The names of AutoGen 0.2 that are here: `import agentkit.autogen as autogen`. No behaviour of its own."""

from agentkit.names import Door

_door = Door(__name__)
__all__ = list(_door.names)
__getattr__, __dir__ = _door.get, _door.listed

"""The names of AgentScope 0.1 that are here: `import agentkit.agentscope as agentscope`. No
behaviour of its own.
"""

from agentkit.doors import Door

__version__ = "0.1.6"  # whose names these are
_door = Door(__name__)
__all__ = list(_door.names)
__getattr__, __dir__ = _door.get, _door.list_names

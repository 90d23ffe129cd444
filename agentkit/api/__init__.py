"""One data folder for several processes: whoever holds it works for the others over a local API.

The process that opens a free folder holds it (`Held`) and listens on a Unix socket that only its
user can reach. Another process that opens the same folder (`Workspace`) asks there, and takes the
folder over when the holder has ended. `record` keeps what any script's agents do.
"""

from agentkit.api.door import Held
from agentkit.api.recording import record
from agentkit.api.workspace import Workspace

__all__ = ["Held", "Workspace", "record"]

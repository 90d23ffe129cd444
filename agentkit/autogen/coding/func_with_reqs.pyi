"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import Alias as Alias
from agentkit.coding import FunctionWithRequirements as FunctionWithRequirements
from agentkit.coding import FunctionWithRequirementsStr as FunctionWithRequirementsStr
from agentkit.coding import ImportFromModule as ImportFromModule
from agentkit.coding import with_requirements as with_requirements

__all__: list[str]

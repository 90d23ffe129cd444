"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.group.graphs import check_graph_validity as check_graph_validity
from agentkit.agents.group.graphs import has_self_loops as has_self_loops
from agentkit.agents.group.graphs import invert_disallowed_to_allowed as invert_disallowed_to_allowed
from agentkit.agents.group.graphs import visualize_speaker_transitions_dict as visualize_speaker_transitions_dict

__all__: list[str]

"""The tools that a team can be given beside functions of AGENTKIT_TOOLS."""

"""The command for servers of tools that speak MCP."""

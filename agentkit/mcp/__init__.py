"""Servers of tools that speak MCP: which there are, what is allowed of them, and calls."""

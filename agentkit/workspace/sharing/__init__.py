"""Chats as files: all of one written, and made into a chat again."""

LARGEST_MB = 200
"""How large a file may be that is read."""

"""Chats as files: all of one written, and made into a chat again."""

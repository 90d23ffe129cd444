"""The chat page: its turns, the composer, sources, and the list of chats."""

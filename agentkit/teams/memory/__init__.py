"""What teams remember of a chat: its turns, what agents said, and the agents themselves."""

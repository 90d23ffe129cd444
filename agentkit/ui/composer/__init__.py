"""The composer at the foot of a chat: what is asked, of whom and over what."""

"""The mechanics under everything: the event bus, stopping, plain text."""

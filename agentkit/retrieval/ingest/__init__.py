"""Taking documents in, and building index versions from what is there."""

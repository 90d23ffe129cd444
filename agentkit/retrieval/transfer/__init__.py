"""Collections as files, there and back."""

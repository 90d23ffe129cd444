"""Text to vectors, and passages to scores: packaged models, folders and servers."""

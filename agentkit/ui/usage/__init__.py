"""The usage page: what model calls took."""

"""The model without a server: it quotes the passages that answer."""

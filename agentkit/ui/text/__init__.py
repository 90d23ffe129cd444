"""Numbers, times, code and the words of others, made fit to show."""

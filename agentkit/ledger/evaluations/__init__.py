"""What teams scored on the questions of a set: read from stored events, summed, and compared."""

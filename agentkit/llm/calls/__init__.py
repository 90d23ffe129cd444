"""The one way to a model: requests, replies, streams, limits, prices."""

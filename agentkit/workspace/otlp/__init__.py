"""Finished runs as OpenTelemetry spans, sent to whoever collects them."""

from agentkit.workspace.otlp.sending import SpanSender, SpanStatus

__all__ = ["SpanSender", "SpanStatus"]

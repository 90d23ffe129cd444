"""A run's trace in OpenTelemetry's protocol, named as the conventions for generative AI say:
https://github.com/open-telemetry/semantic-conventions-genai, version 0.1.

What was asked and answered stays here: spans tell what was done, by whom, how long it took, how it
ended, and tokens. They need the package opentelemetry-proto.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit import __version__
from agentkit.core.address import on_this_machine
from agentkit.core.given import pick_kind
from agentkit.events import ModelReplied, Retrieved, RunFailed
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.spans import Span, SpanKind, Trace

SCOPE = "agentkit"
_SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
_NANOS = 1_000_000_000
Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Told:
    """How a span of ours is told: its operation and what it works on, in its name, too."""

    operation: str
    about: str
    attributes: Attributes
    leaves: bool = False
    """Whether it asks another process."""


def encode_run(run: RunTotals, trace: Trace) -> bytes:
    """The run as the body of an export request."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    _put(resource.resource.attributes, {"service.name": SCOPE, "service.version": __version__})
    scope = resource.scope_spans.add(schema_url=_SCHEMA)
    scope.scope.name, scope.scope.version = SCOPE, __version__
    for span in trace.spans:
        if span.kind in _TELL:
            _add(scope.spans, run, trace, span)
    encoded: bytes = request.SerializeToString()
    return encoded


def name_trace(run_id: str) -> bytes:
    """The id of a run's trace, 16 bytes."""
    return hashlib.sha256(run_id.encode()).digest()[:16]


def name_span(run_id: str, seq: int) -> bytes:
    """The id of a span in it, 8 bytes."""
    return hashlib.sha256(f"{run_id}/{seq}".encode()).digest()[:8]


def _add(spans: Any, run: RunTotals, trace: Trace, span: Span) -> None:
    from opentelemetry.proto.trace.v1 import trace_pb2

    told = _TELL[span.kind](run, trace, span)
    kinds = trace_pb2.Span.SpanKind
    made = spans.add(
        trace_id=name_trace(run.id),
        span_id=name_span(run.id, span.seq),
        parent_span_id=b"" if span.kind == "run" else name_span(run.id, span.parent),
        name=f"{told.operation} {told.about}".strip(),
        kind=kinds.SPAN_KIND_CLIENT if told.leaves else kinds.SPAN_KIND_INTERNAL,
        start_time_unix_nano=int(span.start * _NANOS),
        end_time_unix_nano=int(span.end * _NANOS),
    )
    around = {"gen_ai.agent.name": span.lane, "gen_ai.conversation.id": run.chat_id}
    _put(made.attributes, {**around, **told.attributes, "agentkit.status": span.status})
    if span.status == "failed":
        made.status.code = trace_pb2.Status.StatusCode.STATUS_CODE_ERROR
        _put(made.attributes, {"error.type": _name_error(trace, span)})


def _name_error(trace: Trace, span: Span) -> str:
    """The kind of error that a span ended with."""
    events = trace.events_of(span)
    kinds = [one.error_type for one in events if isinstance(one, ModelReplied | RunFailed)]
    return next(filter(None, reversed(kinds)), "_OTHER")


def _tell_run(run: RunTotals, trace: Trace, span: Span) -> _Told:
    name = run.team or run.kind
    attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.agent.name": name,
        "gen_ai.usage.input_tokens": span.prompt_tokens,
        "gen_ai.usage.output_tokens": span.completion_tokens,
        "agentkit.run.id": run.id,
        "agentkit.run.kind": run.kind,
        "agentkit.cost_usd": span.cost,
    }
    return _Told("invoke_workflow", name, attributes)


def _tell_model(run: RunTotals, trace: Trace, span: Span) -> _Told:
    return _tell_call("chat", trace, span)


def _tell_embedding(run: RunTotals, trace: Trace, span: Span) -> _Told:
    return _tell_call("embeddings", trace, span)


def _tell_call(operation: str, trace: Trace, span: Span) -> _Told:
    replies = pick_kind(trace.events_of(span), ModelReplied)
    attributes: Attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.request.model": span.name,
        "agentkit.attempts": span.attempts,
    }
    if not replies:
        return _Told(operation, span.name, attributes, leaves=True)
    last = replies[-1]
    attributes |= {"gen_ai.provider.name": last.provider or SCOPE, **_tell_usage(last)}
    return _Told(operation, span.name, attributes, leaves=not on_this_machine(last.provider))


def _tell_usage(reply: ModelReplied) -> Attributes:
    """Tokens: those of the prompt with what came out of caches, as the conventions count."""
    usage = reply.usage
    return {
        "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output + usage.reasoning,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
        "gen_ai.request.stream": reply.first_token_s is not None,
        "agentkit.purpose": reply.purpose,
        "agentkit.cost_usd": reply.cost,
        "gen_ai.response.time_to_first_chunk": reply.first_token_s,
        "gen_ai.response.finish_reasons": _FINISHES.get(reply.end),
    }


def _tell_tool(run: RunTotals, trace: Trace, span: Span) -> _Told:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": span.name,
        "gen_ai.tool.call.id": span.key,
        "gen_ai.tool.type": "function",
    }
    return _Told("execute_tool", span.name, attributes)


def _tell_code(run: RunTotals, trace: Trace, span: Span) -> _Told:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "code"}
    return _Told("execute_tool", "code", {**attributes, "agentkit.language": span.name})


def _tell_search(run: RunTotals, trace: Trace, span: Span) -> _Told:
    looked = pick_kind(trace.events_of(span), Retrieved)
    collection = ""
    if looked:
        collection = looked[0].collection
    attributes = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": SCOPE,
        "gen_ai.data_source.id": collection,
        "agentkit.hits": sum(len(one.hits) for one in looked),
    }
    return _Told("retrieval", collection, attributes)


def _tell_plan(run: RunTotals, trace: Trace, span: Span) -> _Told:
    return _Told("plan", span.lane, {"gen_ai.operation.name": "plan"})


def _tell_other(run: RunTotals, trace: Trace, span: Span) -> _Told:
    return _Told(f"{SCOPE}.{span.kind}", "", {})


_TELL: Mapping[SpanKind, Callable[[RunTotals, Trace, Span], _Told]] = {
    "run": _tell_run,
    "model": _tell_model,
    "embedding": _tell_embedding,
    "tool": _tell_tool,
    "code": _tell_code,
    "search": _tell_search,
    "plan": _tell_plan,
    "step": _tell_other,
    "compression": _tell_other,
    "wait": _tell_other,
    "document": _tell_other,
}
"""What is sent; what somebody said, or noted, is not."""


def _put(attributes: Any, values: Mapping[str, Any]) -> None:
    """Add the values; what is unknown or empty is left out."""
    for key, value in values.items():
        if value not in (None, ""):
            _set(attributes.add(key=key).value, value)


def _set(holder: Any, value: Any) -> None:
    if isinstance(value, list):
        for one in value:
            _set(holder.array_value.values.add(), one)
        return
    setattr(holder, _FIELDS[type(value)], value)


_FINISHES: Mapping[str | None, list[str]] = {
    "whole": ["stop"],
    "token_limit": ["length"],
    "filtered": ["content_filter"],
    "broken_off": ["error"],
    "too_long": ["length"],
}
"""How a reply ended, in the words of the conventions."""
_FIELDS = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}

"""Finished runs arrive over HTTP as OpenTelemetry spans, with the conventions' names; what cannot
be sent waits, and is told.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from agentkit.events import (
    Event,
    ModelCalled,
    Retrieved,
    RunFailed,
    ToolCalled,
    ToolReturned,
    Usage,
)
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from agentkit.workspace.otlp.encoding import name_span, name_trace
from tests.ledger.conftest import NOON, OWNER, call, record

PATIENCE_S = 60.0
CONVENTIONS = {
    value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")
}


@dataclass
class Collector:
    """What arrived, and what is answered."""

    status: int = 200
    body: bytes = b""
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    came: threading.Event = field(default_factory=threading.Event)
    endpoint: str = ""

    def spans(self) -> dict[str, Span]:
        """The spans that arrived, by name."""
        found = (ExportTraceServiceRequest.FromString(body) for _, _, body in self.requests)
        return {
            span.name: span
            for request in found
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }


@pytest.fixture
def collector() -> Iterator[Collector]:
    """An OTLP endpoint on this machine."""
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.requests.append((self.path, dict(self.headers), body))
            self.send_response(kept.status)
            self.send_header("Content-Length", str(len(kept.body)))
            self.end_headers()
            self.wfile.write(kept.body)
            kept.came.set()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        kept.endpoint = f"http://127.0.0.1:{server.server_port}"
        yield kept
        server.shutdown()
        thread.join()


@pytest.fixture
def workspace(settings: Settings, collector: Collector) -> Iterator[Workspace]:
    sending = replace(settings, otlp_endpoint=collector.endpoint, otlp_headers="x-key=secret, a=b")
    opened = Workspace(sending, FakeEmbedder())
    opened.database.insert("spans_since", {"since": NOON.replace(tzinfo=None)})
    yield opened
    opened.close()


def values(span: Span) -> dict[str, Any]:
    """The attributes of a span."""
    found: dict[str, Any] = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value") or ""
        value = getattr(one.value, kind)
        found[one.key] = [each.string_value for each in value.values] if "array" in kind else value
    return found


def do_something(workspace: Workspace) -> str:
    """A run with a call, a look-up and a tool, one of which failed."""
    chat = workspace.ledger.create_chat(OWNER, "Rivers", "answer", "offline", "Documents")
    reply = replace(
        call(Usage(100, 20, 5, output=30, reasoning=7), cost=0.25), first_token_s=0.5, end="whole"
    )
    events: list[Event] = [
        ModelCalled(reply.call_id, "Assistant", "openai", "small"),
        replace(reply, provider="openai"),
        Retrieved("a secret question", "Papers", "hybrid", [{"document_id": "d"}], 0.1),
        ToolCalled("t1", "Assistant", "add", "{}"),
        ToolReturned("t1", "Assistant", "add", False, "no numbers"),
    ]
    return record(workspace.ledger, events, chat_id=chat.id)


def test_names_and_attributes_are_those_of_the_conventions(
    workspace: Workspace, collector: Collector
) -> None:
    run_id = do_something(workspace)
    assert workspace.spans.send_waiting() == 1
    ((path, headers, body),) = collector.requests
    assert (path, headers["Content-Type"]) == ("/v1/traces", "application/x-protobuf")
    assert (headers["x-key"], headers["a"]) == ("secret", "b")
    assert b"secret question" not in body

    spans = collector.spans()
    root, chat = spans["invoke_workflow chat"], spans["chat small"]
    assert {span.trace_id for span in spans.values()} == {name_trace(run_id)}
    assert (root.span_id, root.parent_span_id) == (name_span(run_id, 0), b"")
    assert chat.parent_span_id in {span.span_id for span in spans.values()}
    assert (root.kind, chat.kind) == (Span.SPAN_KIND_INTERNAL, Span.SPAN_KIND_CLIENT)
    told = values(chat)
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small",
        "gen_ai.agent.name": "Assistant",
        "gen_ai.usage.input_tokens": 125,
        "gen_ai.usage.cache_read.input_tokens": 20,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.output_tokens": 37,
        "gen_ai.usage.reasoning.output_tokens": 7,
        "gen_ai.response.time_to_first_chunk": 0.5,
        "gen_ai.response.finish_reasons": ["stop"],
    }
    assert {name: told[name] for name in expected} == expected
    assert values(root)["gen_ai.conversation.id"] == told["gen_ai.conversation.id"]
    assert values(spans["retrieval Papers"])["gen_ai.data_source.id"] == "Papers"
    tool = spans["execute_tool add"]
    assert (values(tool)["gen_ai.tool.name"], values(tool)["error.type"]) == ("add", "_OTHER")
    assert tool.status.code == 2
    named = {name for span in spans.values() for name in values(span)}
    known = {name for name in named if not name.startswith(("agentkit.", "error.type"))}
    assert known <= CONVENTIONS


def test_a_run_is_sent_once_and_by_itself(workspace: Workspace, collector: Collector) -> None:
    workspace.spans.begin(pace_s=0.01)
    do_something(workspace)
    assert collector.came.wait(PATIENCE_S)
    workspace.spans.close()
    assert workspace.spans.send_waiting() == 0
    assert len(collector.requests) == 1
    status = workspace.spans.status()
    assert (status.waiting, status.problem, status.refused) == (0, "", 0)
    assert status.last_sent is not None


def test_what_cannot_be_sent_waits_and_is_told_once(
    workspace: Workspace, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    do_something(workspace)
    collector.status = 503
    for _ in range(3):
        assert workspace.spans.send_waiting() == 0
    told = [one.message for one in caplog.records if "spans could not be sent" in one.message]
    assert len(told) == 1
    status = workspace.spans.status()
    assert (status.waiting, status.last_sent) == (1, None)
    assert "answered 503" in status.problem
    collector.status = 200
    assert workspace.spans.send_waiting() == 1
    assert workspace.spans.status().problem == ""


def test_what_waits_is_sent_after_a_restart(workspace: Workspace, collector: Collector) -> None:
    collector.status = 503
    do_something(workspace)
    workspace.spans.send_waiting()
    workspace.close()
    collector.status = 200
    opened = Workspace(workspace.settings, FakeEmbedder())
    assert opened.spans.send_waiting() == 1
    opened.close()


def test_what_is_refused_for_good_is_counted(workspace: Workspace, collector: Collector) -> None:
    record(workspace.ledger, [call(), RunFailed("no", "RateLimited")])
    collector.status = 400
    assert workspace.spans.send_waiting() == 0
    status = workspace.spans.status()
    assert (status.waiting, status.refused) == (0, 1)
    assert "answered 400" in status.refusal
    do_something(workspace)
    collector.status = 200
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = 3
    response.partial_success.error_message = "too old"
    collector.body = response.SerializeToString()
    workspace.spans.send_waiting()
    assert workspace.spans.status().refusal == "3 spans were refused (too old)"


def test_without_an_endpoint_nothing_is_sent(settings: Settings) -> None:
    opened = Workspace(settings, FakeEmbedder())
    opened.spans.begin()
    do_something(opened)
    assert opened.spans.send_waiting() == 0
    assert opened.spans.status().endpoint == ""
    opened.close()


def test_nobody_at_the_endpoint(settings: Settings) -> None:
    opened = Workspace(replace(settings, otlp_endpoint="http://127.0.0.1:9"), FakeEmbedder())
    opened.spans.begin(pace_s=1_000)
    do_something(opened)
    opened.database.execute("update spans_since set since = timestamp '2020-01-01'")
    assert opened.spans.send_waiting() == 0
    assert "does not answer" in opened.spans.status().problem
    opened.close()

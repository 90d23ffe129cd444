"""Sends what ended to an OTLP endpoint, on a thread of its own: no run waits for it.

Runs wait in the database until the endpoint has taken them; a failure is told once in the log, and
how it stands in the settings.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import datetime

from agentkit.core.address import without_login
from agentkit.errors import AgentkitError, ConfigError, explain
from agentkit.ledger import Ledger, queries, run_list
from agentkit.settings import Settings
from agentkit.workspace.otlp.sent import Sent

log = logging.getLogger(__name__)
PACE_S, LONGEST_PAUSE_S = 2.0, 300.0
"""How often it is looked for what ended, and the longest pause after failures."""
_ANSWER_S = 5.0
_TRY_AGAIN = frozenset({401, 403, 404, 408, 429, 500, 502, 503, 504})
"""What may be put right at the endpoint, or in the settings."""
_PATH = "/v1/traces"


@dataclass(frozen=True, slots=True)
class SpanStatus:
    """How sending stands."""

    endpoint: str
    """Empty where it is off."""
    last_sent: datetime | None = None
    """UTC without zone; None where nothing was sent so far."""
    waiting: int = 0
    """Runs that are still to be sent."""
    problem: str = ""
    """Why the last try failed; empty when it did not."""
    refused: int = 0
    """Runs that the endpoint refused for good."""
    refusal: str = ""


class _NotNow(Exception):
    """The endpoint could not be reached, or cannot take anything at the moment."""


class SpanSender:
    """Sends runs while it is begun; off where the settings name no endpoint."""

    def __init__(self, ledger: Ledger, settings: Settings) -> None:
        self._ledger, self._settings = ledger, settings
        self._sent = Sent(ledger.database)
        self._ending = threading.Event()
        self._sending = threading.Lock()
        self._thread: threading.Thread | None = None
        self._problem = ""

    def begin(self, pace_s: float = PACE_S) -> None:
        """Send from now on what ends, here or elsewhere, and what waits from before."""
        if not self._settings.otlp_endpoint or self._thread is not None:
            return
        self._sent.begin()
        self._thread = threading.Thread(
            target=self._work, args=(pace_s,), name="agentkit-spans", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Send no more; what waits is sent after the next start."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def status(self) -> SpanStatus:
        """How it stands now."""
        endpoint = self._settings.otlp_endpoint
        if not endpoint:
            return SpanStatus("")
        waiting, refused = self._sent.count_waiting(), self._sent.count_refused()
        return SpanStatus(endpoint, self._sent.last_sent(), waiting, self._problem, *refused)

    def send_waiting(self) -> int:
        """Send now what waits; gives how many runs were sent. A failure is told by `status`."""
        if not self._settings.otlp_endpoint:
            return 0
        with self._sending:
            try:
                number = self._send_all()
            except (_NotNow, AgentkitError) as error:
                self._note(str(error))
                return 0
        self._note("")
        return number

    def _work(self, pace_s: float) -> None:
        seen, pause = -1, pace_s
        while not self._ending.wait(pause):
            changes = self._ledger.database.changes
            if changes == seen and not self._problem:
                continue
            seen = changes
            self.send_waiting()
            pause = min(2 * pause, LONGEST_PAUSE_S) if self._problem else pace_s

    def _send_all(self) -> int:
        number = 0
        while rows := self._sent.list_waiting():
            for row in rows:
                if self._ending.is_set():
                    return number
                problem = self._send(row["owner"], row["id"])
                self._sent.add(row["id"], problem)
                number += not problem
        return number

    def _send(self, owner: str, run_id: str) -> str:
        """Send a run; gives why the endpoint refuses it for good, empty when it took it."""
        from agentkit.ledger.trace import build_trace
        from agentkit.workspace.otlp.encoding import encode_run

        run = run_list.one(self._ledger, owner, run_id)
        events = queries.events(self._ledger, owner, run_id, with_requests=False)
        if not events:
            return "what happened in it was deleted before it was sent"
        try:
            body = encode_run(run, build_trace(events))
        except ImportError as error:
            raise ConfigError("Spans need a package: `pip install opentelemetry-proto`.") from error
        return self._post(body)

    def _post(self, body: bytes) -> str:
        import httpx2

        headers = {"Content-Type": "application/x-protobuf", **self._read_headers()}
        address = self._settings.otlp_endpoint.rstrip("/").removesuffix(_PATH) + _PATH
        try:
            answer = httpx2.post(address, content=body, headers=headers, timeout=_ANSWER_S)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            told = f"{without_login(address)} does not answer ({explain(error)})"
            raise _NotNow(told) from error
        if answer.is_success:
            return _read_refusal(answer.content)
        told = f"{without_login(address)} answered {answer.status_code} {answer.text[:200]}"
        if answer.status_code in _TRY_AGAIN:
            raise _NotNow(told)
        return told

    def _read_headers(self) -> dict[str, str]:
        """`name=value` pairs with commas between them, as OTEL_EXPORTER_OTLP_HEADERS has them."""
        pairs = filter(None, map(str.strip, self._settings.otlp_headers.split(",")))
        named = (pair.partition("=") for pair in pairs)
        return {name.strip(): value.strip() for name, _, value in named}

    def _note(self, problem: str) -> None:
        """Keep how it went, and tell it when that is new."""
        before, self._problem = self._problem, problem
        if problem and not before:
            log.warning("spans could not be sent, they wait: %s", problem)
        elif before and not problem:
            log.info("spans are sent again")


def _read_refusal(content: bytes) -> str:
    """What an endpoint that answered well says of spans that it left out."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        told = ExportTraceServiceResponse.FromString(content).partial_success
    except DecodeError:  # some answer with JSON, or a page
        return ""
    left_out: int = told.rejected_spans
    if left_out:
        return f"{left_out} spans were refused ({told.error_message})"
    return ""

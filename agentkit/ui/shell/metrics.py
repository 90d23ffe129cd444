"""`GET /metrics`: figures for Prometheus, for who asks from this machine alone.

The format is https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from agentkit.errors import AgentkitError
from agentkit.ledger.usage.metrics import Metric, read_metrics
from agentkit.ui.shared import state
from agentkit.ui.shell.guard import is_here

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-real-ip"})
"""What a proxy on this machine adds for those elsewhere."""
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


async def send(request: Request) -> PlainTextResponse:
    """The figures; 403 for other machines, 503 when the database cannot be read."""
    forwarded = _FORWARDED.intersection(request.headers)
    if forwarded or not is_here(request.scope.get("client")):
        return PlainTextResponse("The figures are for this machine only.", 403)
    try:
        text = await run_in_threadpool(_read)
    except AgentkitError as error:
        return PlainTextResponse(str(error), 503)
    return PlainTextResponse(text, media_type=_TYPE)


ROUTE = Route("/metrics", send)


def _read() -> str:
    return format_metrics(read_metrics(state.workspace().database))


def format_metrics(metrics: Iterable[Metric]) -> str:
    """The figures in Prometheus's text format."""
    return "".join(f"{line}\n" for line in chain.from_iterable(map(_lines, metrics)))


def _lines(metric: Metric) -> list[str]:
    head = [f"# HELP {metric.name} {metric.about}", f"# TYPE {metric.name} {metric.kind}"]
    return head + [
        f"{metric.name}{_format_labels(labels)} {value!r}" for labels, value in metric.samples
    ]


def _format_labels(labels: Mapping[str, str]) -> str:
    written = ",".join(f'{name}="{labels[name].translate(_ESCAPED)}"' for name in sorted(labels))
    return f"{{{written}}}" if written else ""

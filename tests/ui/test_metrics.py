"""The figures for Prometheus: its own parser reads them, and only this machine gets them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.testclient import TestClient

from agentkit.events import Usage
from agentkit.ledger import queries
from agentkit.ledger.queries import CallFilter
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.ui.shared import state
from agentkit.ui.shell import metrics
from agentkit.workspace import Workspace
from tests.ledger.conftest import OWNER, call, record


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    opened = Workspace(settings, FakeEmbedder())
    state.use(opened)
    yield opened
    state.close()


def get(client: str = "127.0.0.1", **headers: str) -> tuple[int, str]:
    app = TestClient(Starlette(routes=[metrics.ROUTE]), client=(client, 50_000), headers=headers)
    answer = app.get("/metrics")
    return answer.status_code, answer.text


def test_the_figures_are_those_of_the_ledger(workspace: Workspace) -> None:
    odd = call(Usage(100, 20, output=30), cost=0.5, model='a "b"\\c\nd')
    events = [odd, replace(call(Usage(7)), status="failed"), call(Usage(1), cost=0.25)]
    record(workspace.ledger, events)
    status, text = get()
    assert status == 200
    families = {one.name: one for one in text_string_to_metric_families(text)}
    assert all(one.documentation and one.type in ("counter", "gauge") for one in families.values())
    sums = {name: sum(s.value for s in one.samples) for name, one in families.items()}
    totals = queries.totals(workspace.ledger, CallFilter(OWNER))
    assert sums["agentkit_model_calls"] == totals.calls == 3
    assert sums["agentkit_model_prompt_tokens"] == totals.prompt_tokens
    assert sums["agentkit_model_cost_dollars"] == totals.cost
    assert sums["agentkit_model_calls_unpriced"] == totals.unpriced == 1
    assert sums["agentkit_runs"] == 1
    assert sums["agentkit_database_bytes"] > 0
    models = {one.labels["model"] for one in families["agentkit_model_calls"].samples}
    assert 'a "b"\\c\nd' in models


def test_no_owner_is_told(workspace: Workspace) -> None:
    record(workspace.ledger, [call(Usage(1))], owner="somebody-by-name")
    assert "somebody-by-name" not in get()[1]


def test_other_machines_get_none(workspace: Workspace) -> None:
    assert get("192.0.2.7")[0] == 403
    assert get(forwarded="for=192.0.2.7")[0] == 403  # through a proxy on this machine
    assert get("::1")[0] == 200

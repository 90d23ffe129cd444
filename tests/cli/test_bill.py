"""`prices`, `budgets`, and the tables of `usage` beside its sums."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agentkit.database import Database
from agentkit.events import Usage
from agentkit.ledger import Ledger
from agentkit.ledger.store import utc_now
from tests.bench import month
from tests.cli.conftest import Cli
from tests.ledger.conftest import call, record


@pytest.fixture
def calls(data: Path) -> None:
    """Two calls of unknown price at a server, one of somebody else."""
    database = Database(data / "agentkit.duckdb")
    ledger = Ledger(database)
    chat = ledger.create_chat("local", "Rivers", "answer", "offline", "Documents")
    for tokens in (1_000_000, 500_000):
        asked = call(Usage(tokens, output=0), model="large")
        record(ledger, [asked], owner="local", chat_id=chat.id)
    record(ledger, [call(cost=0.5)], owner="somebody else")
    database.close()


def test_a_price_is_entered_old_calls_priced_anew_and_back(cli: Cli, calls: None) -> None:
    (before,) = cli("prices", "list", "--json").json["models"]
    assert (before["model"], before["origin"], before["rates"]) == ("large", "unknown", None)
    entered = cli("prices", "set", "server", "--input", 2, "--output", 8, "--json").json
    assert entered["rates"] == {"input": 2, "output": 8, "cache_read": 2, "cache_write": 2}
    told = cli("prices", "list").out
    assert "your entry" in told
    assert entered["id"] in told

    shown = cli("prices", "reprice", "--json").json
    assert [(one["calls"], one["after"]) for one in shown["changes"]] == [(2, 3.0)]
    assert "--apply" in cli("prices", "reprice").err
    assert cli("usage", "--json").json["totals"]["cost"] is None, "nothing was changed"
    made = cli("prices", "reprice", "--apply", "--json").json["made"]
    assert cli("usage", "--json").json["totals"]["cost"] == 3.0
    assert "days already" in cli("prices", "reprice").err
    assert cli("prices", "reprice", "undo", made["id"]).code == 0
    assert cli("usage", "--json").json["totals"]["cost"] is None
    assert "taken back" in cli("prices", "reprice", "list").out

    assert cli("prices", "remove", entered["id"]).code == 0
    assert cli("prices", "list", "--json").json["own"] == []
    assert len(cli("prices", "list", "--history", "--json").json["own"]) == 1


def test_prices_that_cannot_be_are_refused(cli: Cli) -> None:
    assert "No model" in cli("prices", "list").err
    assert cli("prices", "set", "server").code == 2, "nothing is free by mistake"
    refused = cli("prices", "set", "server", "--input", "nan", "--output", 1)
    assert (refused.code, "cannot be" in refused.err) == (1, True)
    days = ("--from", "2026-11-13", "--until", "2026-11-01")
    ended = cli("prices", "set", "server", "--input", 1, "--output", 1, *days)
    assert "before it begins" in ended.err
    assert cli("prices", "remove", "none").code == 1


def test_budgets_are_set_seen_and_removed(cli: Cli, calls: None) -> None:
    assert "may take what they need" in cli("budgets", "list").err
    made = cli("budgets", "set", "month", 120, "--warn-at", 50, "--zone", "UTC", "--json").json
    assert (made["owner"], made["amount"], made["warn_at"]) == ("local", 120, 0.5)
    cli("budgets", "set", "day", 9_000, "--in", "tokens", "--everybody", "--fixed")
    day, whole = cli("budgets", "list", "--json").json["budgets"]
    assert (day["unit"], day["owner"], day["may_raise"]) == ("tokens", "", False)
    assert (whole["used"], whole["limit"]) == (0, 120)
    told = cli("budgets", "list").out
    assert "$120.00" in told
    assert "9,000 tokens" in told
    cli("budgets", "set", "month", 200)
    assert len(cli("budgets", "list", "--json").json["budgets"]) == 2, "it took the other's place"
    assert len(cli("budgets", "list", "--history", "--json").json["budgets"]) == 3
    assert cli("budgets", "remove", day["id"]).code == 0
    assert len(cli("budgets", "list", "--json").json["budgets"]) == 1
    assert "number above 0" in cli("budgets", "set", "day", 0).err
    assert cli("budgets", "remove", "none").code == 1


@pytest.fixture
def team_of_ten(data: Path) -> None:
    """A month with everything that the page has a table of."""
    database = Database(data / "agentkit.duckdb")
    Ledger(database)
    month.fill(database, 600, utc_now() - timedelta(days=29), owners=1)
    database.execute("update llm_calls set owner = 'local'")
    database.execute("update runs set owner = 'local'")
    database.execute("update steps set owner = 'local'")
    database.execute("update chats set owner = 'local'")
    database.close()


def test_usage_within_and_by_tab(cli: Cli, team_of_ten: None) -> None:
    totals = cli("usage", "--json").json["totals"]
    found = cli("usage", "--by", "team", "--within", "agent", "--json").json["rows"]
    assert ("group", "Critic") in {(row["team"], row["agent"]) for row in found}
    assert sum(row["calls"] for row in found) == totals["calls"] == 600
    assert sum(row["cost"] or 0 for row in found) == pytest.approx(totals["cost"])
    assert "99 % s" in cli("usage", "--by", "team", "--within", "agent").out.splitlines()[0]
    assert "not divided" in cli("usage", "--by", "day", "--within", "agent").err

    bill = cli("usage", "--show", "bill", "--json").json
    assert bill["buckets"][-1]["tokens"] == totals["prompt_tokens"] + totals["completion_tokens"]
    assert bill["costs"][0]["cost"] <= totals["cost"] + 1e-9
    errors = cli("usage", "--show", "errors", "--json").json
    assert sum(row["failed"] for row in errors["errors"]) == totals["failed"]
    assert errors["waits"][0]["retries"] == totals["retries"]
    slowest = cli("usage", "--show", "speed", "--json").json["slowest"]
    assert (slowest[0]["id"], slowest[0]["seconds"]) == (month.SLOWEST, month.SLOW_S)
    for name in ("tools", "look-ups", "compression", "people"):
        (rows,) = [
            rows
            for key, rows in cli("usage", "--show", name, "--json").json.items()
            if key != "show"
        ]
        assert rows, name
    assert cli("usage", "--show", "documents", "--json").json["documents"] == []
    told = cli("usage", "--show", "errors").out
    assert "RateLimitError" in told
    assert "run_id" not in told
    assert cli("usage", "--show", "nothing").code == 2


def test_a_table_knows_the_filters(cli: Cli, team_of_ten: None) -> None:
    chosen = cli("usage", "--show", "errors", "--model", "fast-large", "--json").json["errors"]
    assert {row["model"] for row in chosen} == {"fast-large"}
    assert cli("usage", "--show", "errors", "--agent", "nobody", "--json").json["errors"] == []

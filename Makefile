# make app: install what is missing, then serve the app.   make test: the same, then all checks.   make help: the rest.
.PHONY: app test check long types main-tests unit-tests soak lint bench bench-peers clean help
BIN := .venv/bin
# What needs no browser, no other program, no model and no big index: the folders but for exported scripts that are run, and the
# files beside them but for those of whole workspaces.
UNIT := $(addprefix tests/,agents conversation core differential documents ledger llm parsers teams ui) $(filter-out \
	tests/test_workspace% tests/test_load.py tests/test_old_folders.py tests/test_package.py tests/test_private.py tests/test_readme.py,$(wildcard tests/test_*.py)) \
	--ignore=tests/teams/built/test_script.py

app:  ## install what is missing and open the app in the browser
	@.ci/setup app
	@$(BIN)/streamlit run app.py

test:  ## install what is missing, then ruff, mypy and the tests: some 20 minutes on 2 cores
	@.ci/setup dev
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory -j 2 types main-tests

check:  ## ruff, mypy and the tests that take no time: some 3 minutes on 2 cores
	@.ci/setup dev
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory -j 2 types unit-tests

long:  ## the tests that `make test` leaves out: walks through the app, and some of what `make soak` does
	@.ci/setup dev
	$(BIN)/pytest -n 3 --no-loadscope-reorder -m "walk or soak"

# Side by side, as tests wait at times and mypy never does.
types:
	$(BIN)/mypy

# Three processes on two cores: while one waits, for a program or a page, two are at work.
main-tests:
	$(BIN)/pytest -n 3 --no-loadscope-reorder -m "not walk and not soak"

unit-tests:
	$(BIN)/pytest -n 3 --no-loadscope-reorder -m "not soak" $(UNIT)

soak:  ## ten times as much load, kills, rows and text as in the tests (minutes; SOAK=3 for less)
	@.ci/setup dev
	SOAK=$(or $(SOAK),10) $(BIN)/pytest -n 2 --no-loadscope-reorder -m soak --durations=0

lint:  ## ruff and mypy only
	@.ci/setup dev
	$(BIN)/ruff check .
	$(BIN)/mypy

bench:  ## measure speed and size (minutes)
	@.ci/setup dev
	$(BIN)/python tests/bench/bench_start.py
	$(BIN)/python tests/bench/bench_ingest.py
	$(BIN)/pytest -sq tests/bench/bench_rerun.py
	$(BIN)/python -m tests.bench.bench_chat
	$(BIN)/python -m tests.bench.bench_export
	$(BIN)/python -m tests.bench.bench_chats
	$(BIN)/python -m tests.bench.bench_streaming
	$(BIN)/python -m tests.bench.bench_sessions
	$(BIN)/python -m tests.bench.bench_first_text
	$(BIN)/python tests/bench/bench_index.py
	$(BIN)/python -m tests.bench.bench_lookup
	$(BIN)/python -m tests.bench.bench_parsers
	$(BIN)/python -m tests.bench.bench_tokens
	$(BIN)/python -m tests.bench.bench_rewoo
	$(BIN)/python -m tests.bench.bench_plans
	$(BIN)/python -m tests.bench.bench_compression
	$(BIN)/python -m tests.bench.bench_support
	$(BIN)/python -m tests.bench.bench_offline
	$(BIN)/python -m tests.bench.bench_kernel
	$(BIN)/python -m tests.bench.bench_live
	$(BIN)/python -m tests.bench.bench_storing

bench-peers:  ## measure ours against other libraries, each in an environment of its own; writes docs/benchmarks.md
	@.ci/setup dev
	$(BIN)/python -m tests.bench.peers

clean:  ## remove the virtual environment and caches; documents and chats in data/ stay
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' Makefile | awk -F ':.*## ' '{printf "make %-11s %s\n", $$1, $$2}'

# One door: everything a person does here is a target. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SCALE ?= 0.1
FUZZ_SECONDS ?= 20
SIMULATE ?= --seeds 10000
FUZZ_FLAGS ?=
LISTEN ?= 127.0.0.1:5432
MINUTES ?= 10
SINCE ?= HEAD

# Compiled modules are kept: otherwise each process of the tests compiles all of them anew.
unexport PYTHONDONTWRITEBYTECODE
# Processes that run tests, each with a Spark and a PostgreSQL of its own where its tests ask for one.
# Many tests wait, for a process to start or for a lost member to be noticed: one more than there are cores keeps these busy.
CORES = $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
WORKERS ?= $(shell expr $(CORES) + 1)
IN_PARALLEL := -n $(WORKERS) --dist loadgroup --no-loadscope-reorder --quiet --durations=20
# One of so many cases of a test that is a table, by the seed: runs of successive seeds have all, and CI has them in each run.
TABLES ?= 5
TEST_FLAGS ?=

.PHONY: help setup java spark-classes demo check test test-long test-all lint format fuzz bench clients corpora client-packages mutants simulate catalog golden soak audit chart screenshots clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.installed java ## Create .venv with .venv/bin/sluice and what it needs

$(VENV)/.installed: pyproject.toml requirements.lock requirements-dev.lock
	@scripts/setup_venv.sh "$(PYTHON)" "$(VENV)"
	@touch $@

java:
	@scripts/find_java.sh

# JVMs of the tests start in half of the processor time with it.
spark-classes: setup build/spark-classes.jsa

build/spark-classes.jsa: $(VENV)/.installed tests/support/spark_classes.py
	PYTHONPATH=.:tests $(BIN)/python -m support.spark_classes

demo: setup ## Generate TPC-H data, start a member, take a tour, serve until Ctrl-C (SCALE=0.1)
	@$(BIN)/sluice demo --scale $(SCALE) --listen $(LISTEN) $(DEMO_FLAGS)

check: setup ## The verdict on an edit: format, lint, types, import contracts, the unit tests of what changed (SINCE=HEAD)
	@$(BIN)/python scripts/check.py --since $(SINCE)

test: spark-classes ## Run the tests but the long ones, in one process more than there are cores, in random order (WORKERS=N)
	$(BIN)/pytest -m "not long" --tables $(TABLES) $(IN_PARALLEL) $(TEST_FLAGS)

test-long: spark-classes ## Run the long tests alone
	$(BIN)/pytest -m long $(IN_PARALLEL) $(TEST_FLAGS)

test-all: spark-classes ## Run the long tests too
	$(BIN)/pytest $(IN_PARALLEL) $(TEST_FLAGS)

mutants: setup ## Plant faults into the protocol, one at a time, and see that exploration or simulation find them
	$(BIN)/python tests/exploration/mutants.py
	$(BIN)/python tests/simulation/planted_faults.py
	$(BIN)/python tests/simulation/planted_storage_faults.py
	$(BIN)/python tests/simulation/planted_group_faults.py
	$(BIN)/python tests/simulation/planted_writing_faults.py

simulate: setup ## Whole clusters on a virtual network and clock; SIMULATE='--seed 4711' replays one, '--writes' has a disk that fails, '--both' members that write
	PYTHONPATH=.:tests $(BIN)/python -m simulated $(SIMULATE)

soak: setup ## Run a cluster under mixed load, kill a member now and then, look for leaks (MINUTES=10)
	PYTHONPATH=.:tests $(BIN)/python -m soak --minutes $(MINUTES) $(SOAK_FLAGS)

fuzz: setup ## Fuzz all decoders, guided by coverage, FUZZ_SECONDS each (20); FUZZ='parameter statement' chooses
	@$(BIN)/pip install --quiet --disable-pip-version-check -e ".[fuzz]"
	PYTHONHASHSEED=0 PYTHONPATH=.:tests $(BIN)/python -m fuzzing $(FUZZ) --seconds $(FUZZ_SECONDS) $(FUZZ_FLAGS)

catalog: setup ## Write anew what the system catalog has of PostgreSQL 15's own rows (functions, operators, types)
	$(BIN)/python scripts/extract_catalog.py

golden: setup ## Rewrite the golden plans; read the diff before you commit it
	$(BIN)/pytest -q tests/golden --rewrite

lint: setup ## Formatting, lint, types, import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/house.py --check

audit: setup ## The lock is whole, licences are known, no advisories (AUDIT_FLAGS=--offline, or --online to insist)
	$(BIN)/python scripts/audit.py $(AUDIT_FLAGS)

chart: setup ## Render the Helm chart and check it against Kubernetes' schemas (needs node)
	$(BIN)/python scripts/check_chart.py

format: setup ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

client-packages: ## Install what the client tests use: PostgreSQL 15 (server, psql, pgbench), its JDBC driver, Chromium
	@scripts/install_clients.sh

clients: setup client-packages ## Run other authors' suites on a member and on PostgreSQL 15; CLIENTS='NAME --write' chooses, and writes the table
	PYTHONPATH=.:tests $(BIN)/python -m suites $(CLIENTS)

corpora: setup ## Run statements that others wrote on both engines beside PostgreSQL (CORPORA='regress FOLDER ... --engines local')
	PYTHONPATH=.:tests $(BIN)/python -m corpora $(CORPORA)

screenshots: setup client-packages ## Take the pictures of the console for README and docs, from three members over TPC-H
	$(BIN)/python scripts/screenshots.py

bench: setup ## Run the benchmarks; BENCH='tpch --write' chooses, and puts results into docs/benchmarks.md
	@$(BIN)/pip install --quiet --disable-pip-version-check -e ".[bench]"
	$(BIN)/python -m benchmarks $(BENCH)

clean: ## Remove what the build and the tests left
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis sluice-demo

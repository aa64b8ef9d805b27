# Each target does all of its own set-up: Python 3.11 or newer and make are all that must be there. Spark's Java is
# installed where that can be done, see tools/java.sh.

PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help java demo quick test lint types check soak bench docs package lock clean

help:
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

# The environment is rebuilt when the lock file or the project's own description changes.
.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "Ensue needs Python 3.11 or newer, and '$(PYTHON)' is older or cannot be run:" \
	       "name another with make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv \
	  || { echo "this Python cannot make environments: install its venv module (Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "setting up .venv ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

java:
	@sh tools/java.sh

demo: java .venv/ready ## a real pattern over real data, embedded and on Spark
	@$(BIN)/python -m ensue.demo

quick: java .venv/ready ## the tests that find most faults, in three minutes
	@sh tools/test.sh $(BIN)/python quick

test: java .venv/ready ## all tests, with the examples of README and docs
	@sh tools/test.sh $(BIN)/python

lint: .venv/ready ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready ## static types
	$(BIN)/mypy

check: lint types test ## all that CI asks

PART ?=
COUNT ?= 0
SEED ?= 0
soak: java .venv/ready ## the random tests at full counts; PART="queries kills" COUNT=100 SEED=7 choose
	@$(BIN)/python tools/soak.py --part "$(PART)" --count $(COUNT) --seed $(SEED)

bench: java .venv/ready ## speed, as ratios, into bench/results/
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bench/requirements.lock
	$(BIN)/python -m bench.run
	$(BIN)/python -m bench.spark
	$(BIN)/python -m bench.windows_on_spark

docs: .venv/ready ## the documentation as a site, into site/
	$(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

package: .venv/ready ## wheel and source distribution into dist/, tried in a new environment
	rm -rf dist
	$(BIN)/hatchling build
	sh tools/try_package.sh $(PYTHON) dist

lock: ## resolve the dependencies anew into the lock files
	@test -x .venv/bin/pip || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet uv
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --all-extras --group dev pyproject.toml -o requirements.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --all-extras --group bench --constraint requirements.lock pyproject.toml \
	  -o bench/requirements.lock

clean: ## remove what the targets made
	rm -rf .venv site dist .soak .pytest_cache .mypy_cache .ruff_cache .hypothesis

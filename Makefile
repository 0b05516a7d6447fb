# `make` alone lists the targets. Each sets up what it needs in .venv; nothing is installed outside of it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
PEERS := .venv-peers
ARGS ?= --sizes 10000,100000

.DEFAULT_GOAL := help
.PHONY: help demo test check bench bench-peers docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,fast]'
	touch $(STAMP)

demo: $(STAMP) ## record the sample's runs and recall a few situations in every mode
	$(BIN)/experience demo

test: check ## ruff, mypy and every test
	$(BIN)/python -m pytest

check: $(STAMP) ## ruff and mypy only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP) ## quality of recall and of learning on all data that is there, and speed
	$(BIN)/python benchmarks/quality.py
	$(BIN)/python benchmarks/latency.py --sizes 1000,10000
	$(BIN)/python benchmarks/encoding.py
	$(BIN)/python benchmarks/bulk.py --sizes 10000
	$(BIN)/python benchmarks/vectors.py --sizes 10000,100000
	$(BIN)/python benchmarks/keywords.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/grouping.py
	$(BIN)/python benchmarks/telling.py --sizes 1000,10000
	$(BIN)/python benchmarks/exchange.py
	$(BIN)/python benchmarks/importing.py

# Line by line, because pip searches for more than ten minutes for versions that suit all at once; one that cannot be had is left out. What
# drags in torch gets the CPU build that constraints.txt allows. ARGS="--only hardwon --sizes 10000" runs a part.
$(PEERS)/.set-up: pyproject.toml constraints.txt benchmarks/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet -c constraints.txt -e '.[fast]'
	-xargs -L 1 $(PEERS)/bin/python -m pip install --quiet -c constraints.txt < benchmarks/peers.txt
	touch $@

bench-peers: $(PEERS)/.set-up ## the same job by chromadb, lancedb, txtai, mem0 and others, in an environment of their own
	$(PEERS)/bin/python benchmarks/peers.py --base $(PEERS)/base.npz $(ARGS)

docs: $(STAMP) ## run every example in the documentation
	$(BIN)/python -m pytest tests/test_docs.py

clean: ## remove the virtual environments and what tools left behind
	rm -rf $(VENV) $(PEERS) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

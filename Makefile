# `make demo` and `make test` set everything up by themselves: python3 and make are all they need.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PAGE := src/regard/server/studio/page/index.html
STUDIO := $(shell find studio -name node_modules -prune -o -type f -not -path 'studio/tests/*' -print 2>/dev/null)

.PHONY: help setup studio demo docs test test-portable check format architecture clean

help:
	@echo "make demo          train a small translator (five to ten minutes) and show what it says"
	@echo "make docs          build the book, a site that needs no network"
	@echo "make test          all tests"
	@echo "make studio        build the page that regard studio shows"
	@echo "make test-portable all tests as other processors, numbers of threads and Pythons run them"
	@echo "make check         lint, format, types, layers"
	@echo "make format        mend what can be mended by itself"
	@echo "make architecture  write ARCHITECTURE.md from the package"

setup: $(READY)

$(READY): pyproject.toml requirements.lock
	@echo "setting up .venv (once; about a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet -c requirements.lock hatchling editables
	@$(BIN)/python -m pip install --quiet -c requirements.lock --no-build-isolation -e ".[dev]"
	@touch $(READY)

# Built again only when one of its sources is newer; node comes from the machine, else from PyPI.
studio: $(PAGE)

$(PAGE): $(STUDIO) hatch_build.py | $(READY)
	@echo "building the studio's page"
	@$(BIN)/python hatch_build.py

demo: $(READY) $(PAGE)
	@$(BIN)/python -m tools.demo

# First what the book takes from results, then the site, where a warning is an error. Its pictures need the page's script.
docs: $(READY) $(PAGE)
	@$(BIN)/python -m tools.book
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto build/book build/docs
	@echo "the book is built: build/docs/index.html"

test: $(READY) $(PAGE)
	@$(BIN)/python -m pytest -n 2 --dist loadgroup

test-portable: $(READY) $(PAGE)
	@$(BIN)/python -m tools.portable

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python hatch_build.py check

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

architecture: $(READY)
	@$(BIN)/python -m tools.architecture

clean:
	rm -rf .venv .venv-* demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache \
		studio/node_modules src/regard/server/studio/page

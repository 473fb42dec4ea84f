# Everything here works on a machine that has make, python3 (3.11 or newer) with venv, and access to PyPI.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test lint size bench soak docs reproduce clean

install: .venv/.all  ## the package with its extras, into .venv

demo: .venv/.all  ## from a log to decisions, with pictures, into demo/
	$(BIN)/python -m examples.demo --out demo

test: .venv/.dev lint  ## linters, types, import rules, every test
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

size:  ## lines by part, beside their budgets
	@$(PYTHON) tools/size.py

bench: .venv/.bench  ## speed beside other libraries, as ratios in one run, into benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.run $(ARGS)

soak: .venv/.dev  ## hostile calls and long random comparisons; takes minutes
	$(BIN)/python -m tests.soak $(ARGS)

docs: .venv/.docs  ## the documentation site, into site/
	$(BIN)/python -m tools.site

reproduce: .venv/.all  ## every figure, table and claim of the paper, into reproduce/; ARGS=--quick for a look
	$(BIN)/python -m paper $(ARGS)

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "meanbounds needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 (found: $$($(PYTHON) --version))"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.all .venv/.dev .venv/.bench .venv/.docs: .venv/.%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$*]"
	@touch $@

clean:
	rm -rf .venv demo site reproduce .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

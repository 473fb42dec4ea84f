# Everything here works on a bare machine that has only python3 (3.11 or newer) and make.
PYTHON ?= python3
BIN := .venv/bin

# Line coverage in percent that `make test` measured when this was last set; less fails. Kernels are left out, see
# [tool.coverage.run] in pyproject.toml. Python 3.12 and newer count lines almost for free; 3.11 uses coverage's own tracer.
COVERED := 98
COVERAGE_CORE = $(shell $(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")')

.PHONY: install demo test test-lowest dist soak lint size bench docs picture choices pending rivals gain others doubt reproduce clean kernels

install: .venv/.demo kernels  ## the packages, into .venv
	@echo "installed: $(BIN)/meanbounds --help says what it can do"

demo: .venv/.demo kernels  ## from a log to decisions, with pictures
	$(BIN)/meanbounds demo -o demo

# Each core starts with half of the tests and takes over from the other when it is done: what the tests of a file share is
# made once, not on both.
test: .venv/.dev kernels lint  ## linters, types, import rules, every test
	$(BIN)/python -m tests.warm
	COVERAGE_CORE=$(COVERAGE_CORE) $(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-fail-under=$(COVERED)

# Old packages use what newer ones below them have deprecated: those warnings, and only those, are no errors here.
test-lowest: .lowest/.installed  ## every test with the lowest versions that pyproject.toml allows
	@find src tests -name '*.nb[ic]' -delete
	.lowest/bin/python -m pytest -n 2 --dist worksteal -W default::DeprecationWarning -W default::PendingDeprecationWarning
	@find src tests -name '*.nb[ic]' -delete

# TESTS=quick or none runs fewer tests from the source archive; PYTHONS="3.12 3.13" tries the wheel with these alone, and
# EXTRAS="plots logs" with these extras alone.
dist: .venv/.dev  ## the archives of a release from HEAD, tried in clean environments; tests take half an hour
	$(BIN)/python tools/dist.py $(if $(TESTS),--tests $(TESTS)) $(if $(PYTHONS),--python $(PYTHONS)) \
	  $(if $(EXTRAS),--extras $(EXTRAS))

# SOAK_CALLS and SOAK_MUTANTS say how long, SOAK_SEED which random choices, PARTS="fuzz mutate" which parts.
soak: .venv/.dev kernels  ## a million hostile calls and 200,000 tampered states on every core; takes half an hour
	$(BIN)/python -m tests.soak $(PARTS)

size:  ## lines of source, shares of docstrings and comments, longest files and functions
	$(PYTHON) tools/measure.py src

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# `make bench` compares with other libraries. `make bench BASE=revision` compares the working tree with an older revision
# of this one: both run the same jobs in alternating processes, and it fails if a job is slower by more than 10% in three
# quarters of its turns. JOBS="GLUE OFUL" runs only the jobs whose names contain one of these words.
bench: .venv/.bench kernels  ## speed against other libraries, or against BASE=revision, as ratios
ifdef BASE
	$(BIN)/python -m benchmarks.compare $(BASE) $(JOBS)
else
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.serving --postgres --large 1000000
	$(BIN)/python -m benchmarks.others
endif

# QUICK=1 draws the pictures from fewer runs. Nothing is fetched once the packages are there; a warning is an error.
docs: .venv/.docs kernels  ## the documentation site, into site/html
	$(BIN)/python -m tools.site $(if $(QUICK),--quick)

picture: .venv/.demo kernels  ## the pictures of README and docs
	$(BIN)/meanbounds demo -o docs/images --picture-only
	$(BIN)/python -m benchmarks.cone
	$(BIN)/python -m benchmarks.theory
	$(BIN)/python -m benchmarks.trust
	$(BIN)/python -m benchmarks.naive

# SHARE=0.4 plays two of the five draws; KEPT=folder keeps what was played there, and goes on from it the next time.
choices: .venv/.bench kernels  ## what the choices of linear policies are worth, into docs/choices.md; takes a quarter of an hour
	$(BIN)/python -m benchmarks.choices $(if $(SHARE),--share $(SHARE)) $(if $(KEPT),--kept $(KEPT))

pending: .venv/.bench kernels  ## whether unanswered pulls should count, into docs/pending.md; takes some minutes
	$(BIN)/python -m benchmarks.pending

# QUICK=1 plays few worlds, for a look at the page.
rivals: .venv/.bench kernels  ## every policy in worlds of every kind, into docs/rivals.md; takes up to half an hour
	$(BIN)/python -m benchmarks.rivals $(if $(QUICK),--quick)
	$(BIN)/python -m benchmarks.others

# COLLECT=1 downloads the newest releases of the others and looks at them again.
others: .venv/.bench  ## beside other packages, into docs/others.md: features, and figures of RESULTS.md and rivals.md
	$(BIN)/python -m benchmarks.others $(if $(COLLECT),--collect)

gain: .venv/.bench kernels  ## what bounds are worth to each policy, into docs/gain.md; takes up to half an hour
	$(BIN)/python -m benchmarks.gain

doubt: .venv/.bench kernels  ## what trust in bounds costs and saves, into docs/doubt.md; takes two hours
	$(BIN)/python -m benchmarks.doubt --share 1

reproduce: .venv/.demo kernels  ## every figure and table of the paper, into reproduce and docs/claims.md
	$(BIN)/meanbounds reproduce -o reproduce
	cp reproduce/claims.md docs/claims.md

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "meanbounds needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 (found: $$($(PYTHON) --version))"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.demo .venv/.dev .venv/.bench .venv/.docs: .venv/.%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(if $(filter demo,$*),all,$*)]"
	@touch $@

.lowest/.installed: pyproject.toml
	$(PYTHON) -m venv .lowest
	.lowest/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.7
	.lowest/bin/uv pip install --quiet --python .lowest/bin/python --resolution lowest-direct -e ".[test]"
	@touch $@

# A compiled kernel is cached by the time stamp of its own file, not of the files it calls.
kernels: .venv/.kernels
.venv/.kernels: $(wildcard src/meanbounds/subgaussian.py src/meanbounds/kernels/*.py src/meanbounds/kernels/*/*.py) | .venv/bin/python
	@find src tests -name '*.nb[ic]' -delete
	@touch $@

clean:
	rm -rf .venv .lowest .coverage demo study site reproduce reproduce-quick .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

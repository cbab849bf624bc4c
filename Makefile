# Every target sets up what it needs; a fresh machine needs Python 3.11 or later, and make.
#   make quickstart   BERT against RoBERTa on the micro-world: leaderboard and report
#   make test         linters, types and tests
#   make check        these, and the audit of the pinned packages, which needs a network
#   make sbom         the installed packages as a CycloneDX file, sbom.json
#   make docs         documentation and API reference, in site/
#   make reports      reports/ and its board again, from the archives beside the reports; trains nothing
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
AUDIT_STAMP := $(VENV)/audit-installed
JOBS ?= 2

.PHONY: quickstart install test campaigns check audit sbom lint schema docs reports clean

quickstart: $(STAMP)
	$(BIN)/harness run experiments/quickstart.yaml

install: $(STAMP)

# Two workers of one thread each are faster than one of two: the models are small. Bytecode is
# kept, or both workers and every process that a test starts would compile all modules again.
test: lint
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

# Tests that take minutes: long training and whole matrices, of which `make test` has a covering part.
campaigns: $(STAMP)
	$(BIN)/python -m pytest -m campaign

check: test audit

# Known vulnerabilities of the pinned packages; says so where the database cannot be reached.
audit: $(AUDIT_STAMP)
	$(BIN)/python .ci/audit.py

sbom: $(AUDIT_STAMP)
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-format JSON --output-file sbom.json $(BIN)/python

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

schema: $(STAMP)
	$(BIN)/harness schema > experiments/experiment.schema.json

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

reports: $(STAMP)
	$(BIN)/python docs/make_reports.py

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or later is needed, but $(PYTHON) is not: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

$(AUDIT_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[audit]"
	@touch $@

clean:
	rm -rf $(VENV) sbom.json runs site build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

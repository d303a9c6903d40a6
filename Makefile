# Two commands matter: `make demo` shows the library at work, `make test` proves it. Both set themselves up.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint docs facts wheel clean

demo: $(VENV)/ready
	$(BIN)/dalembert demo --to out/demo.html

test: lint
	$(BIN)/pytest -n 2

lint: $(VENV)/ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

facts: $(VENV)/ready
	$(BIN)/python .ci/facts.py

wheel: $(VENV)/ready
	$(BIN)/python .ci/wheel.py

docs: $(VENV)/ready-to-test
	for example in examples/[!_]*.py; do echo $$example; $(BIN)/python $$example || exit 1; done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dalembert needs Python 3.11 or newer; \
	try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[report]"
	$(PIP) -e ".[peers]" || echo "Pinocchio, MuJoCo or example robots cannot be installed here; going on without"
	touch $@

$(VENV)/ready-to-test: $(VENV)/ready
	$(PIP) -e ".[test]"
	$(PIP) -e ".[docs,plot]" || echo "mkdocs-material or matplotlib cannot be installed here; going on without"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis site out

# Two commands matter: `make demo` shows the library at work, `make test` proves it. Both set themselves up.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint clean

demo: $(VENV)/ready
	$(BIN)/dalembert demo

test: lint
	$(BIN)/pytest -n 2

lint: $(VENV)/ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dalembert needs Python 3.11 or newer; \
	try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	$(PIP) -e ".[peers]" || echo "Pinocchio, MuJoCo or example robots cannot be installed here; going on without"
	touch $@

$(VENV)/ready-to-test: $(VENV)/ready
	$(PIP) -e ".[test]"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Two commands matter: `make demo` shows the library at work, `make test` proves it. Both set themselves up.
# `make test` takes a coffee break: every law, on few examples. `make test-all` goes on with what that leaves out, and
# with the code and the last digits of other processors, as continuous integration does.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo peers test test-rest test-digits test-all attack bounds lint docs facts wheel lines clean

demo: $(VENV)/ready
	$(BIN)/dalembert demo --to out/demo.html
	@test -e $(VENV)/peers || echo "To see Pinocchio and MuJoCo beside it (about 1 GB): make peers demo"

peers: $(VENV)/peers

# Each worker begins with a run of whole files, whose tests share mechanisms and kernels, and helps others at the end.
PYTEST := $(BIN)/pytest -n auto --dist worksteal

test: lint
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not slow"

test-rest: $(VENV)/ready-to-test
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m left_out

test-digits: $(VENV)/ready-to-test
	$(BIN)/python .ci/digits.py

test-all:
	$(MAKE) test
	$(MAKE) test-rest
	$(MAKE) test-digits

# Ten minutes of damaged files, failing disks, killed processes, fenced memory and large robots; other ones every day.
attack: $(VENV)/ready-to-test
	$(BIN)/python tests/attack/attack.py

bounds: $(VENV)/ready
	$(BIN)/python .ci/bounds.py

lint: $(VENV)/ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

facts: $(VENV)/ready
	$(BIN)/python .ci/facts.py

wheel: $(VENV)/ready
	$(BIN)/python .ci/wheel.py

docs: $(VENV)/ready-to-test
	mkdir -p out
	for example in examples/[!_]*.py examples/stories/*.py; do echo $$example; \
	$(BIN)/python $$example > out/$$(basename $$example .py).txt || exit 1; done
	$(BIN)/jupyter nbconvert --log-level WARN --to notebook --execute --output-dir out/notebooks examples/notebooks/*.ipynb
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dalembert needs Python 3.11 or newer; \
	try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[report]"
	touch $@

$(VENV)/peers: $(VENV)/ready
	$(PIP) -e ".[peers]" || echo "Pinocchio, MuJoCo or example robots cannot be installed here; going on without"
	touch $@

$(VENV)/ready-to-test: $(VENV)/peers
	$(PIP) -e ".[test]"
	$(PIP) -e ".[docs,plot]" || echo "mkdocs-material or matplotlib cannot be installed here; going on without"
	touch $@

# Lines of every room: size is a cost.
lines:
	@$(PYTHON) .ci/lines.py

clean:
	rm -rf $(VENV) .kernel_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis site out

# Everything from nothing but Python 3.10, for the tests 3.11 as well, and a C++ compiler. `make` alone lists the targets.

PYTHON ?= python3.10
VENV := .venv
BIN := $(VENV)/bin
# PyTorch has an environment of its own: MXNet and OneFlow want a NumPy that it has left behind.
PYTHON_TORCH ?= python3.11
VENV_TORCH := .venv-torch
BIN_TORCH := $(VENV_TORCH)/bin
# Of the versions that setup.cfg names, the one that is tested here.
TORCH := 2.13
# With what PyTorch's tests stand on, which is tried there on a newer Python and a newer NumPy.
TESTS_TORCH := tests/torch tests/shipping/test_shipped_registrars.py tests/test_builder.py \
	tests/test_docstring_examples.py tests/test_documentation.py tests/test_loader.py \
	$(addprefix tests/kernel/test_,elementwise.py native.py number_checks.py random_kernels.py reference.py)
# Twice quiet: errors only.
PIP = $(@D)/bin/python -m pip install -qq --disable-pip-version-check
METADATA := setup.cfg pyproject.toml
COMPILERS := $(if $(filter default,$(origin CXX)),g++ c++ clang++,'$(CXX)')

.DEFAULT_GOAL := help
# Two pips must not work on one environment at once, whatever -j says.
.NOTPARALLEL:
.PHONY: help tools tools-torch venv demo test docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(VENV)/.installed ## make .venv (Python 3.10), with pykernels installed for editing

demo: $(VENV)/.installed-demo ## train a network of our ops on handwritten digits, beside the frameworks' own
	$(BIN)/python examples/digits.py

test: $(VENV)/.installed-test $(VENV_TORCH)/.installed-test ## check style and types, run all tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -ra
	$(BIN_TORCH)/python -m pytest -ra $(TESTS_TORCH)

docs: $(VENV)/.installed-docs ## build the documentation, build/docs/index.html
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

clean: ## remove what building, testing and the demo leave behind (.venv and .venv-torch stay)
	rm -rf build dist *.egg-info demo_output log .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path './$(VENV)*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# Both are tried, not looked up: a pyenv shim is there even when the interpreter behind it is not.
tools:
	@$(PYTHON) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, 10))' 2>/dev/null || { \
	  echo "pykernels needs Python 3.10 with venv, and '$(PYTHON)' is not that: install python3.10 (Debian, Ubuntu:" \
	    "python3.10-venv as well), or name it: make PYTHON=/path/to/python3.10" >&2; exit 1; }
	@for cxx in $(COMPILERS); do \
	  echo 'int main() { return 0; }' | $$cxx -x c++ -fsyntax-only - 2>/dev/null && exit 0; done; \
	echo "pykernels needs a C++ compiler, and none works of:" $(COMPILERS)": install g++ or clang++, or name one:" \
	  "make CXX=/path/to/c++" >&2; exit 1

tools-torch:
	@$(PYTHON_TORCH) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
	  echo "the tests for PyTorch need Python 3.11 with venv, and '$(PYTHON_TORCH)' is not that: install python3.11 (Debian," \
	    "Ubuntu: python3.11-venv as well), or name it: make PYTHON_TORCH=/path/to/python3.11" >&2; exit 1; }

$(VENV)/.created: | tools
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(METADATA) $(VENV)/.created
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-demo: $(METADATA) $(VENV)/.created
	@echo "installing what the demo needs: MXNet, scikit-learn, matplotlib"
	@$(PIP) --editable '.[mxnet,demo]'
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed-demo
	@echo "installing what the tests need: OneFlow above all, and ONNX Runtime"
	@$(PIP) --editable '.[mxnet,oneflow,onnx,popxl,demo,docs,test]'
	@touch $@

$(VENV)/.installed-docs: $(METADATA) $(VENV)/.created
	@echo "installing what the documentation is built with"
	@$(PIP) --editable '.[docs,onnx]'
	@touch $@

$(VENV_TORCH)/.created: | tools-torch tools
	@echo "setting up $(VENV_TORCH)"
	@$(PYTHON_TORCH) -m venv $(VENV_TORCH)
	@touch $@

$(VENV_TORCH)/.installed-test: $(METADATA) $(VENV_TORCH)/.created
	@echo "installing what the tests for PyTorch need"
	@$(PIP) --editable '.[torchonnx,test]' 'torch == $(TORCH).*'
	@touch $@

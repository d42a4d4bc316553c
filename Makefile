PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
VSCODE := editors/vscode
VSCODE_INSTALLED := $(VSCODE)/node_modules/.package-lock.json

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: model ## set up, fetch the model, start the server and complete in real files
	$(BIN)/python -m demo

check: $(INSTALLED) ## style, types, import rules and the fast tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory check-vscode; \
	else echo "npm is not installed: the VS Code extension is not checked"; fi
	$(BIN)/pytest -q -m "not model and not slow"

test: check model ## everything: `check`, then the slow tests and those on the real model
	$(BIN)/pytest -q -m "model or slow"

bench: model ## HumanEval-Infilling, every 10th single-line task: DATA=path PEER="--peer-bin … --peer-gguf …"
	$(BIN)/clover-write bench hei $(if $(DATA),--data $(DATA)) --kind single-line --every 10 $(PEER)

gpu: $(INSTALLED) ## measure the kernels and a whole step of a synthetic Clover-35B on the card at hand (< 8 minutes)
	$(BIN)/python -m bench.gpu

recording: model ## draw docs/watch.svg: a completion while it is written
	$(BIN)/python -m demo.record_watch

model: $(INSTALLED) ## fetch the embedded model (491 MB, once)
	$(BIN)/clover-write models pull coder-0.5b

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --group dev
	touch $@

vscode: $(VSCODE_INSTALLED) ## package the VS Code extension: editors/vscode/dist/clover-write.vsix (npm)
	cd $(VSCODE) && npm run --silent package

check-vscode: $(VSCODE_INSTALLED) ## lint, types and unit tests of the VS Code extension (npm)
	cd $(VSCODE) && npm run --silent check

$(VSCODE_INSTALLED): $(VSCODE)/package-lock.json
	cd $(VSCODE) && npm ci --no-audit --no-fund --silent
	touch $@

editors: ## the editors that tests/editors drives, into the user's cache folder
	tests/editors/install-vscode newest

neovim: ## the Neovims that tests/editors drives, into the user's cache folder
	tests/editors/install-neovim

clients: ## the packages that tests/editors drives under Node (npm)
	cd tests/editors/node && npm ci --no-audit --no-fund --silent

clean: ## remove the virtual environment and all caches of the checkout
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis tests/editors/node/node_modules $(VSCODE)/node_modules $(VSCODE)/dist $(VSCODE)/build

.PHONY: help demo check test bench gpu recording model vscode check-vscode editors neovim clients clean
.DEFAULT_GOAL := help

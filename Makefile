# What people run here. `make help` lists it.

.DEFAULT_GOAL := help
.PHONY: help run test bench bench-index lint lint-deps fmt

# Tools that are built for this project live with its other build output, not in the home directory.
TOOLS := target/tools
DENY := $(firstword $(wildcard $(TOOLS)/bin/cargo-deny) $(shell command -v cargo-deny))

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start the server on its embedded default
	cargo run --release --bin standings -- serve

test: ## Install what the tests need, then run all of them
	scripts/install-test-deps.sh
	cargo test --workspace --all-targets
	cargo test --workspace --doc

bench: ## Reproduce the README's numbers; installs redis-server where it is missing
	scripts/install-test-deps.sh redis
	cargo run --release -p standings-bench --bin bench-index -- --redis

bench-index: ## The rank index alone; ARGS="--help" shows what can be chosen
	cargo run --release -p standings-bench --bin bench-index -- $(ARGS)

lint: ## Formatting, clippy, and cargo-deny where it is installed
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
ifeq ($(DENY),)
	@echo "cargo-deny is not installed, so licences and advisories were not checked: make lint-deps"
else
	$(DENY) check
endif

lint-deps: ## Build cargo-deny for `make lint`; takes minutes, once
	cargo install --locked --root $(TOOLS) cargo-deny

fmt: ## Format everything
	cargo fmt --all

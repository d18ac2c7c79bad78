# What people run here. `make help` lists it.

.DEFAULT_GOAL := help
EXAMPLES := tournament puzzle-game role-playing-bot commit-challenge

.PHONY: help run test fuzz-api bench bench-index bench-http bench-history examples $(EXAMPLES:%=example-%) lint lint-deps fmt

# Tools that are built for this project live with its other build output, not in the home directory.
TOOLS := target/tools
DENY := $(firstword $(wildcard $(TOOLS)/bin/cargo-deny) $(shell command -v cargo-deny))

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start the server on its embedded default
	cargo run --release --bin standings -- serve

test: ## Install what the tests need, then run all of them
	scripts/install-test-deps.sh
	cargo test --workspace --all-targets
	cargo test --workspace --doc
	scripts/fuzz-api.sh 10

fuzz-api: ## Call every operation of the published document with generated data; CASES=1000 for long
	scripts/fuzz-api.sh $(CASES)

examples: $(EXAMPLES:%=example-%) ## Run the four examples; `make example-tournament` runs one

$(EXAMPLES:%=example-%): example-%:
	cargo build --quiet -p standings-server -p game-service
	examples/$*/run.sh

bench: ## Reproduce the README's numbers; installs redis-server where it is missing
	scripts/install-test-deps.sh redis
	cargo run --release -p standings-bench --bin bench-index -- --redis

bench-index: ## The rank index alone; ARGS="--help" shows what can be chosen
	cargo run --release -p standings-bench --bin bench-index -- $(ARGS)

bench-http: ## The HTTP API beside Redis; PLAYERS=25000000 for the full size, ARGS="--help" for the rest
	scripts/install-test-deps.sh redis
	cargo build --release --bin standings
	cargo run --release -p standings-bench --bin bench-http -- $(if $(PLAYERS),--players $(PLAYERS)) $(ARGS)

bench-history: ## Freezing a board under load, friends, a year of snapshots; PLAYERS=25000000 for the full size
	cargo run --release -p standings-bench --bin bench-history -- freeze $(if $(PLAYERS),--players $(PLAYERS))
	cargo run --release -p standings-bench --bin bench-history -- year

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

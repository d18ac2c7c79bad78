# What people run here. `make help` lists it.

.DEFAULT_GOAL := help
# Parts of the benchmark, in order. None runs beside another: they share the machine with what they measure.
BENCHES := index http named restart scale history midnight soak
EXAMPLES := tournament puzzle-game role-playing-bot commit-challenge

.PHONY: help run test test-faults fuzz fuzz-api bench bench-build $(BENCHES:%=bench-%) bench-sql bench-docs examples $(EXAMPLES:%=example-%) lint lint-deps fmt

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

test-faults: ## The fault suite in its long form, with a summary of what was tried; takes some 20 minutes
	scripts/install-test-deps.sh
	scripts/test-faults.sh

fuzz: ## Fuzz the decoders and parsers, SECONDS=60 each
	scripts/fuzz.sh $(or $(SECONDS),60)

fuzz-api: ## Call every operation of the published document with generated data; CASES=1000 for long
	scripts/fuzz-api.sh $(CASES)

examples: $(EXAMPLES:%=example-%) ## Run the four examples; `make example-tournament` runs one

$(EXAMPLES:%=example-%): example-%:
	cargo build --quiet -p standings-server -p game-service
	examples/$*/run.sh

BENCH_FLAGS = --players $(or $(PLAYERS),1000000) $(ARGS)

bench: ## All figures and the table of targets; PLAYERS=25000000 for the full run, SECONDS=60 for a short soak
	@failed=; for part in $(BENCHES); do $(MAKE) --no-print-directory bench-$$part || failed="$$failed $$part"; done; \
	$(MAKE) --no-print-directory bench-docs; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

bench-build:
	scripts/install-test-deps.sh redis
	cargo build --release -p standings-server
	cargo build --release -p standings-bench

bench-index: bench-build ## The rank index beside Redis; ARGS="--help" shows what every part can be told
	cargo run --quiet --release -p standings-bench -- index $(BENCH_FLAGS)

bench-http: bench-build ## The HTTP API beside Redis
	cargo run --quiet --release -p standings-bench -- http $(BENCH_FLAGS)

bench-named: bench-build ## Players with names: clients that page beside submissions; ARGS="--beside PROGRAM" takes turns with another build
	cargo run --quiet --release -p standings-bench -- named $(BENCH_FLAGS)

bench-restart: bench-build ## Import, memory, stop and restart beside Redis
	cargo run --quiet --release -p standings-bench -- restart $(BENCH_FLAGS)

bench-scale: bench-build ## Growth with players, boards, closed seasons and history
	cargo run --quiet --release -p standings-bench -- scale $(BENCH_FLAGS)

bench-history: bench-build ## Freezing a board under load, friends, a year of snapshots
	cargo run --quiet --release -p standings-bench -- history $(BENCH_FLAGS)

bench-midnight: bench-build ## 100,000 boards whose seasons end at once; BOARDS=10000 for fewer
	cargo run --quiet --release -p standings-bench -- midnight $(if $(BOARDS),--boards $(BOARDS)) $(BENCH_FLAGS)

bench-soak: bench-build ## The design's own load for ten minutes; SECONDS=60 for one
	cargo run --quiet --release -p standings-bench -- soak $(if $(SECONDS),--seconds $(SECONDS)) $(BENCH_FLAGS)

bench-sql: bench-build ## The same questions to MariaDB and PostgreSQL, for the table only; not part of `make bench`
	scripts/install-test-deps.sh mariadb postgres
	cargo run --quiet --release -p standings-bench -- sql $(BENCH_FLAGS)

bench-docs: ## The table of targets, charts and the figures of docs/performance.md from bench/results; measures nothing
	cargo run --quiet --release -p standings-bench -- report

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

# `make` lists all targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Queries are checked against the committed .sqlx. A DATABASE_URL from the user's shell would send the macros of our
# dependencies to that database instead, so no build sees it.
CARGO := env -u DATABASE_URL SQLX_OFFLINE=true cargo
APALIS_MIGRATIONS = $$($(CARGO) metadata --format-version 1 --locked | \
	grep -o '[^"]*/apalis-postgres-[^"/]*/Cargo.toml' | head -n 1 | xargs dirname)/migrations

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{ printf "  %-14s %s\n", $$1, $$2 }'

# --- Run ---

.PHONY: setup
setup: ## Install what building and testing needs (Debian, Ubuntu)
	@scripts/setup

.PHONY: build
build: ## Build the release binaries
	$(CARGO) build --release --workspace --locked

.PHONY: demo
demo: setup ## From nothing to filled marts, on a PostgreSQL of its own
	$(CARGO) build --release --locked -p vitrina
	"$${CARGO_TARGET_DIR:-target}/release/vitrina" demo

.PHONY: up
up: ## Start everything with docker compose and say where it is; WORKERS=3 for more workers
	@scripts/compose-env
	@WORKERS="$(WORKERS)" scripts/compose-up
	@scripts/compose-urls

.PHONY: down
down: ## Stop everything that `make up` started; the data stays
	docker compose down

.PHONY: migrate-db
migrate-db: ## Apply the migrations to the database of `make up`
	docker compose run --rm migrate

.PHONY: logs
logs: ## Follow the logs of `make up`
	docker compose logs -f

# --- Check ---

.PHONY: fmt
fmt: ## Format the code
	$(CARGO) fmt --all

.PHONY: lint
lint: ## Check formatting, lints and documentation
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --workspace --document-private-items --locked

.PHONY: test
test: setup ## Install what is missing, lint, and run all tests; WITHOUT_ELASTICSEARCH=1 skips those that need a node
	@scripts/setup steps prometheus $(if $(WITHOUT_ELASTICSEARCH),,elasticsearch)
	@$(MAKE) --no-print-directory lint
	scripts/with-elasticsearch $(if $(WITHOUT_ELASTICSEARCH),--without-elasticsearch) \
		scripts/with-postgres $(CARGO) test --workspace --locked --no-fail-fast
	@$(MAKE) --no-print-directory bench-test
	@echo "all tests passed"

# The smallest size: do the parts still follow each other? What they measure here means nothing.
.PHONY: bench-test
bench-test:
	$(CARGO) build --locked -p vitrina -p vitrina-bench
	FILMS=500 RATINGS=500 REPEATS=1 PARTS=loads,ratings,neighbours,memory,reconcile \
		scripts/with-postgres "$${CARGO_TARGET_DIR:-target}/debug/vitrina-bench" load

.PHONY: deny
deny: ## Check licences and advisories of the dependencies
	@if cargo deny --version >/dev/null 2>&1; then $(CARGO) deny check; \
	else echo "cargo-deny is not installed, nothing was checked: cargo install --locked cargo-deny"; fi

.PHONY: schemathesis
schemathesis: setup ## Try the API with generated requests against its OpenAPI description
	@scripts/setup schemathesis
	scripts/schemathesis

.PHONY: python-client
python-client: setup ## Generate a Python client from the OpenAPI description, and fail on any warning
	@scripts/setup python-client
	scripts/python-client

# Ratios of one run; a quick one: make bench FILMS=100000 RATINGS=300000 REPEATS=1 (docs/BENCHMARKS.md)
.PHONY: bench
bench: ## Measure loads, wake-ups and memory beside bare SQL; PARTS=steps for steps
	@scripts/setup $(if $(findstring steps,$(PARTS)),psycopg)
	$(CARGO) build --release --locked -p vitrina -p vitrina-bench
	scripts/with-postgres --durable "$${CARGO_TARGET_DIR:-target}/release/vitrina-bench" load

.PHONY: bench-elasticsearch
bench-elasticsearch: ## Measure loads into an index beside a bare bulk loop
	@scripts/setup elasticsearch
	$(CARGO) build --release --locked -p vitrina -p vitrina-bench
	PARTS=elasticsearch FILMS=$${FILMS:-200000} RATINGS=$${RATINGS:-1000} \
		VITRINA_TEST_ELASTICSEARCH_HEAP=$${VITRINA_TEST_ELASTICSEARCH_HEAP:-2g} scripts/with-elasticsearch \
		scripts/with-postgres --durable "$${CARGO_TARGET_DIR:-target}/release/vitrina-bench" load

.PHONY: bench-api
bench-api: ## Measure the API's throughput
	@scripts/setup bench
	$(CARGO) build --release --locked -p vitrina -p vitrina-bench
	scripts/with-postgres --durable "$${CARGO_TARGET_DIR:-target}/release/vitrina-bench" api

# --- Maintain ---

.PHONY: sqlx-prepare
sqlx-prepare: ## Write .sqlx anew after a query or a migration has changed
	scripts/with-postgres $(MAKE) --no-print-directory sqlx-cache

# The migrations are applied without our program, which does not build while a query is missing from .sqlx; grants are
# left out, since neither the shape of a query nor the schema depends on them.
FUNCTIONS = $$(sed -n 's|^    "\(etl[a-z_]*\.[a-z_]*\)",$$|migrations/functions/\1.sql|p' shared/src/migrate/functions.rs)

.PHONY: psql-migrate
psql-migrate:
	for file in "$(APALIS_MIGRATIONS)"/*.sql migrations/0*.sql $(FUNCTIONS); do \
		PGOPTIONS='-c client_min_messages=warning' psql --no-psqlrc --quiet --single-transaction --set ON_ERROR_STOP=1 \
			--file "$$file" "$$VITRINA_TEST_DATABASE_URL" >/dev/null; \
	done

.PHONY: sqlx-cache
sqlx-cache: psql-migrate
	rm -rf target/sqlx-cache && mkdir -p target/sqlx-cache
	find shared api worker cli -name '*.rs' -exec touch {} +
	env -u DATABASE_URL SQLX_OFFLINE=false SQLX_OFFLINE_DIR="$$PWD/target/sqlx-cache" \
		VITRINA_SQLX_URL="$$VITRINA_TEST_DATABASE_URL" cargo check --workspace --all-targets --locked
	rm -rf .sqlx && mv target/sqlx-cache .sqlx

.PHONY: schema
schema: ## Write migrations/schema.sql and migrations/checksums anew after a migration or a function has changed
	scripts/with-postgres $(MAKE) --no-print-directory schema-files

# A migration that has its line is never edited; a change of a function adds a line.
.PHONY: schema-files
schema-files: psql-migrate
	for file in migrations/0*.sql; do \
		grep -q "^$$(basename "$$file") " migrations/checksums || \
			echo "$$(basename "$$file") $$(sha256sum <"$$file" | cut -d ' ' -f 1)" >>migrations/checksums; \
	done
	functions="functions $$(LC_ALL=C; cat migrations/functions/*.sql | sha256sum | cut -d ' ' -f 1)"; \
		[ "$$(grep '^functions ' migrations/checksums | tail -n 1)" = "$$functions" ] || echo "$$functions" >>migrations/checksums
	scripts/schema "$$VITRINA_TEST_DATABASE_URL" >migrations/schema.sql

# The only entry points: people, CI and plugin managers call these targets.
# `make build` needs only cargo. The others put what they need into .deps/ (see scripts/setup.sh).

.DEFAULT_GOAL := help
.PHONY: help setup install build build-dev dist check-library release-files publish demo test test-all compat fuzz memcheck soak bench lint advisories fmt doc pictures snapshots

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install all tools for development into .deps/
	@scripts/setup.sh all

install: ## Install the native library: downloaded where a release fits these sources, else built
	@nvim --headless -l build.lua

build: ## Build the native library
	@scripts/build.sh

build-dev: ## Build it as the tests load it: in seconds after a change
	@scripts/build.sh dev

.deps: # before the library: with this folder, scripts/build.sh expects further builds and keeps cargo's cache
	@mkdir -p $@

dist: .deps ## Make the file of a release in dist/, and check it (TARGET=aarch64-unknown-linux-musl, …)
	@scripts/dist.sh $(TARGET)

check-library: .deps ## Check the library in build/ as one that is released
	@scripts/check-library.sh build/claude_ide_native.so "" symbols needed size stripped

release-files: ## Write checksums and SBOM of the libraries in dist/ (RELEASE=edge, or a tag)
	@scripts/release-files.sh $(RELEASE)

publish: ## Publish dist/ as a release of GitHub (RELEASE=edge, or a tag)
	@scripts/publish.sh $(RELEASE)

demo: .deps build ## Try it: the real CLI beside Neovim, no account needed (LIVE=1: your own)
	@scripts/demo.sh

test: .deps ## Run the gate: Rust, one Neovim, four scenarios with the real CLI
	@scripts/test.sh --gate

test-all: .deps build ## Run all tests: three Neovims, the real CLI, a browser, language servers, other agents
	@scripts/test.sh

snapshots: .deps build-dev ## Record the screens anew that the tests compare with
	@scripts/test.sh --numprocesses 0 --update-screens -k test_screens

compat: .deps build-dev ## Run the scenarios of the real CLI with its oldest, pinned and newest version (CLI=2.1.330)
	@scripts/compat.sh $(CLI)

fuzz: ## Give each reader of foreign input bytes at random, for SECONDS=60
	@scripts/fuzz.sh $(or $(SECONDS),60)

memcheck: .deps build-dev ## Run tests of the boundary with Lua under valgrind
	@scripts/memcheck.sh

soak: .deps build-dev ## Let each Neovim work for MINUTES=20, with scripted CLIs, chats, the page and random keys
	@scripts/test.sh --numprocesses 3 -rP --soak $(or $(MINUTES),20) tests/nvim/test_soak.py tests/nvim/test_random_keys.py

bench: .deps build ## Measure speed against a bare TCP loopback
	@scripts/bench.sh

lint: .deps build ## Check formats, types, licences, docs and the library's symbols
	@scripts/lint.sh

advisories: .deps ## Look for known vulnerabilities of the library's dependencies (asks github.com)
	@scripts/setup.sh lint && .deps/cargo/bin/cargo-deny check advisories

fmt: ## Format all sources
	@scripts/fmt.sh

pictures: .deps build ## Take the pictures of the README anew
	@scripts/pictures.sh

doc: ## Write doc/claude-ide.txt anew
	@scripts/doc.sh

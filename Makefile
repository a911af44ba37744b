# What a newcomer types. Each target is a few lines; logic lives in programs (tests/bench, tests/tools).
# CARGO_TARGET_DIR moves what is built for this machine; guests always go to target-plugins/.

CARGO ?= cargo
BUILT := $(or $(CARGO_TARGET_DIR),target)
# Profile `plugin` builds a changed rule in seconds; `plugin-release` takes longer, for code to install or to measure.
WASM := --target wasm32-wasip2 --target-dir target-plugins
GUEST := $(CARGO) build --profile plugin $(WASM)
PLUGINS := -p fleet -p clearing -p wallet -p hello-plugin -p sandbox-providers
# Components only: they have nothing to test on this machine.
NOT_NATIVE := --exclude misbehave --exclude chameleon --exclude outsider --exclude reader --exclude greeter

.PHONY: help run host test check plugins plugins-release guests bench soak soak-kill9 soak-tests demo-swap setup browser conformance

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Plugins and host at the same time: the last crate of the host is one unit of code, and leaves a core free.
run: ## build everything and serve on 127.0.0.1:8080 (operators: 9090); flags: make run ARGS="--listen 127.0.0.1:8081"
	$(MAKE) --jobs=2 plugins host
	exec $(BUILT)/release/tenon serve $(ARGS)

host: setup # the program itself, optimised
	$(CARGO) build --release -p tenon

# Plugins and lints at the same time: while one compiles a single large crate, the other has a core.
test: browser conformance ## everything that must hold, about half an hour from nothing
	$(MAKE) --jobs=3 plugins guests check
	CARGO="$(CARGO)" sh tests/tools/test.sh --workspace $(NOT_NATIVE)

check: setup ## formatting and lints
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(NOT_NATIVE) -- -D warnings

plugins: setup ## build the plugins into target-plugins/; a running host swaps them in
	$(GUEST) $(PLUGINS)

plugins-release: setup ## build the plugins optimised, to install them: target-plugins/wasm32-wasip2/plugin-release/
	$(CARGO) build --profile plugin-release $(WASM) $(PLUGINS)

guests: setup ## build the misbehaving components that tests need
	$(GUEST) -p clockwork -p porter -p keyholder -p misbehave -p chameleon -p outsider -p reader

bench: plugins-release ## measure against the peers, write target/bench.json and the table of docs/benchmarks.md; short run: ARGS=--quick
	$(CARGO) build --profile plugin-release $(WASM) -p greeter
	$(CARGO) build --release -p tenon -p tenon-bench -p tenon-native
	$(BUILT)/release/bench --table docs/benchmarks.md $(ARGS)

soak: soak-kill9 soak-tests ## the long versions: hours; its two parts can be run in pieces

soak-kill9: plugins guests ## kill the program 500 times in each scenario; a piece: ARGS="--only drivers --rounds 50 --first-round 100"
	$(CARGO) build --release -p tenon -p tenon-bench
	$(BUILT)/release/kill9 --rounds 500 $(ARGS)

soak-tests: plugins guests ## tests with their long rounds; a piece: TESTS=crash::
	CARGO="$(CARGO)" TENON_SOAK=1 TESTS="$(TESTS)" sh tests/tools/test.sh --release -p tenon -p tenon-tests

demo-swap: guests ## watch a plugin being replaced under load
	$(CARGO) build --release -p tenon -p tenon-bench
	$(BUILT)/release/demo-swap $(ARGS)

setup: # what cannot come from cargo: a C compiler, the target of guests
	@sh tests/tools/setup.sh

browser: # what tests of pages open them with; without it they are skipped
	@sh tests/tools/setup.sh browser

conformance: # clients and testers that others wrote, which the interfaces are held against; without them those tests are skipped
	@sh tests/tools/conformance.sh

# Thin targets over cmake, ctest and the scripts of tools/. `make` alone explains them.

PRESET ?= dev
JOBS   ?= $(shell nproc)
SHOW   ?= build/$(PRESET)/bin/nebis-order-show $(if $(ONCE),--once)
ARGS   ?=
STORE  ?=
GATE   ?=
SERVERS ?= redis redis-acl redis-tls redis-sentinel redis-cluster postgres postgres-tls mariadb mariadb-tls etcd etcd-tls etcd-cluster zookeeper zookeeper-cluster

# g++ 12's ThreadSanitizer can't run where the kernel scatters addresses over 32 bits; where it may, turn that off.
FIXED  := $(shell setarch -R true 2>/dev/null && echo setarch -R)

BUILD   = cmake --preset $(1) >/dev/null && cmake --build --preset $(1) -j$(JOBS)

.DEFAULT_GOAL := help
.PHONY: help deps build run run-cluster servers test sanitize explore torture bench bench-engines coverage lint fmt install clean

help:      ## this text
	@sed -n 's/^\([a-z-]*\): *[^#]*## /  make \1|/p' $(MAKEFILE_LIST) | column -t -s'|'
	@echo "Variables: PRESET=$(PRESET) JOBS=$(JOBS) ONCE=1 (run: end after the show) ARGS=… (run-cluster, explore, torture, bench)"

deps:      ## install what is missing (Debian 12); does nothing when all is there
	@tools/deps

build: deps  ## build everything into build/$(PRESET)/
	$(call BUILD,$(PRESET))

run: deps  ## the order service, shown on real HTTP; ONCE=1 ends after the show
	$(call BUILD,$(PRESET)) --target nebis-order-show
	$(SHOW)

run-cluster: deps  ## three of them, Redis with Sentinels and a database, killed again and again (STORE=postgres, mysql)
	$(call BUILD,$(PRESET)) --target nebis-order-cluster
	build/$(PRESET)/bin/nebis-order-cluster --store $(or $(STORE),postgres) $(ARGS)

servers: deps  ## real servers on free loopback ports, addresses printed; until Ctrl-C (SERVERS=…)
	@tools/servers up $(SERVERS)

test: build  ## all tests but the long ones
	ctest --preset $(PRESET) -j2

sanitize: deps  ## unit, race and kill tests under ThreadSanitizer, then Address- and UndefinedBehaviorSanitizer
	$(call BUILD,tsan)
	$(FIXED) ctest --preset tsan -j2
	$(call BUILD,asan)
	ctest --preset asan -j2

explore: deps  ## every interleaving of the protocol's machines; a violation prints its shortest trace
	$(call BUILD,release) --target nebis-explore
	build/release/bin/nebis-explore $(ARGS)

torture: deps  ## the order service under load, killed and stopped at random, then audited (STORE=… GATE=…)
	$(call BUILD,release) --target nebis-torture
	build/release/bin/nebis-torture $(if $(STORE),--store $(STORE)) $(if $(GATE),--gate $(GATE)) $(ARGS)

bench: deps  ## measure against the floor; one `bound` line each
	$(call BUILD,release) --target nebis-bench
	build/release/bin/nebis-bench $(ARGS)

bench-engines: deps  ## the same with Redis and PostgreSQL, on servers of its own
	$(call BUILD,release) --target nebis-bench-engines
	build/release/bin/nebis-bench-engines $(ARGS)

coverage: deps  ## lines and branches of src/protocol and src/identify
	@tools/coverage $(JOBS)

lint: deps  ## formatting, clang-tidy, dependency arrows, headers alone, feature and fault tables, hygiene
	@tools/lint/all

fmt:       ## format the sources in place
	@tools/lint/format --fix

install: deps  ## release build into PREFIX (default build/prefix)
	$(call BUILD,release)
	cmake --install build/release --prefix $(or $(PREFIX),build/prefix)

clean:     ## remove build/
	rm -rf build

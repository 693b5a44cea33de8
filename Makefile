# clrprof. "make help" lists the targets. Needed: Go, gcc, npm, git.

SHELL      := /bin/bash
.SHELLFLAGS := -euo pipefail -c
export CGO_ENABLED ?= 0
# Tests build what "make build" builds: with the same flags nothing is compiled twice.
export GOFLAGS ?= -trimpath

CC         := gcc
CC_ARM64   := aarch64-linux-gnu-gcc
LIB        := internal/capture/agentbin/lib/libclrprof-
AGENT      := $(LIB)linux-x64.so
AGENT_MUSL := $(LIB)linux-musl-x64.so
# Those for arm64 where there is a compiler for it.
AGENT_ARM64      := $(if $(shell command -v $(CC_ARM64)),$(LIB)linux-arm64.so)
AGENT_MUSL_ARM64 := $(if $(AGENT_ARM64),$(LIB)linux-musl-arm64.so)
# os.c has the thread-local variable of the greatest alignment: first, it leaves no gap before it.
AGENT_SRC  := agent/src/os/context_switch.c $(filter-out agent/src/os/context_switch.c,$(sort $(wildcard agent/src/*/*.c)))
AGENT_HDR  := $(wildcard agent/src/*/*.h agent/src/arch/*/*)
# The tables for debuggers name the sources as from here, so an agent is the same wherever it is built.
COMMON     := -std=c11 -Iagent/src -O2 -g -ffile-prefix-map=$(CURDIR)=. -fno-tree-slp-vectorize -fPIC -fvisibility=hidden -fno-omit-frame-pointer -fstack-protector-strong -Wall -Wextra -Wconversion -Werror
CFLAGS     := $(COMMON) -fcf-protection=none
# Else atomic operations are functions of libgcc, which a process need not have loaded.
CFLAGS_ARM64 := $(COMMON) -mbranch-protection=none -mno-outline-atomics
LDFLAGS    := -shared -nostdlib -Wl,--build-id=sha1 -Wl,-z,now,-z,relro,-z,noexecstack

# Packages with goroutines in their code or in their tests, for the race detector.
# Others are computations of one goroutine, which it would only make slow.
RACE        = $(addprefix ./internal/,capture/agentbin analysis capture/arena cli capture/control capture/launch capture/live quantity session capture/steer wire)
# Of the collector, those in which samples are made while it looks at arenas: its other tests have one goroutine.
SAMPLES     = Sample|Measured|Meter|Report
FUZZTIME   ?= 20s
HEAPS      ?= 100000
FIRST      ?= 1000000
PROGRAMS   ?= 20
ATTACHES   ?= 300
CHECKS     ?= 3000
THREADS    ?= 5000000
DEMO       := bin/demo
GETDOTNET  := go run ./tools/getdotnet

.PHONY: help build dist test-dist cross site publish agent hook web screenshots packages dotnet demo test test-all test-agent race bench test-rest check analyze fuzz heaps programs attaches hostile collector golden sessions soak clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# In an archive of sources: VERSION and COMMIT.
-include version.mk
STAMP      := $(if $(COMMIT),$(addprefix -X github.com/clrprof/clrprof/internal/cli.,Version=$(VERSION) Commit=$(COMMIT)))
# Where the kernel starts the program: see internal/capture/inherited.
LINK       := -ldflags='-E=clrprof_start $(STAMP)'

build: agent ## build bin/clrprof, one static binary with the agent inside
	CGO_ENABLED=0 go build -trimpath $(LINK) -o bin/clrprof ./cmd/clrprof

DIST       ?= bin/dist
dist: agent ## make what a release consists of (DIST=bin/dist); the same commit gives the same bytes
	go run ./tools/dist -o $(DIST)

test-dist: agent ## try what make dist makes: install and run it, and build it twice
	go test -vet=off -count=1 ./tools/dist

SITE       ?= bin/site
site: ## make a site of the documents, with search (SITE=bin/site); needs no network
	cd tools/site && go run . -o $(abspath $(SITE))

cross: ## install the compiler for arm64; Debian and Ubuntu, with sudo
	sudo apt-get install -y --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross

# The tag must be the one that the files are made of.
publish: ## put what make dist made on GitHub, as the release of the tag of this commit; needs gh
	tag=$$(git describe --tags --exact-match --match 'v[0-9]*') && ls $(DIST)/clrprof-"$${tag#v}"-linux-{x64,arm64}.tar.gz && \
	  gh release create "$$tag" --verify-tag --notes-file CHANGELOG.md $(DIST)/*

agent: $(AGENT) $(AGENT_MUSL) $(AGENT_ARM64) $(AGENT_MUSL_ARM64) ## build the agent, the C library that goes into the target, for glibc and for musl

$(AGENT): $(AGENT_SRC) $(AGENT_HDR) Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@.tmp $(AGENT_SRC)
	@mv $@.tmp $@

web: ## rebuild the page of "clrprof view" from web/src; needs Go modules and npm
	cd tools/webbuild && go run .

$(AGENT_MUSL): $(AGENT_SRC) $(AGENT_HDR) Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -mtls-dialect=gnu2 -DCLRPROF_MUSL $(LDFLAGS) -o $@.tmp $(AGENT_SRC)
	@mv $@.tmp $@

$(LIB)linux-arm64.so: $(AGENT_SRC) $(AGENT_HDR) Makefile
	@mkdir -p $(@D)
	$(CC_ARM64) $(CFLAGS_ARM64) $(LDFLAGS) -o $@.tmp $(AGENT_SRC)
	@mv $@.tmp $@

$(LIB)linux-musl-arm64.so: $(AGENT_SRC) $(AGENT_HDR) Makefile
	@mkdir -p $(@D)
	$(CC_ARM64) $(CFLAGS_ARM64) -DCLRPROF_MUSL $(LDFLAGS) -o $@.tmp $(AGENT_SRC)
	@mv $@.tmp $@

hook: ## rebuild the assemblies in C#, which are committed (agent/hook, tools/dist/launcher); needs a .NET SDK, 10 or later
	go run ./tools/hookbuild

PICTURES   ?= bin/pictures
screenshots: demo ## take screenshots of the page for a sample program, some also dark (PICTURES=docs/pictures: those of the README); needs chromium
	@mkdir -p $(PICTURES)
	@$(GETDOTNET) exec bin/clrprof run -f --time -o $(DEMO)/before.clrprof -- dotnet $(DEMO)/orderbook.dll >/dev/null
	@$(GETDOTNET) exec bin/clrprof run -f --time --memory --lifetime -o $(DEMO)/after.clrprof -- dotnet $(DEMO)/orderbook.dll >/dev/null
	go test ./internal/present/web -count=1 -run 'TestScreenshots|TestLivePage' -args -screenshots $(abspath $(PICTURES)) -sessions $(abspath $(DEMO))/after.clrprof,$(abspath $(DEMO))/before.clrprof
	@ls $(PICTURES)

# Variants of the agent for tests and measurements; see agent/test/oracle.c. MACHINE=arm64: for that machine.
ORACLE     ?= bin/libclrprof-oracle.so
.PHONY: oracle
oracle:
	@mkdir -p $(dir $(ORACLE))
	$(if $(filter arm64,$(MACHINE)),$(CC_ARM64) $(CFLAGS_ARM64),$(CC) $(CFLAGS)) -DCLRPROF_ORACLE $(LDFLAGS) -o $(ORACLE) $(AGENT_SRC) agent/test/oracle.c

packages: ## build the NuGet packages of integrations/ into bin/packages; needs a .NET SDK, 8 or later
	@dotnet --list-sdks 2>/dev/null | grep -qE '^([89]|[1-9][0-9]+)\.' || { \
	  echo 'make packages: needs a .NET SDK, 8 or later, as dotnet on the PATH (https://dotnet.microsoft.com/download)' >&2; exit 1; }
	@for p in control xunit benchmarkdotnet; do dotnet pack --nologo -c Release -o bin/packages integrations/$$p; done
	@ls bin/packages

dotnet: ## get a .NET for tests, demo and benchmarks (220 MB, once, into the user's cache), and list the available ones
	@$(GETDOTNET)

demo: build dotnet ## profile a sample program and print the report
	@$(GETDOTNET) compile $(DEMO) samples/orderbook
	@echo; echo '$$ clrprof run -- dotnet orderbook.dll'
	@$(GETDOTNET) exec bin/clrprof run -f -o $(DEMO)/orderbook.clrprof -- dotnet $(DEMO)/orderbook.dll
	@printf '%s\n' '' 'Next, for example:' \
	  '  bin/clrprof report $(DEMO)/orderbook.clrprof lines' \
	  '  bin/clrprof report $(DEMO)/orderbook.clrprof calltree' \
	  '  bin/clrprof report $(DEMO)/orderbook.clrprof types' \
	  '  bin/clrprof export $(DEMO)/orderbook.clrprof --format pprof -o $(DEMO)/orderbook.pb.gz' \
	  '  go tool pprof -top $(DEMO)/orderbook.pb.gz'

# What "make test" draws of the cases that are alike depends on the commit: SEED=... draws as another commit did.
SEED       ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo none)
# The list of allowed skips, for machines that must have everything.
SKIPS      ?=
# Tests that "make test" left out, which "make test-rest" runs.
LEFT       := bin/left-out.txt
# Programs that tests start inherit the signals that are ignored, as after nohup and in a script's "make test &".
GOTEST     := $(shell env --default-signal true 2>/dev/null && echo env --default-signal) go run ./tools/gotest
# Without tables for debuggers, of which no test reads its own, linking them takes two fifths less processor time.
TESTFLAGS  := -vet=off -ldflags=-w
# Go tests packages in the order in which they are named: those that take longest first, so that none is left alone at
# the end. The others follow, in whatever order.
LONGEST    := $(addprefix ./,e2e internal/capture/collect internal/cli internal/analysis internal/present/web internal/capture/probes internal/dotnet/clrmeta)

# "make check" vets all packages: "go test" need not do so once more. docs/testing.md describes the suites.
test: build dotnet check ## run the tests that one needs to trust a change; fetches what they need
	CLRPROF_TEST_SUITE=quick CLRPROF_TEST_SEED=$(SEED) $(GOTEST) -left $(LEFT) $(SKIPS:%=-skips %) -- $(TESTFLAGS) -timeout 40m $(LONGEST) ./...

test-rest: build dotnet race test-agent analyze ## run what "make test" left out, each once, other compilers, sanitizers and the race detector
	CLRPROF_TEST_SEED=$(SEED) $(GOTEST) -rest $(LEFT) $(SKIPS:%=-skips %) -- $(TESTFLAGS) -timeout 60m

test-all: build dotnet check race test-agent analyze hostile ## run all tests, and each way to record a program on every runtime
	CLRPROF_TEST_SUITE=all $(GOTEST) $(SKIPS:%=-skips %) -- $(TESTFLAGS) -timeout 150m $(LONGEST) ./...

test-agent: ## test the agent in a simulated runtime, with every available compiler and sanitizer
	agent/test/all.sh

# SQLite, which was translated from C, has a thread for each connection: with the detector in it, compiling and running it
# take most of the time.
race: agent ## run the tests of packages with goroutines under the race detector
	CGO_ENABLED=1 go test -race -gcflags=modernc.org/...=-race=false -vet=off -short -timeout 20m $(RACE)
	CGO_ENABLED=1 go test -race -gcflags=modernc.org/...=-race=false -vet=off -short -run '$(SAMPLES)' ./internal/capture/collect

bench: build dotnet ## measure the cost of profiling (BENCHFLAGS=... for a part)
	go run ./bench $(BENCHFLAGS)

LINT       := go tool -modfile=tools/lint/go.mod

check: agent ## run static checks: gofmt, vet, staticcheck, clang's warnings, the rules of internal/testkit/policy
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt -w is needed: $$unformatted"; exit 1; fi
	go vet ./...
	$(LINT) staticcheck ./...
	agent/clang.sh warnings
	go test -vet=off ./internal/testkit/policy

analyze: ## have clang's analyzer look at the agent's C code
	agent/clang.sh analyzer

# Else Go makes each input smaller that reaches new code, for up to a minute in which nothing else is tried.
fuzz: agent ## run each fuzz target for a while (FUZZTIME=20s)
	@grep -rl --include='*_test.go' '^func Fuzz' internal cmd | xargs -n1 dirname | sort -u | while read -r dir; do \
	  go test -list '^Fuzz' "./$$dir" | { grep '^Fuzz' || true; } | while read -r f; do \
	    echo "$$dir $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "./$$dir"; \
	  done; \
	done

heaps: ## compare the agent with the reference on many simulated heaps (HEAPS=100000 are 1.5 million collections)
	go test -timeout 24h ./internal/testkit/heap/replay -run TestAgentEqualsTracker -v -args -seeds $(HEAPS) -first $(FIRST)

soak: agent ## try many random cases of each property (CHECKS=3000) and many simulated threads, where "make test" tries few
	@grep -rl --include='*_test.go' pgregory.net/rapid internal | xargs -n1 dirname | sort -u | sed 's|^|./|' | xargs -I{} go test -timeout 24h {} -args -rapid.checks=$(CHECKS)
	go test -timeout 24h ./internal/testkit/timing/timingsim -args -seeds $(THREADS)

programs: build dotnet ## record generated C# programs in all modes on all runtimes (PROGRAMS=20 from seed FIRST)
	go test -timeout 240h ./e2e -run TestPrograms -v -args -programs=$(PROGRAMS) -first=$(FIRST)

# As root these try what a second user can do; otherwise they are skipped.
HOSTILE    ?= 20
hostile: build dotnet ## try what other users, their files, sockets and sessions can do to clrprof (HOSTILE=20 rounds)
	go test -timeout 1h -count=1 -run 'Hostile|Forged|Foreign|Odd|Truncated' ./internal/...
	go test -timeout 1h -count=1 ./internal/cli -run 'TestForgedColumns|TestForgedServed' -args -forged=$$((15 * $(HOSTILE)))
	go test -timeout 1h -count=1 ./e2e -run TestHostile -v -args -hostile=$(HOSTILE)

attaches: build dotnet ## attach to services under load, many times (ATTACHES=300)
	go test -timeout 240h ./e2e -run 'TestAttachTimeOften|TestAttachLateOften' -v -args -attaches=$(ATTACHES)

collector: ## build an OpenTelemetry Collector (needs Go modules, takes minutes) and send it profiles
	go test ./internal/export -count=1 -run TestCollectorReceives -v -args -collector

golden: build dotnet ## rewrite the golden files from the current output; read the diff
	@grep -rl --include='*_test.go' 'flag.Bool("update"' internal cmd | xargs -r -n1 dirname | sort -u | while read -r dir; do go test "./$$dir" -update; done

sessions: build dotnet ## record the sessions in testdata/sessions again, which golden files show; run "make golden" afterwards
	go run ./tools/recordsessions

clean: ## remove build output; keeps the cache with .NET
	rm -rf bin internal/capture/agentbin/lib/*.so bench/out

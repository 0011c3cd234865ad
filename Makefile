# Hydrant: `make` lists what can be made.
# Only gpuwatch needs cgo; the other four tools are static binaries.
GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
TOOLS       := tracegen replay reduce judge
VERSION     := $(shell git describe --always --dirty 2>/dev/null || echo devel)
STAMP       := -ldflags '-X hydrant/internal/cli.stamp=$(VERSION)'
FUZZTIME    ?= 5s
# The NVML binding calls functions that its own header marks as deprecated.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations
UNITS        = $$($(GO) list ./... | grep -v '^hydrant/scripts$$')
GOFILES     := $(shell find cmd formats traces internal \( -name '*.go' -not -name '*_test.go' -o -name '*.css' -o -name '*.html' \) 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help build test matrix test-slow race lint fuzz bench soak microbench golden demo clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/gpuwatch $(TOOLS:%=bin/%) ## build the five tools into bin/

$(TOOLS:%=bin/%): bin/%: $(GOFILES) go.mod
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build $(STAMP) -o $@ ./cmd/$*

bin/gpuwatch: $(GOFILES) go.mod
	@mkdir -p bin
	$(GO) build $(STAMP) -o $@ ./cmd/gpuwatch

# The pipelines run last and alone: they judge whether the generator was on time, and
# compilers and other tests on the same cores would make it late.
test: ## run every test; HYDRANT_REQUIRE=all makes a skip a failure
	$(GO) test -timeout 5m $(UNITS)
	$(GO) test -timeout 5m ./scripts

# Wants the machine for itself; it judges by the default limits.
matrix: ## one row per cause of a verdict, against the simulated server: 7 minutes
	HYDRANT_MATRIX=1 $(GO) test -count 1 -timeout 20m -v ./scripts/matrix

TIMES ?= 20
test-slow: ## simulations of many runs, and the matrix TIMES (20) times: 3 hours
	HYDRANT_SLOW=1 $(GO) test -count 1 -p 1 -timeout 60m ./cmd/... ./internal/...
	HYDRANT_MATRIX=1 $(GO) test -count $(TIMES) -timeout 4h ./scripts/matrix

# Packages that start a goroutine, in their code or in their tests: the others cannot race.
# In tracegen that is check alone, which its scripts run; all its tests took four minutes.
CONCURRENT = $$(grep -rlE '^[[:space:]]*go [a-zA-Z(]|\.Go\(' --include='*.go' cmd formats internal traces | xargs -n 1 dirname | grep -vx cmd/tracegen | sort -u | sed 's|^|./|')

race: ## run the tests of packages that start goroutines under the race detector
	$(GO) test -race -timeout 10m $(CONCURRENT)
	$(GO) test -race -timeout 10m -run TestScripts ./cmd/tracegen

lint: ## gofmt, go vet and staticcheck at a pinned version
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'lint: the files above are not gofmt-ed' >&2; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

fuzz: ## run each fuzz target for FUZZTIME (5s)
	scripts/fuzz $(FUZZTIME)

ROUNDS ?= 5
ONLY   ?=
# Wants a quiet Linux host with 2 CPUs of its own; ONLY names scenarios of scripts/bench.
bench: bin/replay bin/tracegen bin/reduce ## measure against the floor programs and write docs/performance.md; ROUNDS=1 for a look
	@mkdir -p .cache && $(GO) build -o .cache/bench ./scripts/bench
	.cache/bench bin $(ROUNDS) $(if $(ONLY),-,docs/performance.md) $(ONLY)

soak: bin/replay ## what takes minutes: silent streams, a frozen server, 1,000,000 requests; fails on a miss
	@mkdir -p .cache && $(GO) build -o .cache/bench ./scripts/bench
	.cache/bench bin 1 - silent freeze million

microbench: ## run the benchmarks of single packages
	$(GO) test -run '^$$' -bench . -benchmem ./...

golden: ## write golden files again; read the diff before you commit it
	HYDRANT_GOLDEN=write $(GO) test ./formats/... ./traces/... ./cmd/... ./internal/...

demo: build ## replay ten real minutes at 10 times the speed; TRACE=path URL=http://… SPEED=1 for your own
	TRACE='$(TRACE)' URL='$(URL)' SPEED='$(SPEED)' scripts/demo

clean: ## remove what was built and what the demo wrote
	rm -rf bin demo .cache

# Every target except race and race-all builds without cgo, so that local builds equal those on other machines.
export CGO_ENABLED = 0

# With -trimpath, Go's build cache serves every clone of the repository, whatever its folder. It also serves the tools that
# Strata builds, which have modules in common with Strata.
export GOFLAGS := -trimpath $(GOFLAGS)

# Programs without symbol tables and debug information link faster.
STRIPPED = -ldflags "-s -w"

GOLANGCI_LINT = go tool -modfile=tools/lint/go.mod golangci-lint

# GOVULNDB is the URL of a vulnerability database: https, or file for a folder.
GOVULNDB ?= https://vuln.go.dev
GOVULNCHECK = go tool -modfile=tools/lint/go.mod govulncheck -db '$(GOVULNDB)'

# All files that git tracks or would add.
FILES = git ls-files --cached --others --exclude-standard

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Shows on a terminal that the command after it still compiles, and for how long. The first build takes up to three minutes.
COMPILING = if [ -t 2 ] && [ "$$TERM" != dumb ]; then \
	(s=0; while sleep 1; do s=$$((s + 1)); printf '\r • compiling strata, %ds' $$s >&2; done) & \
	trap "kill $$! 2>/dev/null; printf '\\r\\033[K' >&2" EXIT; fi;

.PHONY: build
build: ## Build bin/strata
	@echo 'go build $(STRIPPED) -o bin/strata ./cmd/strata'
	@$(COMPILING) go build $(STRIPPED) -o bin/strata ./cmd/strata

# PLATFORMS are the platforms of the command in a release, and DIST is the folder of its files. KEY is the file with the
# private key that signs a release. BUNDLES is a folder with the bundles of other platforms.
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
DIST = dist

.PHONY: release
release: ## Build the files of a release in DIST: archives, the bundle of tools, checksums, a signature with KEY=FILE
	@go run ./cmd/release -out '$(DIST)' -platforms '$(PLATFORMS)' $(if $(KEY),-key '$(KEY)') $(if $(BUNDLES),-bundles '$(BUNDLES)')

.PHONY: up
up: build ## Create a local platform, layer by layer
	bin/strata up

.PHONY: down
down: build ## Delete the local platform
	bin/strata down

# `make lint` does the checks of go vet.
VETTED = -vet=off

.PHONY: test
test: ## Run the tests and the README's tour, without the long tests; the first run builds the tools
	go test $(STRIPPED) $(VETTED) -p $(AT_ONCE) -timeout 80m ./...
	go test -C tools/dolt/gozstd ./...
	$(GVISOR) go test -C tools/runsc ./...

# gVisor compiles only on Linux.
GVISOR = [ "$$(go env GOOS)" != linux ] ||

# Many tests wait for programs, so more packages than processors are tested at the same time.
AT_ONCE = $$(( 2 * $$(getconf _NPROCESSORS_ONLN) ))

# The tests that call long.Test: their folders and names.
LONG = $(FILES) '*_test.go' | xargs awk '/^func Test/ { name = $$2; sub(/\(.*/, "", name) } \
	/^\tlong\.Test\(t\)/ { dir = FILENAME; sub(/\/[^\/]*$$/, "", dir); print "./" dir, name }'

# The drills, each on a whole platform: what a team does from a branch to a signed artifact, a platform that was lost and is restored,
# and a rehearsal of this version on copies of a platform and of an earlier one.
DRILLS = TestSharedPlatform/story$$|TestScripts/backup$$|TestARehearsalSeesNoSecret|TestThePlatformOfAnEarlierCommitIsRehearsed

.PHONY: test-drills
test-drills: ## Run the drills, which are among the long tests: a change, a restore, a rehearsal; takes minutes
	go test $(STRIPPED) $(VETTED) -p 1 -timeout 40m -run '$(DRILLS)' ./test/e2e ./test/rehearsal

.PHONY: test-restore
test-restore: ## Run the drill of a loss: a backup, a rehearsal of it, the loss and the restore; takes minutes
	go test $(STRIPPED) $(VETTED) -timeout 40m -run 'TestScripts/backup$$' ./test/e2e

.PHONY: test-long
test-long: ## Run the long tests: whole platforms, kills, attacks; takes about an hour on an idle machine
	go test $(STRIPPED) $(VETTED) -p $$(getconf _NPROCESSORS_ONLN) -timeout 120m \
		-run "^($$($(LONG) | cut -d' ' -f2 | sort -u | paste -sd'|'))\$$" $$($(LONG) | cut -d' ' -f1 | sort -u)

.PHONY: test-unit
test-unit: ## Run the tests that need no tools
	go test $(STRIPPED) -short ./...
	go test -C tools/dolt/gozstd -short ./...
	$(GVISOR) go test -C tools/runsc -short ./...

# Packages that start goroutines themselves or in their tests. Commands and whole-platform tests are excluded, because
# they start everything as processes.
CONCURRENT = $(FILES) '*.go' ':!cmd' ':!test' ':!tools' | xargs grep -lE '\bgo func\b|\.Go\(|^\s+go [A-Za-z.]+\(' | \
	xargs -n 1 dirname | sort -u | sed 's,^,./,'

# Removes packages that link Kubernetes' or Pulumi's libraries from a list. Compiling these libraries again, for the race
# detector or for fuzzing, takes a quarter of an hour on two cores.
LIGHT = while read -r p; do go list -deps -test "$$p" | grep -qE '^(k8s.io/client-go|github.com/pulumi)/' || echo "$$p"; done

.PHONY: race
race: ## Run tests under the race detector, of packages that start goroutines and compile quickly; needs a C compiler
	CGO_ENABLED=1 go test -race -short $$($(CONCURRENT) | $(LIGHT))

.PHONY: race-all
race-all: ## Run tests under the race detector, of all packages that start goroutines, half an hour
	CGO_ENABLED=1 go test -race -short $$($(CONCURRENT))

# FUZZTIME is the duration of each fuzz target. SUM=200s divides 200 seconds among all of them.
FUZZTIME = 10s
SUM =

# Folders of packages with fuzz targets.
FUZZED = $(FILES) '*_test.go' | xargs grep -lE '^func Fuzz' | xargs -n 1 dirname | sort -u | sed 's,^,./,'

.PHONY: fuzz
fuzz: ## Fuzz the parsers of packages that compile quickly, FUZZTIME each, or all of them in SUM seconds
	@sh tools/fuzz.sh '$(FUZZTIME)' '$(SUM)' $$($(FUZZED) | grep -v tools/ | $(LIGHT))

.PHONY: fuzz-all
fuzz-all: ## Fuzz every parser of input, FUZZTIME each
	@sh tools/fuzz.sh '$(FUZZTIME)' '$(SUM)' $$($(FUZZED))

# BENCH is a regular expression that selects benchmarks. OUTPUT is text or json.
BENCH = .
OUTPUT = text

.PHONY: bench
bench: ## Measure, and compare with the bounds and with bench/figures.json (UPDATE=1 writes it); needs an idle machine
	@go run ./test/bench -bench '$(BENCH)' -o $(OUTPUT) $(if $(UPDATE),-update)

.PHONY: bench-cold
bench-cold: ## Measure how long all tools take to build, about 20 minutes
	@STRATA_BENCH_COLD=1 go run ./test/bench -bench ColdToolchain -o $(OUTPUT)

# ROUNDS is the number of rounds of the shortest soak. A soak with longer rounds runs fewer of them.
ROUNDS = 20

.PHONY: soak
soak: ## Run the long-running tests, one after the other
	STRATA_SOAK_ROUNDS=$(ROUNDS) go test -p 1 -count 1 -timeout 0 -v -run '^TestSoak' \
		$$($(FILES) '*soak_test.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,')

.PHONY: generate
generate: ## Run the generators
	go generate ./...

.PHONY: format
format: ## Format the code
	gofmt -w $$($(FILES) '*.go')

.PHONY: lint
lint: ## Run the linters, with the checks of go vet
	$(GOLANGCI_LINT) run

.PHONY: verify
verify: verify-format verify-modules verify-generated verify-licences lint verify-vulnerabilities ## Run all checks except the tests; each failure names the command that fixes it

.PHONY: verify-format
verify-format:
	@unformatted=$$(gofmt -l $$($(FILES) '*.go')); \
	if [ -n "$$unformatted" ]; then \
		echo "not formatted:" $$unformatted; echo "fix it with: make format"; exit 1; \
	fi

.PHONY: verify-modules
verify-modules:
	@go mod tidy -diff >/dev/null || { echo "go.mod is not tidy"; echo "fix it with: go mod tidy"; exit 1; }

# Generates in place, which detects stale files in a clean tree and in a changed one.
.PHONY: verify-generated
verify-generated:
	@sums() { $(FILES) -z | sort -z | xargs -0 cksum 2>/dev/null; }; \
	before=$$(mktemp); after=$$(mktemp); trap 'rm -f "$$before" "$$after"' EXIT; \
	sums >"$$before"; $(MAKE) --no-print-directory generate && sums >"$$after" || exit 1; \
	if ! diff "$$before" "$$after" >/dev/null; then \
		echo "generated files were stale:" $$(diff "$$before" "$$after" | awk '/^[<>]/ { print $$4 }' | sort -u); \
		echo "fix it with: make generate, then commit the files"; exit 1; \
	fi

.PHONY: verify-licences
verify-licences:
	@go test ./test/licences || { echo "fix it with: another module, or a reason in test/licences"; exit 1; }

# A scan of the modules alone is fast, and shows whether the database is reachable: govulncheck exits with 1 for an error,
# and with 3 for a finding.
.PHONY: verify-vulnerabilities
verify-vulnerabilities:
	@found=$$($(GOVULNCHECK) -C cmd/strata -scan module 2>&1); code=$$?; \
	case "$$code $$found" in \
	"1 "*"govulncheck: fetching vulnerabilities"*) \
		echo "NOT CHECKED for known vulnerabilities: $(GOVULNDB) is unreachable: set another database in GOVULNDB";; \
	*) $(GOVULNCHECK) ./... || { echo "fix it with: go get, of the version in the report"; exit 1; };; \
	esac

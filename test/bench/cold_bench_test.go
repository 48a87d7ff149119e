package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// coldVariable enables the benchmark that takes as long as a new user's first `strata up`.
const coldVariable = "STRATA_BENCH_COLD"

const coldBound = 25 * time.Minute

// BenchmarkColdToolchain builds all tools with an empty tool cache and an empty Go build cache, but with downloaded
// modules.
func BenchmarkColdToolchain(b *testing.B) {
	if os.Getenv(coldVariable) == "" {
		b.Skipf("takes about 20 minutes: run `make bench-cold`, or set %s=1", coldVariable)
	}
	modules, err := exec.CommandContext(b.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		b.Fatal(err)
	}
	p := stratatest.New(b)
	cache := filepath.Join(p.Dir, "cache")
	cmd := p.Command(b.Context(), "toolchain", "build", "--all")
	cmd.Env = append(cmd.Env,
		"XDG_CACHE_HOME="+cache, "GOCACHE="+filepath.Join(cache, "go-build"), "GOMODCACHE="+strings.TrimSpace(string(modules)))
	cmd.Stdout, cmd.Stderr = b.Output(), b.Output()
	began := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	figure.Seconds(b, "all tools, cold", time.Since(began), coldBound)
}

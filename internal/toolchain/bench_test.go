package toolchain

import (
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkWarmToolchain measures the time that every command of Strata needs for the toolchain if all tools are built.
func BenchmarkWarmToolchain(b *testing.B) {
	root, err := FindRoot(".")
	if err != nil {
		b.Fatal(err)
	}
	// Dummy files at the tools' addresses: the benchmark reads the real modules, but builds nothing.
	cache := b.TempDir()
	tools, err := open(root, cache, catalogue())
	if err != nil {
		b.Fatal(err)
	}
	list, err := tools.List(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, status := range list {
		if err := writeFile(status.Path, nil); err != nil {
			b.Fatal(err)
		}
	}
	const rounds = 20
	start := time.Now()
	for range rounds {
		tools, err := open(root, cache, catalogue())
		if err != nil {
			b.Fatal(err)
		}
		if err := tools.Ensure(b.Context(), nil, tools.Names()...); err != nil {
			b.Fatal(err)
		}
	}
	mean := time.Since(start) / rounds
	figure.AtMost(b, "warm check of the toolchain", float64(mean)/float64(time.Millisecond), 50, "ms")
}

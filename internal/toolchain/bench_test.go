package toolchain

import (
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkWarmToolchain is what every command of Strata pays when all is built.
func BenchmarkWarmToolchain(b *testing.B) {
	root, err := FindRoot(".")
	if err != nil {
		b.Fatal(err)
	}
	// Stand-ins for the tools, at their addresses, so that the real modules are read but not built.
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

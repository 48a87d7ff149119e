package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/docstest"
	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

func TestTable(t *testing.T) {
	for _, test := range []struct {
		name   string
		figure figure.Figure
		want   string
		missed bool
	}{
		{name: "within its bound", figure: figure.Figure{Name: "start", Measured: 5.256, Unit: "s", Bound: 8, OK: true}, want: "start 5.26 s 8 s ✓"},
		{name: "missed", figure: figure.Figure{Name: "memory", Measured: 701.4, Unit: "MB", Bound: 700}, want: "memory 701 MB 700 MB ✗", missed: true},
		{name: "without a bound", figure: figure.Figure{Name: "step", Measured: 0.25, Unit: "s", OK: true}, want: "step 0.25 s"},
		{name: "large", figure: figure.Figure{Name: "cold", Measured: 1500, Unit: "s", Bound: 1500, OK: true}, want: "cold 1500 s 1500 s ✓"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newReport([]figure.Figure{test.figure}, true)
			if r.OK == test.missed {
				t.Errorf("the report is ok: %v", r.OK)
			}
			var out bytes.Buffer
			if err := r.print(&out); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(out.String(), "\n")
			if got := strings.Join(strings.Fields(lines[1]), " "); got != test.want {
				t.Errorf("the line is %q, want %q", got, test.want)
			}
		})
	}
}

func TestReportOfAFailureIsNotOK(t *testing.T) {
	if newReport(nil, false).OK {
		t.Error("a report is ok though a benchmark failed")
	}
}

func TestPackagesAreThoseWithBenchmarks(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"a/b/bench_test.go", "a/b/more_bench_test.go", "c/other_test.go", ".hidden/bench_test.go"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := packages(root)
	if err != nil || !slices.Equal(got, []string{"./a/b"}) {
		t.Errorf("the packages are %v, %v", got, err)
	}
}

// TestFiguresOfARealBenchmark runs a real benchmark with the whole command.
func TestFiguresOfARealBenchmark(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the packages that hold benchmarks")
	}
	t.Chdir(toolchaintest.Root(t))
	var out, log bytes.Buffer
	err := run(t.Context(), []string{"-bench", "^BenchmarkWarmToolchain$", "-o", "json"}, &out, &log)
	if err != nil && !strings.Contains(err.Error(), "a bound was missed") {
		t.Fatalf("%v\n%s", err, log.String())
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if len(got.Figures) != 1 || got.Figures[0].Bound != 50 || got.Figures[0].Unit != "ms" || got.Figures[0].Measured <= 0 {
		t.Errorf("the figures are %+v", got.Figures)
	}
}

func TestDocumentedOutput(t *testing.T) {
	docstest.CheckJSON[report](t, "docs/reference/output.md", "bench")
}

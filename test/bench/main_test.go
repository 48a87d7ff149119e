package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
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
		landed landedFigure
		want   string
		missed bool
	}{
		{name: "within its bound", figure: figure.Figure{Name: "start", Measured: 5.256, Unit: "s", Bound: 8, OK: true}, want: "start 5.26 s 8 s ✓"},
		{name: "missed", figure: figure.Figure{Name: "memory", Measured: 701.4, Unit: "MB", Bound: 700}, want: "memory 701 MB 700 MB ✗", missed: true},
		{name: "without a bound", figure: figure.Figure{Name: "step", Measured: 0.25, Unit: "s", OK: true}, want: "step 0.25 s"},
		{name: "as landed", figure: figure.Figure{Name: "up", Measured: 30, Unit: "s", OK: true}, landed: landedFigure{20, "s", 1}, want: "up 30 s 20 s 0.75 ✓"},
		{name: "worse than landed", figure: figure.Figure{Name: "up", Measured: 30, Unit: "s", Bound: 40, OK: true}, landed: landedFigure{4, "s", 1}, want: "up 30 s 40 s 4 s 3.75 ✗", missed: true},
		{name: "a third more memory than landed", figure: figure.Figure{Name: "idle", Measured: 133, Unit: "MB", OK: true}, landed: landedFigure{100, "MB", 1}, want: "idle 133 MB 100 MB 1.33 ✗", missed: true},
		{name: "landed in another unit", figure: figure.Figure{Name: "up", Measured: 30, Unit: "s", OK: true}, landed: landedFigure{4, "MB", 1}, want: "up 30 s 4 s"},
		{name: "large", figure: figure.Figure{Name: "cold", Measured: 1500, Unit: "s", Bound: 1500, OK: true}, want: "cold 1500 s 1500 s ✓"},
	} {
		t.Run(test.name, func(t *testing.T) {
			landed := map[string]landedFigure{}
			if test.landed.Unit != "" {
				landed[test.figure.Name] = test.landed
			}
			r := newReport(compare([]figure.Figure{test.figure}, landed, 2), true)
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
		t.Error("a report with a failed benchmark is ok")
	}
}

func TestRatioDoesNotDependOnTheMachine(t *testing.T) {
	for _, test := range []struct {
		name        string
		now, landed landedFigure
		want        float64
	}{
		{"same work on a machine of half the speed", landedFigure{20, "s", 2}, landedFigure{10, "s", 1}, 1},
		{"twice the work", landedFigure{40, "ms", 2}, landedFigure{10, "ms", 1}, 0},
		{"twice the work, long enough to measure", landedFigure{4000, "ms", 2}, landedFigure{1000, "ms", 1}, 2},
		{"half the rate on the same machine", landedFigure{30, "/min", 1}, landedFigure{60, "/min", 1}, 2},
		{"half the rate on a machine of half the speed", landedFigure{30, "/min", 2}, landedFigure{60, "/min", 1}, 1},
		{"twice the memory on a machine of half the speed", landedFigure{200, "MB", 2}, landedFigure{100, "MB", 1}, 2},
		{"not landed", landedFigure{200, "MB", 2}, landedFigure{}, 0},
	} {
		if got := ratio(test.now, test.landed); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: the ratio is %v, want %v", test.name, got, test.want)
		}
	}
}

func TestAnUpdateKeepsFiguresThatWereNotMeasured(t *testing.T) {
	root := t.TempDir()
	first := map[string]landedFigure{"up": {20, "s", 1}, "down": {10, "s", 1}}
	if err := writeLanded(root, first, []figure.Figure{{Name: "down", Measured: 12, Unit: "s"}}, 2); err != nil {
		t.Fatal(err)
	}
	got, err := readLanded(root)
	if want := map[string]landedFigure{"up": {20, "s", 1}, "down": {12, "s", 2}}; err != nil || !maps.Equal(got, want) {
		t.Errorf("landed is %v, %v, want %v", got, err, want)
	}
}

func TestCalibrationIsPositive(t *testing.T) {
	if seconds, err := calibrate(t.Context(), 1); err != nil || seconds <= 0 {
		t.Errorf("the calibration is %v, %v", seconds, err)
	}
}

func TestPackagesContainTheBenchmarks(t *testing.T) {
	root := t.TempDir()
	for path, benchmark := range map[string]string{
		"a/b/bench_test.go": "BenchmarkOne", "a/b/more_bench_test.go": "BenchmarkTwo", "d/bench_test.go": "BenchmarkThree",
		"c/other_test.go": "BenchmarkOne", ".hidden/bench_test.go": "BenchmarkOne",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte("package x\n\nfunc "+benchmark+"(b *testing.B) {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{".": {"./a/b", "./d"}, "Two": {"./a/b"}, "^BenchmarkThree$/fast": {"./d"}, "Four": nil} {
		got, err := packages(root, pattern)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: the packages are %v, %v, want %v", pattern, got, err, want)
		}
	}
}

// TestFiguresOfARealBenchmark runs a real benchmark with the whole command.
func TestFiguresOfARealBenchmark(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package with benchmarks")
	}
	t.Chdir(toolchaintest.Root(t))
	var out, log bytes.Buffer
	err := run(t.Context(), []string{"-bench", "^BenchmarkWarmToolchain$", "-o", "json"}, &out, &log)
	if err != nil && !strings.Contains(err.Error(), "exceeds its bound") {
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

// Command bench runs Strata's benchmarks and prints their measurements beside the bounds and the landed measurements, as a
// table or as JSON. It fails if a benchmark fails or exceeds a bound, or if a figure is much worse than the landed one.
//
// Benchmarks are in files named *bench_test.go, and report through package figure.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/bench/figure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	pattern := flags.String("bench", ".", "run the benchmarks whose name `matches`")
	output := flags.String("o", "text", "output format: text or json")
	update := flags.Bool("update", false, "write the figures to "+landedFile)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *output != "text" && *output != "json" {
		return fmt.Errorf("unknown output %q: use text or json", *output)
	}
	root, err := toolchain.FindRoot(".")
	if err != nil {
		return err
	}
	landed, err := readLanded(root)
	if err != nil {
		return err
	}
	calibration, err := calibrate(ctx, calibrationRounds)
	if err != nil {
		return err
	}
	figures, failed := measure(ctx, root, *pattern, log)
	if *update && failed == nil {
		if err := writeLanded(root, landed, figures, calibration); err != nil {
			return err
		}
		landed = nil // An update compares nothing.
	}
	report := newReport(compare(figures, landed, calibration), failed == nil)
	report.Calibration = calibration
	if *output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.print(out)
	}
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	case len(figures) == 0:
		return fmt.Errorf("no benchmark that matches %q reported a figure", *pattern)
	case !report.OK:
		return fmt.Errorf("a figure exceeds its bound, or is more than %g times the landed one: the bounds apply to an idle machine with two cores", mostRatio)
	}
	return nil
}

// measure runs the benchmarks and returns the figures that they reported, including those before a failure. It writes the
// benchmarks' output to log.
func measure(ctx context.Context, root, pattern string, log io.Writer) ([]figure.Figure, error) {
	list, err := packages(root, pattern)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "strata-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "figures")
	// One package at a time, so that benchmarks do not share the machine.
	args := []string{"test", "-p", "1", "-timeout", "0", "-run", "^$", "-bench", pattern, "-benchtime", "1x"}
	cmd := exec.CommandContext(ctx, "go", append(args, list...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), figure.FileVariable+"="+path)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	failed := cmd.Run()
	figures, err := read(path)
	return figures, errors.Join(failed, err)
}

// declaration matches the declaration of a benchmark.
var declaration = regexp.MustCompile(`(?m)^func (Benchmark\w*)\(`)

// packages returns the packages that contain benchmarks whose names match a pattern, as ./path. The pattern may have
// further parts for sub-benchmarks.
func packages(root, pattern string) ([]string, error) {
	top, _, _ := strings.Cut(pattern, "/")
	wanted, err := regexp.Compile(top)
	if err != nil {
		return nil, err
	}
	var list []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), "bench_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(declaration.FindAllSubmatch(source, -1), func(name [][]byte) bool { return wanted.Match(name[1]) }) {
			return nil
		}
		relative, err := filepath.Rel(root, filepath.Dir(path))
		list = append(list, "./"+filepath.ToSlash(relative))
		return err
	})
	slices.Sort(list)
	return slices.Compact(list), err
}

// read reads the figures that benchmarks have written. A missing file means no figures.
func read(path string) ([]figure.Figure, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var figures []figure.Figure
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var f figure.Figure
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return figures, fmt.Errorf("read the figures: %w", err)
		}
		figures = append(figures, f)
	}
	return figures, lines.Err()
}

// report is the output of -o json: the measurements, and the machine.
type report struct {
	OK          bool    `json:"ok"` // no benchmark failed, and all figures are OK
	Cores       int     `json:"cores"`
	System      string  `json:"system"`
	Go          string  `json:"go"`
	Calibration float64 `json:"calibration"` // the result of calibrate
	Figures     []row   `json:"figures"`
}

// row is a figure beside the landed one. OK also requires an accepted ratio.
type row struct {
	figure.Figure

	Landed float64 `json:"landed,omitempty"` // in the figure's unit; 0 if none
	Ratio  float64 `json:"ratio,omitempty"`  // to the landed figure, without the difference of the machines; 0 if not compared
}

func newReport(figures []row, passed bool) report {
	missed := slices.ContainsFunc(figures, func(r row) bool { return !r.OK })
	return report{
		OK: passed && !missed, Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Figures: append([]row{}, figures...),
	}
}

func (r report) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "figure\tmeasured\tbound\tlanded\tratio\tok")
	for _, f := range r.Figures {
		bound, landed, ratio, mark := "", "", "", ""
		if f.Bound != 0 {
			bound = number(f.Bound) + " " + f.Unit
		}
		if f.Landed != 0 {
			landed = number(f.Landed) + " " + f.Unit
		}
		if f.Ratio != 0 {
			ratio = number(f.Ratio)
		}
		switch {
		case !f.OK:
			mark = "✗"
		case f.Bound != 0 || f.Ratio != 0:
			mark = "✓"
		}
		fmt.Fprintf(table, "%s\t%s %s\t%s\t%s\t%s\t%s\n", f.Name, number(f.Measured), f.Unit, bound, landed, ratio, mark)
	}
	fmt.Fprintf(table, "(%d cores, %s, %s, calibration %s s)\n", r.Cores, r.System, r.Go, number(r.Calibration))
	return table.Flush()
}

// number formats a value with three significant digits, without trailing zeros.
func number(value float64) string {
	digits := 0
	for limit := 100.0; digits < 3 && value < limit; limit /= 10 {
		digits++
	}
	text := fmt.Sprintf("%.*f", digits, value)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

//go:build linux

package sandboxes_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkPod measures the time and the memory of a pod with one container.
func BenchmarkPod(b *testing.B) {
	began := time.Now()
	h := start(b)
	figure.Seconds(b, "sandboxes: start of the host", time.Since(began), 2*time.Second)
	began = time.Now()
	p := create(b, h, spec.Pod{})
	created := time.Since(began)
	process, out := begin(b, p, guest(b, "main", "wait"), nil)
	out.waitFor(b, "waiting", process)
	figure.Seconds(b, "sandboxes: an empty pod", created, 500*time.Millisecond)
	figure.Seconds(b, "sandboxes: a pod until its container runs", time.Since(began), 800*time.Millisecond)
	const rounds = 20
	began = time.Now()
	for range rounds {
		command, err := p.Exec(b.Context(), "main", spec.Process{Args: []string{"/bin/guest", "exit", "0"}}, sandboxes.Streams{})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := command.Wait(b.Context()); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
	figure.Seconds(b, "sandboxes: a command in a container", time.Since(began)/rounds, 100*time.Millisecond)
	figure.AtMost(b, "sandboxes: private memory of an idle pod", private(b), 60, "MB")
	began = time.Now()
	if err := p.Remove(b.Context()); err != nil {
		b.Fatal(err)
	}
	figure.Seconds(b, "sandboxes: removal of a pod", time.Since(began), 500*time.Millisecond)
}

// private returns the private memory of all processes of runsc and of their children in megabytes, and logs each part.
func private(b *testing.B) float64 {
	b.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/smaps_rollup")
	if err != nil {
		b.Fatal(err)
	}
	total := 0.0
	for _, path := range paths {
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if !strings.HasPrefix(string(line), "runsc-") && !strings.HasPrefix(string(line), "strata-sandboxes") {
			continue
		}
		values := map[string]float64{}
		file, err := os.Open(path)
		if err != nil {
			continue // It has ended.
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) < 2 {
				continue
			}
			kilobytes, _ := strconv.ParseFloat(fields[1], 64)
			values[fields[0]] = kilobytes / 1024
		}
		file.Close()
		mine := values["Private_Clean:"] + values["Private_Dirty:"]
		b.Logf("%s %s: PSS %.1f MB, private %.1f MB", filepath.Dir(path), strings.SplitN(string(line), "\x00", 2)[0], values["Pss:"], mine)
		if strings.HasPrefix(string(line), "runsc-") {
			total += mine
		}
	}
	return total
}

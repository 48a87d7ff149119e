package render

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/terminal/terminaltest"
)

// looks returns one report for each look. After the last report it interrupts the watch.
type looks struct {
	reports   []status.Report
	interrupt context.CancelFunc
}

func (l *looks) look(ctx context.Context) (status.Report, error) {
	if len(l.reports) == 0 {
		l.interrupt()
		return status.Report{}, ctx.Err()
	}
	next := l.reports[0]
	l.reports = l.reports[1:]
	return next, nil
}

func cluster(ready bool) status.Report {
	return status.NewReport([]status.Item{{Layer: status.LayerBootstrap, Kind: "Cluster", Name: "strata", Ready: ready, Reason: "NotRunning", Message: "run `strata up`"}})
}

func watchOf(t *testing.T, out interface{ Write([]byte) (int, error) }, document func(any) error) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	l := &looks{reports: []status.Report{cluster(false), cluster(false), cluster(true)}, interrupt: interrupt}
	if err := Watch(ctx, out, document, time.Millisecond, l.look); err != nil {
		t.Errorf("an interrupted watch ends with %v", err)
	}
}

func TestAWatchOnATerminalDrawsInPlaceAndGivesTheScreenBack(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	outer, inner := terminaltest.Open(t)
	read := make(chan string)
	go func() {
		var all bytes.Buffer
		buffer := make([]byte, 4096)
		for !strings.HasSuffix(all.String(), firstScreen) {
			n, err := outer.Read(buffer)
			if err != nil {
				break
			}
			all.Write(buffer[:n])
		}
		read <- all.String()
	}()
	watchOf(t, inner, nil)
	text := <-read
	if !strings.HasPrefix(text, otherScreen+topLeft) || !strings.HasSuffix(text, firstScreen) {
		t.Errorf("the screen is not taken and given back: %q", text)
	}
	if n := strings.Count(text, topLeft); n != 3 {
		t.Errorf("it was drawn %d times, want once for each look", n)
	}
	if strings.Contains(text, "\x1b[2J") {
		t.Error("the whole screen is cleared, which flickers")
	}
	if !strings.Contains(text, "\x1b[32m✓\x1b[0m Cluster") || !strings.Contains(text, "\x1b[32meverything is ready\x1b[0m") {
		t.Errorf("what is ready is not green: %q", text)
	}
}

func TestAWatchElsewherePrintsChanges(t *testing.T) {
	var text bytes.Buffer
	watchOf(t, &text, nil)
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	last := lines[len(lines)-2:]
	if !strings.HasSuffix(last[0], " ✓ Cluster strata") || !strings.HasSuffix(last[1], " everything is ready") || strings.Contains(text.String(), "\x1b") {
		t.Errorf("got:\n%s", text.String())
	}
	if n := strings.Count(text.String(), "not ready: Cluster strata"); n != 1 {
		t.Errorf("what stays the same is printed %d times", n)
	}
}

func TestAWatchPassesEachReportToAStreamOfDocuments(t *testing.T) {
	var seen []bool
	watchOf(t, &bytes.Buffer{}, func(value any) error {
		seen = append(seen, value.(status.Report).Ready) //nolint:forcetypeassert // a failed assertion fails the test
		return nil
	})
	if !slices.Equal(seen, []bool{false, false, true}) {
		t.Errorf("the stream receives %v", seen)
	}
}

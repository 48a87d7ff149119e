package logs

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/logfile"
)

// writeLog writes the log of a component as its program would.
func writeLog(t *testing.T, path string, stamps bool, text string) {
	t.Helper()
	w, err := logfile.Open(path, stamps)
	if err != nil {
		t.Fatal(err)
	}
	w.Copy(strings.NewReader(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLogsShowWhatProgramsWrote(t *testing.T) {
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pod := h.Log(filepath.Join("pods", "flux-system_source-controller-1_manager"))
	writeLog(t, pod, true, "first run\n")
	if err := logfile.Rename(pod, logfile.Previous(pod)); err != nil {
		t.Fatal(err)
	}
	writeLog(t, pod, true, "second run\n")
	writeLog(t, h.Log("etcd"), false, "2026-11-21 07:00:00 etcd starts\n")
	for component, want := range map[string]string{
		"etcd":              "2026-11-21 07:00:00 etcd starts\n",
		"source-controller": "first run\nsecond run\n",
	} {
		var got strings.Builder
		if err := Write(t.Context(), h, component, false, &got); err != nil {
			t.Error(err)
		}
		if got.String() != want {
			t.Errorf("the log of %s is %q, want %q", component, got.String(), want)
		}
	}
	names, err := Names(h)
	if want := []string{"etcd", "pods/flux-system_source-controller-1_manager"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the components are %q (%v), want %q", names, err, want)
	}
	err = Write(t.Context(), h, "nobody", false, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), `"nobody"`) || !strings.Contains(err.Error(), "etcd") {
		t.Errorf("the error about a component that is not there is %v", err)
	}
}

// writerFunc is an io.Writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestLogsFollowAContainerIntoItsNextRun(t *testing.T) {
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pod := h.Log(filepath.Join("pods", "default_web_app"))
	writeLog(t, pod, true, "first run\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got string
	err = Write(ctx, h, "web", true, writerFunc(func(text []byte) (int, error) {
		got += string(text)
		switch got {
		case "first run\n":
			if err := logfile.Rename(pod, logfile.Previous(pod)); err != nil {
				t.Error(err)
			}
			writeLog(t, pod, true, "second run\n")
		case "first run\nsecond run\n":
			cancel()
		}
		return len(text), nil
	}))
	if err != nil {
		t.Error(err)
	}
	if got != "first run\nsecond run\n" {
		t.Errorf("what was followed is %q", got)
	}
}

package local

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/status"
)

// rootCause returns the root cause in the status of a home in which nothing runs.
func rootCause(t *testing.T, p *Platform) status.Item {
	t.Helper()
	report, err := lifecycle.New(p).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cause, found := report.RootCause()
	if report.Ready || !found {
		t.Fatalf("it is said to be ready: %+v", report)
	}
	return cause
}

func TestStatusOfAStoppedPlatformNamesTheCauseAndTheCommand(t *testing.T) {
	p := openTestPlatform(t)
	if cause := rootCause(t, p); cause.Reason != "NotCreated" || !strings.HasSuffix(cause.Message, "run `strata up`") {
		t.Errorf("before there is a home it says %s", cause)
	}
	if p.Home.Exists() {
		t.Error("to look has made a home")
	}
	if _, err := home.Open(p.Home.Dir()); err != nil {
		t.Fatal(err)
	}
	if cause := rootCause(t, p); cause.Reason != "NotRunning" || !strings.Contains(cause.Message, "run `strata up`") {
		t.Errorf("where nothing runs it says %s", cause)
	}
	if err := p.Home.BeginDown("layer 2"); err != nil {
		t.Fatal(err)
	}
	cause := rootCause(t, p)
	if cause.Reason != "DownInterrupted" || !strings.Contains(cause.Message, "its step layer 2: run `strata down` to continue, or `strata up`") {
		t.Errorf("of a `down` that did not come to its end it says %s", cause)
	}
}

package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status/wait"
)

func TestWhileACommandChangesThePlatformOthersEndAtOnceAndNameIt(t *testing.T) {
	p := openTestPlatform(t)
	release, err := p.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	show := progress.New(io.Discard)
	for name, command := range map[string]func() error{
		"up":          func() error { _, err := lifecycle.New(p).Up(t.Context(), show, wait.All); return err },
		"down":        func() error { return lifecycle.New(p).Down(t.Context(), show, true) },
		"local start": func() error { return p.StartCluster(t.Context(), show) },
		"local stop":  func() error { return p.Stop(t.Context()) },
	} {
		if err := command(); !errors.Is(err, home.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("(pid %d): nothing was changed: wait", os.Getpid())) {
			t.Errorf("%s ends with %v", name, err)
		}
	}
	if !p.Home.Exists() {
		t.Error("the home was removed")
	}
}

func TestOnlyTheSameVersionAndCommitKeepsTheProgramsOfAHome(t *testing.T) {
	own := buildinfo.Read()
	for name, test := range map[string]struct {
		version, commit string
		want            bool
	}{
		"the same build":  {own.Version, own.Commit, true},
		"another version": {"v0.0.9", own.Commit, false},
		"another commit":  {own.Version, "716dc2ec", false},
	} {
		if got := sameBuild(supervisor.Status{Version: test.version, Commit: test.commit}); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

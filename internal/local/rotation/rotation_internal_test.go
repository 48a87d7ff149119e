package rotation

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

func TestASecondRotationIsRefusedAndChangesNothing(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Dir()+"/home.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Rotation{Local: &local.Platform{Home: h}}
	release, err := r.begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Git(t.Context()); !errors.Is(err, home.ErrLocked) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("a second rotation: %v", err)
	}
	if _, err := r.Passphrases(t.Context(), nil); !errors.Is(err, home.ErrLocked) {
		t.Errorf("a second rotation of another secret: %v", err)
	}
	release()
	if release, err = r.begin(); err != nil {
		t.Fatalf("after the first rotation: %v", err)
	}
	release()
}

func TestTheWaitForRunsSurvivesAShortFailure(t *testing.T) {
	down := errors.New("connection refused")
	runs := func(names ...string) map[string]bool {
		found := map[string]bool{}
		for _, name := range names {
			found[name] = true
		}
		return found
	}
	type look struct {
		runs map[string]bool
		err  error
	}
	for name, c := range map[string]struct {
		looks []look
		// last repeats after the looks.
		last look
		want error
	}{
		"no runs":                   {last: look{runs: runs()}},
		"a later run does not wait": {looks: []look{{runs: runs("a")}, {runs: runs("a", "b")}}, last: look{runs: runs("b")}},
		"a failure before":          {looks: []look{{err: down}}, last: look{runs: runs()}},
		"a failure between":         {looks: []look{{runs: runs("a")}, {err: down}, {runs: runs("a")}}, last: look{runs: runs()}},
		"failures without an end":   {looks: []look{{runs: runs("a")}}, last: look{err: down}, want: down},
		"a run without an end":      {last: look{runs: runs("a")}, want: errRunning},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errRunning)
				defer cancel()
				err := awaitEnd(ctx, func() (map[string]bool, error) {
					next := c.last
					if len(c.looks) > 0 {
						next, c.looks = c.looks[0], c.looks[1:]
					}
					return next.runs, next.err
				})
				if !errors.Is(err, c.want) {
					t.Errorf("the wait ends with %v, want %v", err, c.want)
				}
			})
		})
	}
}

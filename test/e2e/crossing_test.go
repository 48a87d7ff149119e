package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/test/docstest"
)

// crossing is a platform on which the team web tries to reach resources of the team shop.
type crossing struct {
	home   home.Home
	status supervisor.Status
	// web and admin are the kubeconfigs of the team's account and of the cluster's administrator.
	web, admin string
	// repository is a clone of the team's repository to which the team may push.
	repository string
	// google is the team's Google identity.
	google oauth2.TokenSource
}

// attempt is one attempt of the team.
type attempt struct {
	// what describes the attempt, as in docs/teams.md. with names the means.
	what, with string
	// try returns the denial. says matches its text, and is empty if the attempt succeeds.
	try  func(*crossing) error
	by   string
	says string
}

// errDenied marks those errors of try that are denials. Any other error is a failure of the test.
var errDenied = errors.New("denied")

// cross: cross REPOSITORY — runs every attempt of the table. REPOSITORY is a clone of web's repository. The kubeconfig of
// web must exist.
func cross(ts *testscript.TestScript, _ bool, args []string) {
	c, err := newCrossing(ts.Getenv("STRATA_HOME"), ts.MkAbs(args[0]))
	ts.Check(err)
	failed := false
	try := func(a attempt) {
		began := time.Now()
		if err := a.carryOut(c); err != nil {
			failed = true
			ts.Logf("FAIL: %s (%s): %v", a.what, a.with, err)
			return
		}
		ts.Logf("%s (%s): %.1fs", a.what, a.with, time.Since(began).Seconds())
	}
	for _, a := range slices.Concat(attempts, takeovers, possible) {
		try(a)
	}
	ts.Check(c.withFirst(func() error {
		for _, a := range seconds {
			try(a)
		}
		return nil
	}))
	if failed {
		ts.Fatalf("some attempts ended differently than docs/teams.md says")
	}
}

func (a attempt) carryOut(c *crossing) error {
	err := a.try(c)
	switch {
	case a.says == "":
		return err
	case err == nil:
		return errors.New("the attempt succeeded")
	case !errors.Is(err, errDenied):
		return fmt.Errorf("the attempt was not denied, but failed: %w", err)
	case !regexp.MustCompile(a.says).MatchString(err.Error()):
		return fmt.Errorf("the denial does not match %q: %w", a.says, err)
	}
	return nil
}

func newCrossing(dir, repository string) (*crossing, error) {
	h, err := home.At(dir)
	if err != nil {
		return nil, err
	}
	status, err := supervisor.Connect(h).Status(context.Background())
	if err != nil {
		return nil, err
	}
	c := &crossing{
		home: h, status: status, repository: repository,
		admin: h.AdminKubeconfig(), web: filepath.Join(h.Kubernetes(), "teams", "web.kubeconfig"),
	}
	configuration, err := teamLogin(dir, "web", filepath.Join(filepath.Dir(repository), "google-token"))
	if err != nil {
		return nil, err
	}
	login, err := google.CredentialsFromJSONWithType(context.Background(), []byte(configuration), google.ExternalAccount, iam.CloudPlatformScope)
	if err != nil {
		return nil, err
	}
	c.google = login.TokenSource
	return c, nil
}

// TestAttemptsToCrossAreDocumented compares the tables on the page with the attempts that crossing.txtar runs.
func TestAttemptsToCrossAreDocumented(t *testing.T) {
	page := docstest.Read(t, "docs/teams.md")
	for mark, table := range map[string][]attempt{"attempts": attempts, "takeovers": takeovers, "seconds": seconds, "possible": possible} {
		want := "| what | with | refused by |\n|---|---|---|\n"
		if mark == "possible" {
			want = "| what | with |\n|---|---|\n"
		}
		for _, a := range table {
			want += "| " + a.what + " | " + a.with + " |"
			if mark != "possible" {
				want += " " + a.by + " |"
			}
			want += "\n"
		}
		_, rest, _ := strings.Cut(page, "<!-- "+mark+" -->\n")
		if got, _, _ := strings.Cut(rest, "<!-- end of "+mark+" -->"); got != want {
			t.Errorf("between the marks %s docs/teams.md should have\n%s", mark, want)
		}
	}
}

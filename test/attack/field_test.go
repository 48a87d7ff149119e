package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/stratatest"
)

// field is a platform with two teams: the attacker mallory, and the victim web.
type field struct {
	testing.TB
	platform *stratatest.Platform
	home     home.Home
	status   served
	mallory  *team
	web      *team
	bait     *bait
}

// served are the fields of `strata local status -o json` that these tests use.
type served struct {
	GitURL string `json:"gitURL"`
	Server string `json:"server"`
}

// newField starts a platform.
func newField(t testing.TB) *field {
	t.Helper()
	p := stratatest.NewWithTools(t)
	f := &field{TB: t, platform: p, bait: newBait(t)}
	clone := filepath.Join(p.Dir, "clone")
	f.must(cloneTree(t.Context(), clone))
	f.strata(clone, "team", "add", "mallory", "--commit")
	f.strata(clone, "up")
	var err error
	f.home, err = home.At(p.Home)
	f.must(err)
	f.must(json.Unmarshal(f.strata(clone, "local", "status", "-o", "json"), &f.status))
	f.mallory, f.web = f.newTeam(clone, "mallory"), f.newTeam(clone, "web")
	return f
}

func (f *field) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// strata runs strata in a clone of the repository and uses the clone's teams.yaml.
func (f *field) strata(clone string, args ...string) []byte {
	f.Helper()
	cmd := f.platform.Command(f.Context(), args...)
	cmd.Dir = clone
	cmd.Env = append(cmd.Env, author...)
	out, err := cmd.Output()
	if err != nil {
		stderr := ""
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			stderr = string(exit.Stderr)
		}
		f.Fatalf("strata %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return out
}

// author contains the Git variables for the author of commits.
var author = []string{
	"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
}

// cloneTree clones the repository and commits the working tree's state on top, because Flux applies commits.
func cloneTree(ctx context.Context, dir string) error {
	root, err := toolchain.FindRoot(".")
	if err != nil {
		return err
	}
	if _, err := run(ctx, "", "git", "-c", "safe.directory=*", "clone", "--quiet", "--shared", root, dir); err != nil {
		return err
	}
	changed, err := run(ctx, root, "git", "-c", "safe.directory=*", "diff", "--binary", "HEAD")
	if err != nil || changed == "" {
		return err
	}
	apply := exec.CommandContext(ctx, "git", "apply", "--index")
	apply.Dir, apply.Stdin = dir, strings.NewReader(changed)
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the uncommitted changes: %w: %s", err, out)
	}
	_, err = run(ctx, dir, "git", "commit", "--quiet", "--message=Copy the working tree")
	return err
}

// run runs a command and returns its output. The error contains the output, too.
func run(ctx context.Context, dir string, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), author...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
	}
	return string(out), nil
}

// eventually waits until check returns true or an error.
func eventually(ctx context.Context, what string, check func(context.Context) (bool, error)) error {
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, check)
	if ctx.Err() != nil {
		return fmt.Errorf("timeout: wait until %s", what)
	}
	return err
}

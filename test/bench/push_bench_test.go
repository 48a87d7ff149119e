package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

const (
	// appliedBound limits the time from a push to the platform repository until its sync/ is applied.
	appliedBound = 3 * time.Second
	// programBound limits the time from the start of a push of a changed Program until its Stack is Ready.
	programBound = 6 * time.Second
	pushes       = 5
)

// repository is a clone of one of a platform's repositories.
type repository struct {
	b    *testing.B
	home home.Home
	dir  string
}

// cloneOf clones a repository with an account that may push to it.
func cloneOf(b *testing.B, p *stratatest.Platform, name, account string) repository {
	b.Helper()
	var status struct {
		GitURL string `json:"gitURL"`
	}
	if err := json.Unmarshal(p.Run("local", "status", "-o", "json"), &status); err != nil {
		b.Fatal(err)
	}
	h, err := home.At(p.Home)
	if err != nil {
		b.Fatal(err)
	}
	r := repository{b, h, filepath.Join(p.Dir, name)}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		b.Fatal(err)
	}
	r.git("clone", "--quiet", strings.Replace(status.GitURL, "//", "//"+account+"@", 1)+"/"+name+".git", ".")
	return r
}

func (r repository) git(args ...string) string {
	r.b.Helper()
	cmd := exec.CommandContext(r.b.Context(), "git", append([]string{
		"-c", "credential.helper=store --file=" + r.home.GitCredentials(), "-c", "user.name=Ada", "-c", "user.email=ada@example.com",
	}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.Output()
	if err != nil {
		r.b.Fatalf("git %s: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// commit replaces the first occurrence of a text in a file, and commits the change.
func (r repository) commit(file, old, changed string) {
	r.b.Helper()
	path := filepath.Join(r.dir, file)
	before, err := os.ReadFile(path)
	if err != nil {
		r.b.Fatal(err)
	}
	if !bytes.Contains(before, []byte(old)) {
		r.b.Fatalf("%s does not contain %q", path, old)
	}
	if err := os.WriteFile(path, bytes.Replace(before, []byte(old), []byte(changed), 1), 0o600); err != nil {
		r.b.Fatal(err)
	}
	r.git("commit", "--quiet", "--all", "--message=Change "+file)
}

// BenchmarkPush pushes commits to the platform repository, as an engineer does, and waits until Flux has applied each.
func BenchmarkPush(b *testing.B) {
	p := stratatest.NewWithTools(b)
	p.Run("up")
	clone := cloneOf(b, p, "platform", gitserver.Engineer)
	client := p.Kubernetes().Discovery().RESTClient()
	before := "10m"
	var worst time.Duration
	for i := range pushes {
		// Each commit changes the interval of one of the operator's syncs, so the interval in the cluster shows which
		// commit is applied.
		changed := fmt.Sprintf("%dm0s", 11+i)
		clone.commit("sync/clusters/local/operator.yaml", "interval: "+before, "interval: "+changed)
		before = changed
		clone.git("push", "--quiet")
		began := time.Now()
		err := wait.PollUntilContextTimeout(b.Context(), 20*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
			raw, err := client.Get().AbsPath("/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/platform/kustomizations").DoRaw(ctx)
			return bytes.Contains(raw, []byte(`"interval":"`+changed+`"`)), err
		})
		if err != nil {
			b.Fatalf("wait until a sync of the operator has interval %s: %v", changed, err)
		}
		worst = max(worst, time.Since(began))
	}
	figure.Seconds(b, "commit pushed to sync/ applied, the slowest of 5", worst, appliedBound)
}

package cloud_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

// pulumiRuns runs Pulumi's own command line in a program's folder, as one identity.
type pulumiRuns struct {
	testing.TB
	dir string
	env []string
}

func (c *emulator) pulumi(t testing.TB, backend string, key []byte) *pulumiRuns {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pulumi", "pulumi-language-yaml"} {
		if err := os.Symlink(toolchaintest.Path(t, name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := &pulumiRuns{TB: t, dir: dir, env: []string{
		"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + dir, "PULUMI_HOME=" + filepath.Join(dir, ".pulumi"), "TMPDIR=" + dir,
		"PULUMI_BACKEND_URL=" + backend, "PULUMI_CONFIG_PASSPHRASE=test", "PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "GOOGLE_CREDENTIALS=" + string(key),
	}}
	for name, value := range cloud.TunnelVariables(c.url, c.certificates()) {
		p.env = append(p.env, name+"="+value)
	}
	p.program("one")
	return p
}

// program writes a program that stores a value.
func (p *pulumiRuns) program(value string) {
	p.Helper()
	program := "name: tiny\nruntime: yaml\nresources:\n  kept:\n    type: pulumi:index:Stash\n    properties:\n      input: " + value +
		"\noutputs:\n  value: ${kept.output}\n"
	if err := os.WriteFile(filepath.Join(p.dir, "Pulumi.yaml"), []byte(program), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *pulumiRuns) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(p.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(p.dir, "bin", "pulumi"), append(args, "--non-interactive", "--logtostderr")...)
	command.Dir, command.Env = p.dir, p.env
	out, err := command.CombinedOutput()
	return string(out), err
}

func (p *pulumiRuns) must(args ...string) string {
	p.Helper()
	out, err := p.run(args...)
	if err != nil {
		p.Fatalf("pulumi %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TestPulumiKeepsItsStateInABucket runs the real command line as a service account that may use only the objects of one
// bucket.
func TestPulumiKeepsItsStateInABucket(t *testing.T) {
	long.Test(t)
	toolchaintest.Path(t, "pulumi")
	c := newEmulator(t, false)
	owner := c.storageAs(c.engineer)
	c.newBucket(owner, "team-web-state")
	c.newBucket(owner, "team-api-state")
	email, key := c.account("team-web")
	c.grantOn("team-web-state", "serviceAccount:"+email, "roles/storage.objectAdmin", nil)

	p := c.pulumi(t, "gs://team-web-state", key)
	p.must("stack", "init", "dev")
	p.must("up", "--yes", "--skip-preview")
	if out := p.must("stack", "output", "value"); strings.TrimSpace(out) != "one" {
		t.Errorf("the output is %q", out)
	}
	p.must("up", "--yes", "--skip-preview", "--expect-no-changes")
	p.must("refresh", "--yes", "--skip-preview")
	if _, err := read(owner, "team-web-state", ".pulumi/stacks/tiny/dev.json"); err != nil {
		t.Errorf("the state is not in the bucket: %v", err)
	}

	c.restart(false)
	if out := p.must("stack", "ls", "--all"); !strings.Contains(out, "dev") {
		t.Errorf("stacks after a restart of the emulator:\n%s", out)
	}
	if out := p.must("stack", "history"); strings.Count(out, "Version:") != 3 {
		t.Errorf("the history is\n%s", out)
	}

	other := c.pulumi(t, "gs://team-api-state", key)
	out, err := other.run("stack", "init", "dev")
	if err == nil || !strings.Contains(out, email+" does not have storage.objects.") || !strings.Contains(out, "403") {
		t.Errorf("another team's bucket: %v\n%s", err, out)
	}
	listed, err := owner.Objects.List("team-api-state").Do()
	if err != nil || len(listed.Items) != 0 {
		t.Errorf("the other team's bucket contains %+v, %v", listed, err)
	}

	p.must("destroy", "--yes", "--skip-preview")
	p.must("stack", "rm", "dev", "--yes")
	if _, err := owner.Objects.Get("team-web-state", ".pulumi/stacks/tiny/dev.json").Do(); code(err) != http.StatusNotFound {
		t.Errorf("the state still exists: %v", err)
	}
}

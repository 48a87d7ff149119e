package gke

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status/wait"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

// testRepository creates a folder with the files of Strata's repository that the checks read, and an engineer who is logged
// in to a backend and to Google.
func testRepository(t *testing.T) *Platform {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"go.mod", "teams.yaml", "Pulumi.yaml", "bootstrap/Pulumi.yaml", operatorImage} {
		content, err := os.ReadFile(filepath.Join(toolchaintest.Root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, name), string(content))
	}
	state, bin := filepath.Join(root, "state"), filepath.Join(root, "bin")
	for _, folder := range []string{state, bin} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tools := map[string]string{"pulumi": toolchaintest.Path(t, "pulumi")}
	for _, name := range []string{"go", "sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		tools[name] = path
	}
	for name, path := range tools {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(bin, "gke-gcloud-auth-plugin"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(bin, "gke-gcloud-auth-plugin"), 0o700); err != nil { //nolint:gosec // A command.
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"PATH": bin, "PULUMI_HOME": filepath.Join(root, "pulumi"), "PULUMI_SKIP_UPDATE_CHECK": "true",
		"PULUMI_BACKEND_URL": "file://" + state, "PULUMI_CONFIG_PASSPHRASE": "canary-passphrase", "PULUMI_CONFIG_PASSPHRASE_FILE": "",
		"GOOGLE_CREDENTIALS": `{"client_email": "ada@acme.example"}`, "GOOGLE_APPLICATION_CREDENTIALS": "", "GOOGLE_OAUTH_ACCESS_TOKEN": "",
		"CLOUDSDK_CONFIG": root,
	} {
		t.Setenv(name, value)
	}
	return Open(root, "dev")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTheCommandsOfTheChecksFixTheirFindings runs the command of each finding until there are no findings.
func TestTheCommandsOfTheChecksFixTheirFindings(t *testing.T) {
	long.Test(t)
	p := testRepository(t)
	values := map[string]string{
		"project": "acme-platform", "fleetUrl": "https://git.acme.example/fleet.git", "platformUrl": "https://git.acme.example/strata.git",
		"teamUrl": "https://git.acme.example/{team}.git", "gitUsername": "writer",
		"operatorImage": "registry.acme.example/strata-operator@sha256:" + strings.Repeat("0a", 32),
	}
	for _, want := range [][]string{
		{"there is no stack dev", "there is no stack dev"},
		{"project is missing", "fleetUrl is missing", "gitUsername is missing", "gitPassword is missing", "platformUrl is missing", "teamUrl is missing", "operatorImage is missing"},
		{"the embedded operator runs Stacks in its own pod"},
		nil,
	} {
		lacking := lackingOf(p.check(t.Context()))
		if len(lacking) != len(want) {
			t.Fatalf("%d requirements are missing, want %d: %v", len(lacking), len(want), lacking)
		}
		for i, finding := range lacking {
			if !strings.HasPrefix(finding.Found, want[i]) {
				t.Errorf("finding %d is %s, want %s", i, finding, want[i])
			}
			command := remedy(t, finding)
			for key, value := range values {
				command = strings.Replace(command, " "+key+" VALUE", " "+key+" "+value, 1)
			}
			for each := range strings.SplitSeq(command, " && ") {
				shell(t, p, each)
			}
		}
	}
}

func TestUpChangesNothingWhileARequirementIsMissing(t *testing.T) {
	p := testRepository(t)
	var shown strings.Builder
	_, err := lifecycle.New(p).Up(t.Context(), progress.New(&shown), wait.All)
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("the error of up is %v", err)
	}
	if strings.Contains(shown.String(), "layer 1") {
		t.Errorf("up continues:\n%s", shown.String())
	}
	if left, _ := filepath.Glob(filepath.Join(p.Root, "state", ".pulumi", "stacks", "*")); len(left) > 0 {
		t.Errorf("it has created %v", left)
	}
}

func TestAMissingRequirementIsFoundWithItsRemedy(t *testing.T) {
	long.Test(t)
	for name, tc := range map[string]struct {
		change      func(t *testing.T, p *Platform)
		found, mend string
	}{
		"no login to Google": {func(t *testing.T, _ *Platform) {
			t.Helper()
			if onGoogle() {
				t.Skip("this machine has an identity of its own")
			}
			t.Setenv("GOOGLE_CREDENTIALS", "")
		}, "there are no application default credentials", "gcloud auth application-default login"},
		"a missing key file": {func(t *testing.T, p *Platform) {
			t.Helper()
			t.Setenv("GOOGLE_CREDENTIALS", filepath.Join(p.Root, "key.json"))
		}, "GOOGLE_CREDENTIALS names a file that does not exist", "unset GOOGLE_CREDENTIALS"},
		"no way to log in to the cluster": {func(t *testing.T, p *Platform) {
			t.Helper()
			if err := os.Remove(filepath.Join(p.Root, "bin", "gke-gcloud-auth-plugin")); err != nil {
				t.Fatal(err)
			}
		}, "it is not on PATH, and kubectl needs it to log in to the cluster", "gcloud components install gke-gcloud-auth-plugin"},
		"another passphrase": {func(t *testing.T, p *Platform) {
			t.Helper()
			shell(t, p, "pulumi config set --secret gitPassword --stack dev")
			t.Setenv("PULUMI_CONFIG_PASSPHRASE", "another")
		}, "the passphrase of stack dev is missing or wrong", "export PULUMI_CONFIG_PASSPHRASE_FILE=FILE"},
		"no pulumi": {func(t *testing.T, _ *Platform) {
			t.Helper()
			t.Setenv("PATH", "/nowhere")
			t.Setenv("HOME", "/nowhere")
		}, "it is neither on PATH nor in /nowhere/.pulumi/bin", pulumiInstall},
		"no login to a backend": {func(t *testing.T, _ *Platform) {
			t.Helper()
			t.Setenv("PULUMI_BACKEND_URL", "")
		}, "PULUMI_ACCESS_TOKEN must be set", "pulumi login gs://BUCKET"},
		"an invalid teams.yaml": {func(t *testing.T, p *Platform) {
			t.Helper()
			write(t, filepath.Join(p.Root, "teams.yaml"), "teams: 7\n")
		}, "", "correct the file"},
		"the other target": {func(t *testing.T, p *Platform) {
			t.Helper()
			shell(t, p, "pulumi config set target local --stack dev")
			for _, key := range []string{"fleetUrl", "platformUrl"} {
				shell(t, p, "pulumi config set "+key+" https://git.acme.example/x.git --stack dev")
			}
			shell(t, p, "pulumi config set teamUrl https://git.acme.example/{team}.git --stack dev")
			shell(t, p, "pulumi config set gitUsername writer --stack dev")
			shell(t, p, "pulumi config set --secret gitPassword --stack dev")
		}, "its target is local", "pulumi config set target gke --stack dev"},
	} {
		t.Run(name, func(t *testing.T) {
			p := testRepository(t)
			shell(t, p, "pulumi stack init dev --cwd bootstrap")
			shell(t, p, "pulumi stack init dev")
			shell(t, p, "pulumi config set project acme-platform --stack dev --cwd bootstrap")
			tc.change(t, p)
			for _, finding := range lackingOf(p.check(t.Context())) {
				if strings.Contains(finding.Found, tc.found) && strings.Contains(finding.Remedy, tc.mend) {
					return
				}
			}
			_, all := p.check(t.Context())
			t.Errorf("the finding is missing from %v", all)
		})
	}
}

func TestAnImageWithADigestHasNoNote(t *testing.T) {
	p := testRepository(t)
	if found := p.checkImage(); len(found) != 1 || !found[0].Note {
		t.Errorf("a tag has no note: %v", found)
	}
	path := filepath.Join(p.Root, operatorImage)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	digest := "    digest: sha256:" + strings.Repeat("0a", 32)
	write(t, path, strings.Replace(string(content), "    newTag: ", digest+"\n    newTag: ", 1))
	if found := p.checkImage(); len(found) > 0 {
		t.Errorf("a digest has a note: %v", found)
	}
}

func lackingOf(_ facts, findings []Finding) []Finding {
	var lacking []Finding
	for _, finding := range findings {
		if !finding.Note {
			lacking = append(lacking, finding)
		}
	}
	return lacking
}

// remedy returns the command that a finding names.
func remedy(t *testing.T, missing Finding) string {
	t.Helper()
	_, rest, _ := strings.Cut(missing.Remedy, "run `")
	command, _, found := strings.Cut(rest, "`")
	if !found {
		t.Fatalf("%s names no command", missing)
	}
	return command
}

// shell runs a command in the repository's root, and types a secret at a prompt.
func shell(t *testing.T, p *Platform, line string) {
	t.Helper()
	command := exec.Command("sh", "-c", line) //nolint:gosec // The test's own.
	command.Dir, command.Stdin = p.Root, io.Reader(nil)
	if strings.Contains(line, "--secret") {
		command.Stdin = strings.NewReader("canary " + line)
	}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

func TestAnInterruptNamesTheCommandsOfItsTarget(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := lifecycle.New(Open(t.TempDir(), "prod")).Up(ctx, progress.New(io.Discard), wait.All)
	if err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "`strata up --target gke --env prod`") {
		t.Errorf("it says %v", err)
	}
}

// TestAStackThatDoesNotExistHasNoResources reads the stacks of an engineer's own Pulumi.
func TestAStackThatDoesNotExistHasNoResources(t *testing.T) {
	p := testRepository(t)
	for _, layer := range []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer} {
		if state, err := p.State(t.Context(), layer); err != nil || len(state.Resources) > 0 {
			t.Errorf("layer %s: %v, %v", layer, state.Resources, err)
		}
	}
	if config, err := p.Config(t.Context(), true); err != nil || config != nil {
		t.Errorf("the cluster is %v, %v", config, err)
	}
	plan := lifecycle.New(p).Plan(t.Context(), false)
	if plan.Unknown != "" || len(plan.Lost) > 0 {
		t.Errorf("the plan is %+v", plan)
	}
}

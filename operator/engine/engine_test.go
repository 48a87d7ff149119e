package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/test/killedlock"
	"github.com/strata-platform/strata/test/long"
)

// toolPath returns a PATH with pulumi, its YAML language host and nothing else.
func toolPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"pulumi", "pulumi-language-yaml"} {
		if err := os.Symlink(toolchaintest.Path(t, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return "PATH=" + dir
}

// fixture is an engine with its own backend.
type fixture struct {
	*engine.Engine
	backend string
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	return fixture{
		Engine:  &engine.Engine{Folders: &workdir.Folders{Parent: t.TempDir()}, Env: []string{toolPath(t)}},
		backend: filepath.Join(t.TempDir(), "made", "on", "demand"),
	}
}

func (f fixture) request(program string) engine.Request {
	return engine.Request{
		Operation:     engine.Up,
		Project:       "shop",
		Program:       []byte("name: shop\nruntime: yaml\n" + program),
		Stack:         "dev",
		Backend:       "file://" + f.backend,
		BackendFolder: filepath.Dir(f.backend),
		Env:           map[string]string{"PULUMI_CONFIG_PASSPHRASE": "open sesame"},
		Secrets:       []string{"open sesame"},
	}
}

// run runs a request and checks that the folder of runs is empty afterwards.
func (f fixture) run(t *testing.T, req engine.Request) (*engine.Result, error) {
	t.Helper()
	result, err := f.Run(t.Context(), req)
	left, readErr := os.ReadDir(f.Folders.Parent)
	if readErr != nil || len(left) != 0 {
		t.Errorf("folder of runs holds %v (%v), want nothing", left, readErr)
	}
	return result, err
}

func (f fixture) mustRun(t *testing.T, req engine.Request) *engine.Result {
	t.Helper()
	result, err := f.run(t, req)
	if err != nil {
		t.Fatalf("%s: %v", req.Operation, err)
	}
	return result
}

func TestUpReturnsOutputsAndWhichAreSecret(t *testing.T) {
	f := newFixture(t)
	req := f.request(`
config:
  size: {type: integer}
  token: {type: string, secret: true}
outputs:
  doubled: ${size}
  settings: ${settings}
  token: ${token}
  nested: {inner: ["${token}"]}
variables:
  settings: {mode: fast}
`)
	req.Config = map[string]json.RawMessage{"size": json.RawMessage("21")}
	req.SecretConfig = map[string]string{"token": "canary-4711"}

	for _, attempt := range []string{"first", "second"} {
		result := f.mustRun(t, req)
		for name, want := range map[string]string{"doubled": "21", "settings": `{"mode":"fast"}`, "token": "", "nested": ""} {
			got := result.Outputs[name]
			if string(got.Value) != want || got.Secret != (want == "") {
				t.Errorf("%s run: output %s = %s (secret %v), want %q", attempt, name, got.Value, got.Secret, want)
			}
		}
		if strings.Contains(fmt.Sprint(result), "canary-4711") {
			t.Errorf("%s run: the result holds the secret", attempt)
		}
	}
	state, err := os.ReadFile(filepath.Join(f.backend, ".pulumi", "stacks", "shop", "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(state), "canary-4711") {
		t.Error("the state holds the secret in plain text")
	}
}

func TestDestroyNeedsNoProgram(t *testing.T) {
	f := newFixture(t)
	f.mustRun(t, f.request("outputs: {a: 1}"))

	req := f.request("")
	req.Operation, req.Program = engine.Destroy, nil
	if result := f.mustRun(t, req); result.Changes["delete"] != 1 {
		t.Errorf("changes %v, want one deletion", result.Changes)
	}
	if result := f.mustRun(t, req); result.Changes["delete"] != 0 {
		t.Errorf("changes %v of a second destroy, want none", result.Changes)
	}
}

func TestFailures(t *testing.T) {
	f := newFixture(t)
	cases := map[string]struct {
		change  func(*engine.Request)
		reason  engine.Reason
		message string
	}{
		"a program that refers to nothing is named with its line": {
			func(r *engine.Request) { r.Program = []byte("name: shop\nruntime: yaml\noutputs:\n  a: ${nope.x}\n") },
			engine.Failed, `resource or variable named "nope" could not be found`,
		},
		"a language that is not installed is named": {
			func(r *engine.Request) { r.Program = []byte("name: shop\nruntime: nodejs\n") },
			engine.RuntimeMissing, `runtime "nodejs" of project "shop" is not installed here: there is no pulumi-language-nodejs on the PATH of runs; use an installed runtime`,
		},
		"a missing stack is reported when it must not be created": {
			func(r *engine.Request) { r.Stack, r.NoCreate = "other", true },
			engine.StackMissing, "no stack named 'other' found",
		},
		"destroying a stack that is not there is reported": {
			func(r *engine.Request) { r.Stack, r.Operation = "other", engine.Destroy },
			engine.StackMissing, "no stack named 'other' found",
		},
		"a wrong passphrase is reported": {
			func(r *engine.Request) { r.Env = map[string]string{"PULUMI_CONFIG_PASSPHRASE": "wrong"} },
			engine.Failed, "encrypted with another passphrase",
		},
		"a secret in the message is masked": {
			func(r *engine.Request) {
				r.Program = []byte("name: shop\nruntime: yaml\noutputs:\n  a: ${hidden-4711.x}\n")
				r.Secrets = []string{"hidden-4711"}
			},
			engine.Failed, "[secret]",
		},
	}
	f.mustRun(t, f.request("outputs: {a: {fn::secret: treasure}}"))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			req := f.request("")
			c.change(&req)
			_, err := f.run(t, req)
			var failure *engine.Error
			if !errors.As(err, &failure) {
				t.Fatalf("error %v, want an *engine.Error", err)
			}
			if failure.Reason != c.reason || !strings.Contains(failure.Message, c.message) {
				t.Errorf("%s: %s, want %s: ...%s...", failure.Reason, failure.Message, c.reason, c.message)
			}
			if strings.Contains(failure.Message, "\n") {
				t.Errorf("message %q has more than one line", failure.Message)
			}
			if strings.Contains(failure.Log+failure.Message, "hidden-4711") {
				t.Error("the secret is in the log or the message")
			}
		})
	}
}

func TestRequestsThatCannotRunAreRefused(t *testing.T) {
	base := engine.Request{Operation: engine.Up, Project: "shop", Stack: "dev", Backend: "file:///nowhere", BackendFolder: "/nowhere"}
	cases := map[string]struct {
		change  func(*engine.Request)
		message string
	}{
		"unknown operation":       {func(r *engine.Request) { r.Operation = "explode" }, `operation "explode" is unknown`},
		"no project":              {func(r *engine.Request) { r.Project = "" }, "no project"},
		"stack that is a path":    {func(r *engine.Request) { r.Stack = "../../x/y/z" }, "is invalid"},
		"no backend":              {func(r *engine.Request) { r.Backend = "" }, "no backend"},
		"relative backend":        {func(r *engine.Request) { r.Backend = "file://./state" }, "absolute path"},
		"backend in run's home":   {func(r *engine.Request) { r.Backend = "file://~" }, "absolute path"},
		"variable of the engine":  {func(r *engine.Request) { r.Env = map[string]string{"PATH": "/evil"} }, "PATH is reserved"},
		"variable of the linker":  {func(r *engine.Request) { r.Env = map[string]string{"LD_PRELOAD": "x"} }, "LD_PRELOAD is reserved"},
		"plugin of another run":   {func(r *engine.Request) { r.Env = map[string]string{"PULUMI_DEBUG_PROVIDERS": "kubernetes:1"} }, "PULUMI_DEBUG_PROVIDERS is reserved"},
		"language of another run": {func(r *engine.Request) { r.Env = map[string]string{"PULUMI_DEBUG_LANGUAGES": "yaml:1"} }, "PULUMI_DEBUG_LANGUAGES is reserved"},
		"two places of a project": {func(r *engine.Request) { r.Program, r.Source = []byte("x"), tree{} }, "a project comes from one place"},
		"kubeconfig of the Stack": {func(r *engine.Request) { r.Env = map[string]string{"KUBECONFIG": "x"} }, "KUBECONFIG is reserved"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			req := base
			req.Operation = engine.Destroy
			c.change(&req)
			_, err := (&engine.Engine{Folders: &workdir.Folders{Parent: t.TempDir()}}).Run(t.Context(), req)
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("error %v, want one about %q", err, c.message)
			}
		})
	}
}

func TestOnlyAnOwnStaleLockIsRemoved(t *testing.T) {
	long.Test(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		host        string
		interrupted bool
		want        engine.Reason
	}{
		"own lock after an interruption goes":         {host, true, ""},
		"own lock without an interruption stays":      {host, false, engine.Locked},
		"another host's lock stays whatever happened": {"elsewhere", true, engine.Locked},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.mustRun(t, f.request(""))
			locks := filepath.Join(f.backend, ".pulumi", "locks", "organization", "shop", "dev")
			if err := os.MkdirAll(locks, 0o700); err != nil {
				t.Fatal(err)
			}
			lock := fmt.Sprintf(`{"pid":4194399,"username":"somebody","hostname":%q,"timestamp":"2026-01-02T03:04:05Z"}`, c.host)
			if err := os.WriteFile(filepath.Join(locks, "0.json"), []byte(lock), 0o600); err != nil {
				t.Fatal(err)
			}

			req := f.request("")
			req.Interrupted = c.interrupted
			_, err := f.run(t, req)
			var failure *engine.Error
			if errors.As(err, &failure) != (c.want != "") || (failure != nil && failure.Reason != c.want) {
				t.Fatalf("error %v, want reason %q", err, c.want)
			}
			if failure != nil && !strings.Contains(failure.Message, "somebody@"+c.host+", process 4194399") {
				t.Errorf("message %q does not say who holds the lock", failure.Message)
			}
		})
	}
}

func TestHalfWrittenLockOfAKilledRunDoesNotStopTheNext(t *testing.T) {
	long.Test(t)
	f := newFixture(t)
	f.mustRun(t, f.request(""))
	killedlock.Leave(t, f.backend, "shop", "dev")
	if _, err := f.run(t, f.request("")); err == nil {
		t.Error("a run took away what it cannot know to be its own")
	}
	req := f.request("")
	req.Interrupted = true
	f.mustRun(t, req)
}

func TestCleanEndsTheLeftoversOfAKilledProcess(t *testing.T) {
	f := newFixture(t)
	dir := filepath.Join(f.Folders.Parent, "run-1")
	if err := os.MkdirAll(filepath.Join(dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	left := exec.Command("sleep", "1000")
	left.Env = []string{"HOME=" + filepath.Join(dir, "home")}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	if err := f.Folders.Clean(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the process ended by itself")
	}
	if entries, err := os.ReadDir(f.Folders.Parent); err != nil || len(entries) > 0 {
		t.Errorf("%v are left (%v)", entries, err)
	}
}

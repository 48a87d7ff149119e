package engine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/test/long"
)

// countCalls replaces pulumi with a program that counts its calls in a folder that runs
// may write. The returned function gives the number of calls since the last time.
func (f fixture) countCalls(t *testing.T) func() int {
	t.Helper()
	original, calls := filepath.Join(f.tools(), "pulumi-real"), filepath.Join(f.backend, "calls")
	pulumi := filepath.Join(f.tools(), "pulumi")
	if err := os.Rename(pulumi, original); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>'%s'\nexec '%s' \"$@\"\n", calls, original)
	if err := os.WriteFile(pulumi, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return func() int {
		data, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "canary") {
			t.Errorf("a secret is in the arguments: %s", data)
		}
		if err := os.Remove(calls); err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "\n")
	}
}

func TestRunsCallPulumiAsOftenAsNeeded(t *testing.T) {
	long.Test(t)
	f := newFixture(t)
	if err := os.MkdirAll(f.backend, 0o700); err != nil {
		t.Fatal(err)
	}
	calls := f.countCalls(t)
	program := "config:\n"
	req := f.request("")
	req.SecretConfig = map[string]string{}
	for i := range 5 {
		name := fmt.Sprintf("token%d", i)
		program += "  " + name + ": {type: string, secret: true}\n"
		req.SecretConfig[name] = fmt.Sprintf("canary-%d: \"quoted\"\nand more", i)
	}
	program += "outputs:\n  token: ${token1}\n"
	req.Program = f.request(program).Program
	secrets := func() {
		t.Helper()
		result := f.mustRun(t, req)
		if !result.Outputs["token"].Secret {
			t.Errorf("output %s, want a secret", result.Outputs["token"].Value)
		}
	}
	secrets()
	if n := calls(); n != 2 {
		t.Errorf("%d calls of the first run, want one to make the stack and one to run it", n)
	}
	secrets()
	if n := calls(); n != 1 {
		t.Errorf("%d calls of a later run, want one", n)
	}
	// A restarted operator has no cached key.
	f.Engine = &engine.Engine{Folders: f.Folders, Env: f.Env}
	secrets()
	if n := calls(); n != 2 {
		t.Errorf("%d calls of a run after a restart, want one for the key and one to run it", n)
	}
	secrets()
	if n := calls(); n != 1 {
		t.Errorf("%d calls of the run after that, want one", n)
	}
	if got := f.output(t, req, "token"); got != req.SecretConfig["token1"] {
		t.Errorf("the program was given %q, want %q", got, req.SecretConfig["token1"])
	}
	req.Env["PULUMI_CONFIG_PASSPHRASE"] = "wrong"
	if _, err := f.run(t, req); err == nil || !strings.Contains(err.Error(), "encrypted with another passphrase") {
		t.Errorf("error %v, want one about the passphrase", err)
	}
}

// output reads an output by pulumi. The output may be secret.
func (f fixture) output(t *testing.T, req engine.Request, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), req.Program, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(f.tools(), "pulumi"), "stack", "output", name, "--show-secrets", "--stack", req.Stack)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(f.Env), "HOME="+dir, "PULUMI_HOME="+dir, "PULUMI_BACKEND_URL="+req.Backend, "PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_CONFIG_PASSPHRASE="+req.Env["PULUMI_CONFIG_PASSPHRASE"])
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func TestNewStackIsCreatedDespiteAWrongHint(t *testing.T) {
	f := newFixture(t)
	for range 2 {
		req := f.request("outputs: {a: 1}")
		req.New = true
		f.mustRun(t, req)
	}
}

package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/test/long"
)

// applied has secrets in all forms in which a state holds them: a config value, a literal, a text that contains a secret, and an
// output.
const applied = `config:
  token: {type: string, secret: true}
  port: {type: integer, secret: true}
  note: {type: string, secret: true}
resources:
  settings:
    type: kubernetes:core/v1:ConfigMap
    properties: {metadata: {namespace: NAMESPACE, name: settings, labels: {colour: red, size: small}}}
  renamed:
    type: kubernetes:core/v1:ConfigMap
    properties: {metadata: {namespace: NAMESPACE, name: before}}
  removed:
    type: kubernetes:core/v1:ConfigMap
    properties: {metadata: {namespace: NAMESPACE, name: removed}}
  login:
    type: kubernetes:core/v1:Secret
    properties:
      metadata: {namespace: NAMESPACE, name: login}
      stringData: {token: "${token}", address: "https://user:${token}@example.com", port: "port ${port}", literal: {fn::secret: canary-literal-literal}}
outputs:
  note: ${note}
`

func planFixture(t *testing.T) (f fixture, request func(operation engine.Operation, program string) engine.Request) {
	t.Helper()
	f, c, of := kubernetesFixture(t)
	namespace := c.namespace(t)
	request = func(operation engine.Operation, program string) engine.Request {
		req := of(strings.ReplaceAll(program, "NAMESPACE", namespace))
		req.Operation = operation
		req.SecretConfig = map[string]string{"token": "canary-token-token", "port": "65001", "note": "canary-note-note"}
		req.Env["PLAIN"], req.Env["CREDENTIAL"] = "plain", "canary-credential"
		req.Secrets = append(req.Secrets, "canary-credential")
		return req
	}
	f.mustRun(t, request(engine.Up, applied))
	return f, request
}

func TestAPlanShowsWhatAnUpdateWouldDo(t *testing.T) {
	long.Test(t)
	f, request := planFixture(t)
	state := filepath.Join(f.backend, ".pulumi", "stacks", "shop", "dev.json")
	before, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	unchanged := f.mustRun(t, request(engine.Plan, applied))
	if plan := unchanged.Plan; plan.More != 0 || plan.State == "" || plan.Changes["same"] < 3 {
		t.Errorf("the plan of an unchanged program is %+v", plan)
	}
	for _, step := range unchanged.Plan.Steps {
		if step.Name != "login" {
			t.Errorf("an unchanged program has the step %+v", step)
		}
		for _, field := range step.Fields {
			if field.Before != engine.HiddenValue || field.After != engine.HiddenValue {
				t.Errorf("%s differs: %+v", step.Name, field)
			}
		}
	}

	program := strings.NewReplacer("colour: red", "colour: blue", "name: before", "name: after", "  removed:\n", "  added:\n", "name: removed", "name: added").Replace(applied)
	result := f.mustRun(t, request(engine.Plan, program))
	steps := map[string]events.PlannedStep{}
	for _, step := range result.Plan.Steps {
		if step.Name != "login" {
			steps[step.Op+" "+step.Name] = step
		}
	}
	const kind = "kubernetes:core/v1:ConfigMap"
	if want := (map[string]events.PlannedStep{
		"update settings": {Op: "update", Name: "settings", Type: kind, Fields: []events.PlannedField{{Path: "metadata.labels.colour", Before: `"red"`, After: `"blue"`}}},
		"replace renamed": {Op: "replace", Name: "renamed", Type: kind, Fields: []events.PlannedField{{Path: "metadata.name", Before: `"before"`, After: `"after"`, Replaces: true}}},
		"create added":    {Op: "create", Name: "added", Type: kind},
		"delete removed":  {Op: "delete", Name: "removed", Type: kind},
	}); !reflect.DeepEqual(steps, want) {
		t.Errorf("steps %+v\nwant %+v", steps, want)
	}
	if result.Plan.State != unchanged.Plan.State {
		t.Error("two plans of one state have different digests")
	}
	if gone := f.mustRun(t, func() engine.Request { r := request(engine.Plan, ""); r.Program = nil; return r }()); gone.Plan.Changes["delete"] != 4 {
		t.Errorf("without a program, the counts are %v, want all resources deleted", gone.Plan.Changes)
	}
	after, err := os.ReadFile(state)
	if err != nil || string(after) != string(before) {
		t.Errorf("the plans changed the state (%v)", err)
	}

	f.mustRun(t, request(engine.Up, applied))
	if again := f.mustRun(t, request(engine.Plan, applied)); again.Plan.State != unchanged.Plan.State {
		t.Error("an update without changes changed the digest of the state")
	}
	changed := request(engine.Up, applied)
	changed.SecretConfig["note"] = "canary-another-note"
	f.mustRun(t, changed)
	if again := f.mustRun(t, request(engine.Plan, applied)); again.Plan.State == unchanged.Plan.State {
		t.Error("another secret did not change the digest of the state")
	}
}

func TestAPlanOfANewStackCreatesNothing(t *testing.T) {
	long.Test(t)
	f := newFixture(t)
	req := f.request("outputs: {a: 1}")
	req.Operation = engine.Plan
	result := f.mustRun(t, req)
	if result.Plan.State != "" || len(result.Plan.Steps) != 0 || len(result.Plan.Changes) != 0 {
		t.Errorf("plan %+v", result.Plan)
	}
	if _, err := os.Stat(f.backend); err == nil {
		t.Error("the plan made the folder of the backend")
	}
}

// In place of pulumi, the plan starts a program that prints everything that a hostile commit could find: the environment, all
// files of the run, the state with its secrets decrypted, and the folder of the backend.
func TestAPlanSeesNoSecret(t *testing.T) {
	long.Test(t)
	f, request := planFixture(t)
	tools := f.tools()
	if err := os.Rename(filepath.Join(tools, "pulumi"), filepath.Join(tools, "pulumi-real")); err != nil {
		t.Fatal(err)
	}
	// The spelling keeps the engine's mask from hiding what the program has found.
	script := fmt.Sprintf(`#!/bin/sh
PATH=$PATH:/usr/bin:/bin
{
	export
	if find .. -type f -exec cat {} +; then echo READ-ALL; fi
	if pulumi-real stack export --show-secrets --stack dev; then echo EXPORTED; fi
	if ls '%s'; then echo SEEN-BACKEND; fi
} 2>&1 | sed 's/anary/ANARY/g; s/pen sesame/PEN SESAME/g; s/65001/6-5001/g'
exec pulumi-real "$@"
`, f.backend)
	if err := os.WriteFile(filepath.Join(tools, "pulumi"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var printed string
	req := request(engine.Plan, strings.Replace(applied, "{fn::secret: canary-literal-literal}", "none", 1))
	req.Printed = func(text string) { printed += text }
	result := f.mustRun(t, req)
	seen := fmt.Sprintf("%s\n%s\n%+v", result.Log, printed, result.Plan)
	for _, done := range []string{"READ-ALL", "EXPORTED", "PLAIN"} {
		if !strings.Contains(seen, done) {
			t.Errorf("the attack was not carried out: there is no %s in\n%s", done, seen)
		}
	}
	for _, secret := range []string{"cANARY", "oPEN SESAME", "6-5001", "SEEN-BACKEND", "CREDENTIAL"} {
		if strings.Contains(seen, secret) {
			t.Errorf("the plan sees %s:\n%s", secret, seen)
		}
	}
}

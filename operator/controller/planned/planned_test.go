package planned_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/runrecord"
)

type noSource struct{}

func (noSource) Fetch(context.Context, string) (string, error) { return "", nil }

// given is a request as the run of a Stack makes it.
func given() engine.Request {
	return engine.Request{
		Operation: engine.Up, Project: "shop", Stack: "dev", Program: []byte("name: shop"),
		Config: map[string]json.RawMessage{"size": json.RawMessage(`{"a": 1}`)}, SecretConfig: map[string]string{"token": "canary-token"},
		Env:     map[string]string{"REGION": "eu", "PASSWORD": "canary-password", "PULUMI_BACKEND_URL": "file:///state", "GOOGLE_OAUTH_ACCESS_TOKEN": "canary-google"},
		Secrets: []string{"canary-password"}, Refresh: true,
	}
}

func TestContentIsThatOfThePlanOfACommit(t *testing.T) {
	plan := given()
	plan.Operation, plan.Refresh = engine.Plan, false
	plan.Config["size"] = json.RawMessage(`{"a":1}`)
	plan.SecretConfig["token"] = engine.HiddenValue
	plan.Env, plan.Secrets = map[string]string{"REGION": "eu", "GOOGLE_OAUTH_ACCESS_TOKEN": "none", "GCE_METADATA_HOST": "127.0.0.1:9"}, nil
	if planned.Content(plan, "") != planned.Content(given(), "any") {
		t.Error("a run and the plan of the same commit have different contents")
	}
	destroy := engine.Request{Operation: engine.Destroy, Project: "shop", Stack: "dev", Config: given().Config, Env: given().Env}
	if planned.Content(destroy, "") != planned.Content(engine.Request{Operation: engine.Plan, Project: "shop", Stack: "dev"}, "") {
		t.Error("a destroy and the plan of it have different contents")
	}
	if planned.Content(destroy, "") == planned.Content(given(), "") {
		t.Error("a destroy and an update have the same content")
	}
}

func TestContentDependsOnWhatARunDoes(t *testing.T) {
	seen := map[string]string{planned.Content(given(), "1"): "nothing"}
	for name, change := range map[string]func(*engine.Request){
		"project": func(r *engine.Request) { r.Project = "other" }, "stack": func(r *engine.Request) { r.Stack = "prod" },
		"program": func(r *engine.Request) { r.Program = []byte("name: shop\n") }, "config": func(r *engine.Request) { r.Config["size"] = json.RawMessage("2") },
		"name of a secret": func(r *engine.Request) { r.SecretConfig["other"] = "canary-token" },
		"variable":         func(r *engine.Request) { r.Env["REGION"] = "us" }, "targets": func(r *engine.Request) { r.Targets = []string{"urn"} },
		"dependents": func(r *engine.Request) { r.TargetDependents = true }, "replace": func(r *engine.Request) { r.Options.Replace = []string{"urn"} },
		"destroy that runs the program": func(r *engine.Request) { r.Operation, r.RunProgram = engine.Destroy, true },
		"source":                        func(r *engine.Request) { r.Program, r.Source = nil, noSource{} },
		"folder of a source":            func(r *engine.Request) { r.Program, r.Source, r.Path = nil, noSource{}, "infra" },
	} {
		r := given()
		change(&r)
		got := planned.Content(r, "1")
		if same, found := seen[got]; found {
			t.Errorf("another %s and another %s have the same content", name, same)
		}
		seen[got] = name
	}
	r := given()
	r.Program, r.Source = nil, noSource{}
	if planned.Content(r, "1") == planned.Content(r, "2") {
		t.Error("another version of a source is the same content")
	}
	secret := given()
	secret.SecretConfig["token"] = "canary-other"
	if planned.Content(secret, "") != planned.Content(given(), "") {
		t.Error("the content depends on the value of a secret")
	}
	next := given()
	next.Env[runrecord.ReasonVariable] = "strata run team-shop/shop-2"
	if planned.Content(next, "") != planned.Content(given(), "") {
		t.Error("the content of each run is another one")
	}
}

func TestStepsDoNotDependOnTheOrderOfThePreview(t *testing.T) {
	steps := []events.PlannedStep{
		{Op: "delete", Name: "b", Type: "gcp:sql/database:Database"}, {Op: "delete", Name: "a", Type: "gcp:sql/database:Database"},
		{Op: "replace", Name: "c", Type: "x:y:Z"}, {Op: "create", Name: "e", Type: "x:y:Z"}, {Op: "create", Name: "d", Type: "x:y:Z"},
	}
	first, hides := planned.Stack("shop", &events.Plan{Steps: steps, More: 1})
	slices.Reverse(steps)
	again, _ := planned.Stack("shop", &events.Plan{Steps: steps, More: 1})
	if !reflect.DeepEqual(first, again) || hides || first.Steps[0].Name != "a" || !first.Steps[0].LosesData || first.More != 1 {
		t.Errorf("the plans are %+v and %+v", first, again)
	}
	var many []events.PlannedStep
	for i := range 101 {
		many = append(many, events.PlannedStep{Op: "delete", Name: fmt.Sprint(i), Type: "gcp:sql/database:Database"})
	}
	shown, hides := planned.Stack("shop", &events.Plan{Steps: many})
	if status := (planned.Result{Stacks: nil, Hides: hides}).Status(); !hides || len(shown.Steps) != 100 || shown.More != 1 || status.Digest != "" || status.Phase != "Failed" {
		t.Errorf("a plan that hides the loss of data can be approved: %t, %+v", hides, status)
	}
}

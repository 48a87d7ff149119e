package plans_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/plans"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/long"
)

// runner is an engine that records its requests.
type runner struct {
	run func(context.Context, engine.Request) (*engine.Result, error)

	mu       sync.Mutex
	requests map[string]engine.Request
}

func (r *runner) Run(ctx context.Context, req engine.Request) (*engine.Result, error) {
	r.mu.Lock()
	if r.requests == nil {
		r.requests = map[string]engine.Request{}
	}
	r.requests[req.Stack] = req
	r.mu.Unlock()
	if r.run == nil {
		return creates("settings"), nil
	}
	return r.run(ctx, req)
}

func creates(names ...string) *engine.Result {
	result := &engine.Result{Plan: &events.Plan{Changes: map[string]int{"create": len(names)}}}
	for _, name := range names {
		result.Plan.Steps = append(result.Plan.Steps, events.PlannedStep{Op: "create", Name: name, Type: "kubernetes:core/v1:ConfigMap"})
	}
	return result
}

func program(name, value string) string {
	return fmt.Sprintf(`apiVersion: pulumi.com/v1
kind: Program
metadata: {name: %s}
program:
  configuration: {colour: {type: String, default: ""}, token: {type: String, default: ""}}
  resources:
    settings: {type: "kubernetes:core/v1:ConfigMap", properties: {metadata: {name: %[1]s}, data: {value: %q}}}
`, name, value)
}

func stack(name, more string) string {
	return fmt.Sprintf("apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: %s}\nspec: {programRef: {name: %[1]s}%s}\n", name, more)
}

func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {colour: %q}\n", name, value)
}

func manifests(documents ...string) string { return strings.Join(documents, "---\n") }

// TestAPlanShowsWhatTheCommitChanges plans a commit that changes a Program and a ConfigMap, adds a Stack and deletes two.
func TestAPlanShowsWhatTheCommitChanges(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "shows")
	colour := `, configRef: {colour: {name: colours, key: colour}}`
	tm.apply(t, manifests(
		program("same", "1"), stack("same", ""), program("changed", "1"), stack("changed", ""), program("coloured", "1"), stack("coloured", colour),
		configMap("colours", "red"), program("gone", "1"), stack("gone", ""), program("kept", "1"), stack("kept", ", destroyOnFinalize: false"),
	))
	for _, name := range []string{"gone", "kept", "changed"} {
		s := &v1.Stack{}
		if err := tm.Get(t.Context(), types.NamespacedName{Namespace: tm.namespace, Name: name}, s); err != nil {
			t.Fatal(err)
		}
		s.Status.ProjectInfo = &v1.ProjectInfo{Name: name, Stack: name, Backend: "file://" + tm.backends + "/" + tm.namespace}
		if err := tm.Status().Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	before := tm.versions(t)
	r := &runner{run: func(_ context.Context, req engine.Request) (*engine.Result, error) {
		if req.Stack != "gone" {
			return creates(req.Stack), nil
		}
		return &engine.Result{Plan: &events.Plan{Changes: map[string]int{"delete": 3}, State: "sha256:01", Uncompared: 2, Steps: []events.PlannedStep{
			{Op: "delete", Name: "login", Type: "gcp:sql/user:User"}, {Op: "update", Name: "a", Type: "b:c:D"},
			{Op: "delete", Name: "orders", Type: "gcp:sql/database:Database"},
		}}}, nil
	}}
	tm.start(t, r)
	tm.plan(t, "first", plan.Spec{Branch: "new", Sync: "sync", Manifests: manifests(
		program("same", "1"), stack("same", ""), program("changed", "2"), stack("changed", ""), program("coloured", "1"), stack("coloured", colour),
		configMap("colours", "blue"), program("fresh", "1"), strings.Replace(stack("fresh", ""), "{name: fresh}", "{name: fresh, annotations: {strata.dev/approval: always}}", 1),
	)})
	got := tm.complete(t, "first").Status
	want := []plan.Stack{
		{Name: "changed", Changes: map[string]int{"create": 1}, Steps: []plan.Step{{Op: "create", Name: "changed", Type: "kubernetes:core/v1:ConfigMap"}}},
		{Name: "coloured", Changes: map[string]int{"create": 1}, Steps: []plan.Step{{Op: "create", Name: "coloured", Type: "kubernetes:core/v1:ConfigMap"}}},
		// A commit can itself demand an approval.
		{Name: "fresh", Approval: "always", Changes: map[string]int{"create": 1}, Steps: []plan.Step{{Op: "create", Name: "fresh", Type: "kubernetes:core/v1:ConfigMap"}}},
		{Name: "gone", Approval: "data", Removed: true, State: "sha256:01", Uncompared: 2, Changes: map[string]int{"delete": 3}, Steps: []plan.Step{
			{Op: "delete", Name: "orders", Type: "gcp:sql/database:Database", LosesData: true}, {Op: "delete", Name: "login", Type: "gcp:sql/user:User"},
			{Op: "update", Name: "a", Type: "b:c:D"},
		}},
		{Name: "kept", Removed: true, Message: "the resources stay, because spec.destroyOnFinalize is false"},
	}
	for i, each := range got.Stacks {
		if (each.Content == "") != (each.Name == "kept") {
			t.Errorf("the content of Stack %s is %q", each.Name, each.Content)
		}
		got.Stacks[i].Content = ""
	}
	if !reflect.DeepEqual(got.Stacks, want) {
		t.Errorf("the plan is %+v\nwant %+v", got.Stacks, want)
	}
	if got.Phase != plan.Ready || got.Message != "" || got.Completed == nil || !strings.HasPrefix(got.Digest, "sha256:") {
		t.Errorf("the status is %+v", got)
	}
	if fresh := r.requests["fresh"]; string(fresh.Config["platform:instance"]) != `"strata"` || fresh.Operation != engine.Plan || fresh.Project != "fresh" {
		t.Errorf("admission has not filled in the new Stack: %+v", fresh)
	}
	if coloured := r.requests["coloured"]; string(coloured.Config["colour"]) != `"blue"` {
		t.Errorf("the preview gets colour %s, want that of the commit", coloured.Config["colour"])
	}
	if gone := r.requests["gone"]; gone.Program != nil || gone.Project != "gone" {
		t.Errorf("a Stack that the commit deletes has a program: %+v", gone)
	}
	if after := tm.versions(t); !slices.Equal(before, after) {
		t.Errorf("the Plan has changed objects:\n%q\nwant\n%q", after, before)
	}

	// The digest is that of the content, whenever it is planned.
	tm.plan(t, "second", plan.Spec{Branch: "other", Sync: "sync", Manifests: tm.get(t, "first").Spec.Manifests})
	if again := tm.complete(t, "second").Status; again.Digest != got.Digest {
		t.Errorf("the same plan has the digests %s and %s", again.Digest, got.Digest)
	}
}

// TestAPreviewGetsNoSecret looks for the values of Secrets in the requests of a hostile commit.
func TestAPreviewGetsNoSecret(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "secret")
	tm.apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: mine}\nstringData: {token: %s, other: %[1]s}", secretCanary))
	r := &runner{}
	tm.start(t, r)
	tm.plan(t, "first", plan.Spec{Manifests: manifests(program("shop", "${token}"), stack("shop", `,
  secretsRef: {token: {type: Secret, secret: {name: mine, key: token}}, literal: {type: Literal, literal: {value: canary-literal}}}, secrets: {mine: canary-spec, size: "1234"},
  envRefs: {TOKEN: {type: Secret, secret: {name: mine, key: token}}, GOOGLE_OAUTH_ACCESS_TOKEN: {type: Secret, secret: {name: mine, key: other}},
    PLAIN: {type: Literal, literal: {value: "1"}}}`))})
	if got := tm.complete(t, "first"); got.Status.Phase != plan.Ready {
		t.Fatalf("the Plan is %+v", got.Status)
	}
	req := r.requests["shop"]
	if got := req.Env["PULUMI_CONFIG_PASSPHRASE"]; got != passphraseCanary {
		t.Errorf("the engine reads the state with the passphrase %q", got)
	}
	delete(req.Env, "PULUMI_CONFIG_PASSPHRASE") // The engine replaces it: see its TestAPlanSeesNoSecret.
	for name, want := range map[string]string{"TOKEN": "", "PLAIN": "1", "GOOGLE_OAUTH_ACCESS_TOKEN": "none", "GCE_METADATA_HOST": "127.0.0.1:9"} {
		if req.Env[name] != want {
			t.Errorf("%s is %q, want %q", name, req.Env[name], want)
		}
	}
	for name := range req.Env {
		if strings.HasPrefix(name, "PULUMI_") || name == "GOOGLE_CREDENTIALS" {
			t.Errorf("the preview gets %s", name)
		}
	}
	if want := (map[string]string{"token": engine.HiddenValue, "literal": engine.HiddenValue, "mine": engine.HiddenValue, "size": "0"}); !reflect.DeepEqual(req.SecretConfig, want) {
		t.Errorf("the secret config is %v", req.SecretConfig)
	}
	token, _, err := req.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(decoded(t, token), `"sub":"system:serviceaccount:team-secret:strata-plan"`) {
		t.Errorf("the preview runs as %s", decoded(t, token))
	}
	if len(req.Secrets) != 2 {
		t.Errorf("the engine masks %d values, want the passphrase and the backend", len(req.Secrets))
	}
	content, err := json.Marshal(map[string]any{"env": req.Env, "config": req.Config, "secrets": req.SecretConfig, "program": string(req.Program)})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(content), "canary") {
		t.Errorf("the request has a secret: %s", content)
	}
	if status, _ := json.Marshal(tm.get(t, "first").Status); strings.Contains(string(status), "canary") {
		t.Errorf("the status has a secret: %s", status)
	}
}

// TestHostilePlansFail plans what no team may have.
func TestHostilePlansFail(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	tm := newTeam(t, c, "hostile")
	newTeam(t, c, "victim")
	r := &runner{}
	tm.start(t, r)
	var many []string
	for i := range 51 {
		many = append(many, stack(fmt.Sprintf("s%d", i), ""))
	}
	shop := program("shop", "1")
	for name, c := range map[string]struct {
		spec plan.Spec
		want string
	}{
		"another-account":   {plan.Spec{Account: "victim", Manifests: manifests(shop, stack("shop", ""))}, `spec.account "victim" is no account of team hostile`},
		"the-plans-account": {plan.Spec{Account: "strata-plan", Manifests: shop}, `spec.account "strata-plan" is no account of team hostile`},
		"another-namespace": {plan.Spec{Manifests: strings.Replace(shop, "{name: shop}", "{name: shop, namespace: team-victim}", 1)},
			"document 1 of spec.manifests: Program shop is in namespace team-victim: a Plan takes objects of its own namespace, team-hostile"},
		"another-kind": {plan.Spec{Manifests: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}"},
			"document 1 of spec.manifests: kind Secret of v1: a Plan takes the Stacks, Programs and orders of a commit, and ConfigMaps"},
		"many-stacks":  {plan.Spec{Manifests: manifests(many...)}, "document 51 of spec.manifests: a Plan takes at most 50 Stacks"},
		"twice":        {plan.Spec{Manifests: manifests(shop, shop)}, "document 2 of spec.manifests: there are two Programs named shop"},
		"no-name":      {plan.Spec{Manifests: "apiVersion: v1\nkind: ConfigMap\n"}, "document 1 of spec.manifests: the ConfigMap has no name"},
		"no-object":    {plan.Spec{Manifests: "[1, 2]"}, "document 1 of spec.manifests: it is not a Kubernetes object: it needs apiVersion and kind"},
		"bytes":        {plan.Spec{Manifests: "# " + strings.Repeat("é", 460_000)}, "spec.manifests has 920002 bytes, at most 900000 are possible"},
		"a-bomb":       {plan.Spec{Manifests: bomb()}, "document 1 of spec.manifests: "},
		"a-long-text":  {plan.Spec{Manifests: repeated()}, "document 1 of spec.manifests: its aliases make it larger than 8388608 bytes"},
		"as-the-plans": {plan.Spec{Manifests: manifests(shop, stack("shop", ", serviceAccountName: strata-plan"))}, "cannot be planned: Stack shop"},
		"a-type":       {plan.Spec{Manifests: manifests(strings.ReplaceAll(shop, "core/v1:ConfigMap", "core/v1:Pod"), stack("shop", ""))}, "the API server would refuse Program shop: "},
		"the-context":  {plan.Spec{Manifests: configMap("strata-context", "mine")}, "the API server would refuse ConfigMap strata-context: "},
		"a-repository": {plan.Spec{Manifests: "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: a}\nspec: {projectRepo: 'https://git.example.com/a.git'}"}, "cannot be planned: Stack a"},
		"no-program":   {plan.Spec{Manifests: stack("shop", "")}, "cannot be planned: Stack shop"},
		"a-reference":  {plan.Spec{Manifests: manifests(shop, stack("shop", ", configRef: {colour: {name: missing, key: x}}"))}, "cannot be planned: Stack shop"},
	} {
		tm.plan(t, name, c.spec)
		got := tm.complete(t, name).Status
		if got.Phase != plan.Failed || !strings.HasPrefix(got.Message, c.want) || got.Digest != "" {
			t.Errorf("%s: %s: %s\nwant Failed: %s", name, got.Phase, got.Message, c.want)
		}
		if name == "as-the-plans" && !strings.Contains(got.Stacks[0].Message, "spec.serviceAccountName is strata-plan. Stacks of team hostile may run as hostile") {
			t.Errorf("%s: the Plan does not repeat the API server's words: %s", name, got.Stacks[0].Message)
		}
		if err := tm.Delete(t.Context(), tm.parse(t, "{apiVersion: strata.dev/v1, kind: Plan, metadata: {name: "+name+"}}")); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.requests) > 0 {
		t.Errorf("%d previews ran", len(r.requests))
	}
}

// bomb returns a document whose aliases stand for gigabytes.
func bomb() string {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		text += fmt.Sprintf("  a%d: &a%[1]d [%s]\n", i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9))
	}
	return text
}

// repeated returns a document with few values, as parsers of YAML count them, whose aliases repeat a long text: they stand for
// gigabytes.
func repeated() string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: &a " + strings.Repeat("x", 800_000) + "\n  b: [" + strings.Repeat("*a,", 2000) + "]\n"
}

var _ plans.Runner = &runner{}

// decoded returns the claims of a token.
func decoded(t *testing.T, token string) string {
	t.Helper()
	content, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

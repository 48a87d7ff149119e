package plans_test

import (
	"context"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/operator/controller/google"
	"github.com/strata-platform/strata/operator/controller/plans"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/long"
)

// withIdentity gives the operator a Google identity, whose look-ups go to an address.
func withIdentity(address string) func(*plans.Options) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: "strata-plan"},
		Data: map[string][]byte{
			"GOOGLE_ACCOUNT": []byte("canary-email@acme.iam.gserviceaccount.com"), "GOOGLE_PROJECT": []byte("acme"),
			"GOOGLE_AUDIENCE": []byte(keyless.Audience("acme.svc.id.goog", "projects/acme/locations/europe-west1/clusters/strata")),
		},
	}
	return func(opts *plans.Options) {
		opts.Google = google.Identity{Client: fake.NewClientBuilder().WithObjects(secret).Build(), Namespace: "operator", Endpoint: address + "/"}
	}
}

// TestAPreviewLooksUpByTheOperatorOnly checks that the request of a preview has an address for look-ups, and no credential.
func TestAPreviewLooksUpByTheOperatorOnly(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "looks")
	r := &runner{}
	tm.start(t, r, withIdentity("http://127.0.0.1:1"))
	tm.plan(t, "first", plan.Spec{Manifests: manifests(program("shop", "1"), stack("shop", `, envRefs: {GOOGLE_SQL_CUSTOM_ENDPOINT: {type: Literal, literal: {value: "http://evil/"}},
  GOOGLE_CREDENTIALS: {type: Literal, literal: {value: canary}}, GOOGLE_PROJECT: {type: Literal, literal: {value: evil}}}`))})
	if got := tm.complete(t, "first"); got.Status.Phase != plan.Ready {
		t.Fatalf("the Plan is %+v", got.Status)
	}
	req := r.requests["shop"]
	delete(req.Env, "PULUMI_CONFIG_PASSPHRASE") // The engine replaces it.
	want := map[string]string{
		"GOOGLE_PROJECT": "acme", "GOOGLE_SQL_CUSTOM_ENDPOINT": "http://lookups.strata.internal:8080/sql/v1beta4/",
		"GOOGLE_OAUTH_ACCESS_TOKEN": "none", "GCE_METADATA_HOST": "127.0.0.1:9",
	}
	if !maps.Equal(req.Env, want) {
		t.Errorf("the preview gets %v, want %v", req.Env, want)
	}
	if len(req.Endpoints) != 1 || req.Endpoints[0].Serve == nil {
		t.Errorf("the preview reaches %+v besides the API server", req.Endpoints)
	}
}

// TestAStateInABucketIsReadByTheContextAlone plans Stacks of a team with a bucket.
func TestAStateInABucketIsReadByTheContextAlone(t *testing.T) {
	long.Test(t)
	const address = "gs://acme-strata-bucket"
	tm := newTeamIn(t, newCluster(t), "bucket", address)
	var mu sync.Mutex
	exports := map[string]engine.Request{}
	r := &runner{run: func(_ context.Context, req engine.Request) (*engine.Result, error) {
		if req.Operation != engine.Export {
			return creates("settings"), nil
		}
		mu.Lock()
		defer mu.Unlock()
		exports[req.Stack] = req
		if req.Stack == "fresh" {
			return nil, &engine.Error{Reason: engine.StackMissing, Message: "the stack does not exist in its backend"}
		}
		if req.Stack == "broken" {
			return nil, &engine.Error{Reason: engine.Failed, Message: "the bucket is gone"}
		}
		return &engine.Result{State: []byte("the state")}, nil
	}}
	tm.start(t, r)
	const own = `, envRefs: {GOOGLE_CREDENTIALS: {type: Literal, literal: {value: canary-own}}, HTTPS_PROXY: {type: Literal, literal: {value: "http://evil"}}}`
	tm.plan(t, "all", plan.Spec{Manifests: manifests(
		program("shop", "1"), stack("shop", own), program("fresh", "1"), stack("fresh", ""), program("broken", "1"), stack("broken", ""),
		program("elsewhere", "1"), stack("elsewhere", `, backend: "gs://evil?universe_domain=evil.example.com"`))})
	status := tm.complete(t, "all").Status
	failed := map[string]string{}
	for _, each := range status.Stacks {
		if each.Failed {
			failed[each.Name] = each.Message
		}
	}
	if failed["broken"] != "the bucket is gone" || !strings.Contains(failed["elsewhere"], "spec.backend") || len(failed) != 2 {
		t.Errorf("the failures are %v", failed)
	}
	want := engine.Request{
		Operation: engine.Export, Project: "shop", Stack: "shop", Backend: address,
		Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": passphraseCanary, "GOOGLE_CREDENTIALS": keyCanary}, Secrets: []string{passphraseCanary, keyCanary},
	}
	if got := exports["shop"]; !reflect.DeepEqual(got, want) {
		t.Errorf("the request for the state is %+v, want %+v", got, want)
	}
	if _, asked := exports["elsewhere"]; asked {
		t.Error("the operator has sent the team's credentials to another backend")
	}
	if got := r.requests["shop"]; string(got.State) != "the state" || got.Env["GOOGLE_CREDENTIALS"] != "" || got.Env["HTTPS_PROXY"] != "http://evil" {
		t.Errorf("the preview starts from %q with %v", got.State, got.Env)
	}
	if got := r.requests["fresh"]; got.Operation != engine.Plan || got.State == nil || len(got.State) != 0 {
		t.Errorf("the preview of a new Stack is %+v", got)
	}
}

// TestAStateWithAKeyIsReadInPlainText plans a Stack whose state a key encrypts, with which the engine itself cannot decrypt.
func TestAStateWithAKeyIsReadInPlainText(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	address := "file://" + filepath.Join(c.backends, "team-keyed")
	tm := newTeamIn(t, c, "keyed", address, func(a *hop.HopArgs) {
		a.Policy.SecretsProvider = pulumi.String("gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/keyed")
	})
	exported := make(chan engine.Request, 10)
	r := &runner{run: func(_ context.Context, req engine.Request) (*engine.Result, error) {
		if req.Operation != engine.Export {
			return creates("settings"), nil
		}
		exported <- req
		return &engine.Result{State: []byte("the state")}, nil
	}}
	tm.start(t, r)
	tm.plan(t, "all", plan.Spec{Manifests: manifests(program("shop", "1"), stack("shop", ""))})
	if status := tm.complete(t, "all").Status; len(status.Stacks) != 1 || status.Stacks[0].Failed {
		t.Fatalf("the plan is %+v", status)
	}
	folder := filepath.Join(c.backends, "team-keyed")
	want := engine.Request{
		Operation: engine.Export, Reveal: true, Project: "shop", Stack: "shop", Backend: address, BackendFolder: folder, StateRoot: c.backends,
		Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": passphraseCanary, "GOOGLE_CREDENTIALS": keyCanary}, Secrets: []string{passphraseCanary, keyCanary},
	}
	if got := <-exported; !reflect.DeepEqual(got, want) {
		t.Errorf("the request for the state is %+v, want %+v", got, want)
	}
	if got := r.requests["shop"]; string(got.State) != "the state" || got.Env["GOOGLE_CREDENTIALS"] != "" {
		t.Errorf("the preview starts from %q with %v", got.State, got.Env)
	}
}

package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/test/long"
)

// bucket starts an emulated Google Cloud with a bucket, and returns the variables with which runs use it.
func bucket(t *testing.T, f fixture) (address, credentials string) {
	t.Helper()
	address, credentials, _ = bucketAndKey(t, f)
	return address, credentials
}

// bucketAndKey is bucket, and also returns the name of a key of Cloud KMS.
func bucketAndKey(t *testing.T, f fixture) (address, credentials, key string) {
	t.Helper()
	var server *cloud.Server
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { server.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	server, err := cloud.New(cloud.Options{Dir: filepath.Join(t.TempDir(), "store"), BaseURL: front.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	login, err := server.EnsureProject("strata-local", "engineer@strata.local")
	if err != nil {
		t.Fatal(err)
	}
	token, err := google.CredentialsFromJSONWithType(t.Context(), login, google.AuthorizedUser, storage.CloudPlatformScope)
	if err != nil {
		t.Fatal(err)
	}
	client, err := storage.NewService(t.Context(), option.WithTokenSource(token.TokenSource), option.WithEndpoint(front.URL+"/storage/storage/v1/"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Buckets.Insert("strata-local", &storage.Bucket{Name: "team-web-state"}).Do(); err != nil {
		t.Fatal(err)
	}
	// Runs see the folders on their PATH.
	certificates := filepath.Join(strings.TrimPrefix(f.Env[0], "PATH="), "certificates")
	if err := os.Mkdir(certificates, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(certificates, "authority.pem"), server.Authority(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range cloud.TunnelVariables(front.URL, certificates) {
		f.Env = append(f.Env, name+"="+value)
	}
	return "gs://team-web-state", string(login), newKey(t, front.URL, token.TokenSource)
}

// TestARunMovesItsStateToAKey encrypts the state of a confined run with the emulated Cloud KMS, which the run reaches like its bucket.
func TestARunMovesItsStateToAKey(t *testing.T) {
	long.Test(t)
	f := newFixture(t)
	address, credentials, key := bucketAndKey(t, f)
	key = "gcpkms://" + key
	request := func(operation engine.Operation, value string) engine.Request {
		req := f.request("config: {token: {type: string, secret: true}}\nresources:\n  kept: {type: \"pulumi:index:Stash\", properties: {input: \"" + value + "\"}}\noutputs: {token: \"${token}\", kept: \"${kept.output}\"}\n")
		req.Operation, req.Backend, req.BackendFolder = operation, address, ""
		req.SecretConfig = map[string]string{"token": "canary-token-token"}
		req.Env["GOOGLE_CREDENTIALS"] = credentials
		return req
	}
	if _, err := f.Run(t.Context(), request(engine.Up, "one")); err != nil {
		t.Fatal(err)
	}
	move := request(engine.Up, "one")
	move.SecretsProvider, move.Options.ChangeSecretsProvider = key, true
	if result, err := f.Run(t.Context(), move); err != nil || len(result.Changes) != 1 || result.Changes["same"] == 0 {
		t.Fatalf("the move changed %+v, %v", result, err)
	}
	// From now on, no run has the passphrase.
	later := func(operation engine.Operation, value string) engine.Request {
		req := request(operation, value)
		req.SecretsProvider, req.Env["PULUMI_CONFIG_PASSPHRASE"] = key, "wrong"
		return req
	}
	result, err := f.Run(t.Context(), later(engine.Up, "two"))
	if err != nil || result.Changes["update"] != 1 {
		t.Fatalf("with the key: %+v, %v", result, err)
	}
	exported, err := f.Run(t.Context(), later(engine.Export, ""))
	if err != nil || !strings.Contains(string(exported.State), key) || strings.Contains(string(exported.State), "canary-token-token") {
		t.Errorf("the state is %s, %v", exported.State, err)
	}
	// A plan starts from the revealed state, without the key and without the secrets, and an approval of the update binds it.
	reveal := later(engine.Export, "")
	reveal.Reveal = true
	if exported, err = f.Run(t.Context(), reveal); err != nil || !strings.Contains(string(exported.State), "canary-token-token") {
		t.Fatalf("the revealed state is %s, %v", exported.State, err)
	}
	plan := later(engine.Plan, "three")
	plan.State, plan.SecretConfig = exported.State, map[string]string{"token": engine.HiddenValue}
	delete(plan.Env, "GOOGLE_CREDENTIALS")
	planned, err := f.Run(t.Context(), plan)
	if err != nil || planned.Plan.Changes["update"] != 1 || planned.Plan.State == "" || strings.Contains(planned.Log, "canary-token-token") {
		t.Fatalf("the plan is %+v, %v", planned, err)
	}
	approved := later(engine.Up, "three")
	approved.Approve = func(_ context.Context, shown *events.Plan) error {
		if shown.State != planned.Plan.State {
			t.Errorf("the update starts from %s, and its plan from %s", shown.State, planned.Plan.State)
		}
		return nil
	}
	if _, err := f.Run(t.Context(), approved); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(t.Context(), later(engine.Destroy, "")); err != nil {
		t.Error(err)
	}
}

// newKey creates a key in the emulator at an address, and returns its name.
func newKey(t *testing.T, emulator string, engineer oauth2.TokenSource) string {
	t.Helper()
	keys, err := cloudkms.NewService(t.Context(), option.WithTokenSource(engineer), option.WithEndpoint(emulator+"/cloudkms/"))
	if err != nil {
		t.Fatal(err)
	}
	const parent = "projects/strata-local/locations/europe-west1"
	if _, err := keys.Projects.Locations.KeyRings.Create(parent, &cloudkms.KeyRing{}).KeyRingId("strata").Do(); err != nil {
		t.Fatal(err)
	}
	made, err := keys.Projects.Locations.KeyRings.CryptoKeys.Create(parent+"/keyRings/strata", &cloudkms.CryptoKey{Purpose: "ENCRYPT_DECRYPT"}).CryptoKeyId("web").Do()
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

func TestAPlanStartsFromAStateInABucket(t *testing.T) {
	long.Test(t)
	f := newFixture(t)
	address, credentials := bucket(t, f)
	request := func(operation engine.Operation, value string) engine.Request {
		req := f.request("config: {token: {type: string, secret: true}}\nresources:\n  kept: {type: \"pulumi:index:Stash\", properties: {input: \"" + value + "\"}}\noutputs: {token: \"${token}\"}\n")
		req.Operation, req.Backend, req.BackendFolder = operation, address, ""
		req.SecretConfig = map[string]string{"token": "canary-token-token"}
		return req
	}
	withLogin := func(req engine.Request) engine.Request {
		req.Env["GOOGLE_CREDENTIALS"] = credentials
		return req
	}
	if _, err := f.Run(t.Context(), request(engine.Export, "")); err == nil || reason(err) == engine.StackMissing {
		t.Errorf("an export without credentials: %v", err)
	}
	if _, err := f.Run(t.Context(), withLogin(request(engine.Export, ""))); reason(err) != engine.StackMissing {
		t.Errorf("an export of a stack that does not exist: %v", err)
	}
	fresh := request(engine.Plan, "one")
	fresh.State = []byte{}
	if planned, err := f.Run(t.Context(), fresh); err != nil || planned.Plan.Changes["create"] != 1 || planned.Plan.State != "" {
		t.Errorf("the plan of a new stack is %+v, %v", planned, err)
	}
	if _, err := f.Run(t.Context(), withLogin(request(engine.Up, "one"))); err != nil {
		t.Fatal(err)
	}

	plan := func(value string) *engine.Result {
		t.Helper()
		exported, err := f.Run(t.Context(), withLogin(request(engine.Export, "")))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(exported.State); !strings.Contains(text, `"ciphertext"`) || strings.Contains(text, "canary") {
			t.Errorf("the exported state is %s", text)
		}
		req := request(engine.Plan, value)
		req.State = exported.State
		planned, err := f.Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return planned
	}
	if got := plan("one").Plan; got.Changes["same"] != 1 || len(got.Steps) != 0 {
		t.Errorf("the plan without a change is %+v", got)
	}
	before := plan("two").Plan
	if before.Changes["update"] != 1 || before.State == "" {
		t.Errorf("the plan of a change is %+v", before)
	}
	if _, err := f.Run(t.Context(), withLogin(request(engine.Up, "one"))); err != nil {
		t.Fatal(err)
	}
	if same := plan("two").Plan; same.State != before.State {
		t.Errorf("an update without a change has changed the digest of the state from %s to %s", before.State, same.State)
	}
	if _, err := f.Run(t.Context(), withLogin(request(engine.Up, "two"))); err != nil {
		t.Fatal(err)
	}
	if changed := plan("two").Plan; changed.State == before.State {
		t.Error("an update has not changed the digest of the state")
	}
	if _, err := f.Run(t.Context(), request(engine.Plan, "two")); err == nil || !strings.Contains(err.Error(), "the stack's state cannot be read") {
		t.Errorf("a plan without the state: %v", err)
	}
}

// reason returns the reason of a failed run, or "".
func reason(err error) engine.Reason {
	if failure := (*engine.Error)(nil); errors.As(err, &failure) {
		return failure.Reason
	}
	return ""
}

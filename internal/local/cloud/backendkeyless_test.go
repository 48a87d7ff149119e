package cloud_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/api/cloudkms/v1"

	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

// TestPulumiNeedsNoKey runs the real command line with a token of a Kubernetes account, in the configuration that the operator gives
// its runs: for a state in a bucket, and for a key of Cloud KMS. It reaches the emulator by the variables of the tunnel only.
func TestPulumiNeedsNoKey(t *testing.T) {
	long.Test(t)
	toolchaintest.Path(t, "pulumi")
	f, email := newFederated(t)
	f.newKeys("web")
	f.newBucket(f.storageAs(f.engineer), "team-web-state")
	member := "serviceAccount:" + email
	f.grantOn("team-web-state", member, "roles/storage.objectAdmin", nil)
	policy := &cloudkms.Policy{Bindings: []*cloudkms.Binding{{Role: "roles/cloudkms.cryptoKeyEncrypterDecrypter", Members: []string{member}}}}
	if _, err := f.kmsREST(t).Projects.Locations.KeyRings.CryptoKeys.SetIamPolicy(keyOf("web"), &cloudkms.SetIamPolicyRequest{Policy: policy}).Do(); err != nil {
		t.Fatal(err)
	}
	as := keyless.Identity{Account: email, Audience: keyless.Audience(pool, parent+"/clusters/strata")}
	file := filepath.Join(t.TempDir(), "google-token")
	if err := os.WriteFile(file, []byte(f.token("web", as.Pool())), 0o600); err != nil {
		t.Fatal(err)
	}
	configuration, err := as.Configuration(file)
	if err != nil {
		t.Fatal(err)
	}
	p := f.pulumi(t, "gs://team-web-state", []byte(configuration))
	p.must("stack", "init", "dev", "--secrets-provider", "gcpkms://"+keyOf("web"))
	p.must("config", "set", "--secret", "token", "canary-token")
	p.must("up", "--yes", "--skip-preview")
	if out := p.must("config", "get", "token"); strings.TrimSpace(out) != "canary-token" {
		t.Errorf("the secret is %q", out)
	}

	// The client reads the file again for each exchange.
	if err := os.WriteFile(file, []byte(f.token("api", as.Pool())), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := p.run("stack", "ls"); err == nil || !strings.Contains(out, "iam.serviceAccounts.getAccessToken") {
		t.Errorf("with the token of another team: %v\n%s", err, out)
	}
}

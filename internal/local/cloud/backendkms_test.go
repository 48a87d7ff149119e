package cloud_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/kms/apiv1/kmspb"
	"google.golang.org/api/cloudkms/v1"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

// TestPulumiEncryptsWithAKey runs the real command line as a service account that may use one key. The command reaches the
// emulator by the variables of the tunnel only: neither Pulumi nor its library has a setting for the endpoint.
func TestPulumiEncryptsWithAKey(t *testing.T) {
	long.Test(t)
	toolchaintest.Path(t, "pulumi")
	c := newEmulator(t, false)
	owner := c.newKeys("web", "shop")
	c.newBucket(c.storageAs(c.engineer), "team-web-state")
	email, key := c.account("team-web")
	member := "serviceAccount:" + email
	c.grantOn("team-web-state", member, "roles/storage.objectAdmin", nil)
	policy := &cloudkms.Policy{Bindings: []*cloudkms.Binding{{Role: "roles/cloudkms.cryptoKeyEncrypterDecrypter", Members: []string{member}}}}
	if _, err := c.kmsREST(t).Projects.Locations.KeyRings.CryptoKeys.SetIamPolicy(keyOf("web"), &cloudkms.SetIamPolicyRequest{Policy: policy}).Do(); err != nil {
		t.Fatal(err)
	}

	p := c.pulumi(t, "gs://team-web-state", key)
	out, err := p.run("stack", "init", "other", "--secrets-provider", "gcpkms://"+keyOf("shop"))
	if err == nil || !strings.Contains(out, "cloudkms.cryptoKeyVersions.useToEncrypt") {
		t.Errorf("with another team's key: %v\n%s", err, out)
	}
	// A stack begins with a passphrase, and moves to the key.
	p.must("stack", "init", "dev")
	p.must("config", "set", "--secret", "token", "canary-token")
	p.must("up", "--yes", "--skip-preview")
	p.must("stack", "change-secrets-provider", "gcpkms://"+keyOf("web"))
	for i, variable := range p.env {
		if strings.HasPrefix(variable, "PULUMI_CONFIG_PASSPHRASE=") {
			p.env[i] = "PULUMI_CONFIG_PASSPHRASE="
		}
	}
	p.must("up", "--yes", "--skip-preview", "--expect-no-changes")
	if out := p.must("config", "get", "token"); strings.TrimSpace(out) != "canary-token" {
		t.Errorf("the secret is %q", out)
	}
	settings, err := os.ReadFile(filepath.Join(p.dir, "Pulumi.dev.yaml"))
	if err != nil || !strings.Contains(string(settings), "gcpkms://"+keyOf("web")) || strings.Contains(string(settings), "encryptionsalt") {
		t.Errorf("the settings are %s, %v", settings, err)
	}

	// Without the key, nobody reads the state.
	if _, err := owner.DestroyCryptoKeyVersion(t.Context(), &kmspb.DestroyCryptoKeyVersionRequest{Name: keyOf("web") + "/cryptoKeyVersions/1"}); err != nil {
		t.Fatal(err)
	}
	out, err = p.run("up", "--yes", "--skip-preview")
	if err == nil || !strings.Contains(out, "DESTROY_SCHEDULED") {
		t.Errorf("with a destroyed key: %v\n%s", err, out)
	}
}

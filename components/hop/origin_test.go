package hop_test

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
)

func TestTheArtifactsOfAnIdentity(t *testing.T) {
	engine, args := newEngine(), given()
	args.Source.Artifact = &hop.Artifact{
		URL: pulumi.String("oci://registry.example.com/web"), Versions: pulumi.String("1.x"),
		Identity: &hop.Identity{Issuer: "https://issuer.example.com", Subject: "https://a/b.yaml@main", TrustedRoot: "{}"},
	}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	const issuer, subject = `^https://issuer\.example\.com$`, `^https://a/b\.yaml@main$`
	spec := plain(t, engine.Get(t, "kubernetes:source.toolkit.fluxcd.io/v1:OCIRepository", "web-source-repository"), "spec").(map[string]any)
	want := map[string]any{
		"provider": "cosign", "trustedRootSecretRef": map[string]any{"name": hop.TrustedRootSecret},
		"matchOIDCIdentity": []any{map[string]any{"issuer": issuer, "subject": subject}},
	}
	if !reflect.DeepEqual(spec["verify"], any(want)) {
		t.Errorf("spec.verify is %v, want %v", spec["verify"], want)
	}
	policy := plain(t, engine.Get(t, policyType, "web-policy"), "spec").(map[string]any)["identity"]
	if demanded := map[string]any{"issuer": issuer, "subject": subject, "trustedRoot": hop.TrustedRootSecret}; !reflect.DeepEqual(policy, any(demanded)) {
		t.Errorf("the TenantPolicy demands %v, want %v", policy, demanded)
	}
	data := plain(t, engine.Get(t, secretType, "web-trusted-root"), "data").(map[string]any)
	if root := base64.StdEncoding.EncodeToString([]byte("{}")); data["trusted_root.json"] != root {
		t.Errorf("the Secret contains %v", data)
	}
}

func TestTheObjectsOfABucket(t *testing.T) {
	engine, args := newEngine(), given()
	args.Source.Bucket = &fluxcd.Bucket{Name: pulumi.String("web-deploy"), Endpoint: pulumi.String("storage.googleapis.com"), Provider: "gcp"}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	spec := plain(t, engine.Get(t, "kubernetes:source.toolkit.fluxcd.io/v1:Bucket", "web-source-bucket"), "spec").(map[string]any)
	if spec["bucketName"] != "web-deploy" || spec["provider"] != "gcp" {
		t.Errorf("the spec is %v", spec)
	}
	urls := plain(t, engine.Get(t, policyType, "web-policy"), "spec").(map[string]any)["sourceUrls"].([]any)
	if urls[1] != "https://storage.googleapis.com/web-deploy" {
		t.Errorf("the team's sources may use %v", urls)
	}
	args.Source.Verify = &hop.Verification{Mode: fluxcd.VerifyCommit, Keys: map[string]string{"a.asc": "key"}}
	if err := run(newEngine(), args); err == nil || !strings.Contains(err.Error(), "Flux verifies no signatures of a bucket") {
		t.Errorf("a verification of a bucket: %v", err)
	}
}

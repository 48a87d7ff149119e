package publish

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/publish"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

// at returns a tag of the repository.
func (s *site) at(t *testing.T, tag string) name.Tag {
	t.Helper()
	parsed, err := name.NewRepository(s.host+"/"+repository, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Tag(tag)
}

// copyTag gives an image another tag, as an attacker with the registry's login and without the key does.
func (s *site) copyTag(t *testing.T, from, to string) error {
	t.Helper()
	image, err := remote.Image(s.at(t, from), remote.WithAuth(login()))
	if err != nil {
		t.Fatal(err)
	}
	return remote.Write(s.at(t, to), image, remote.WithAuth(login()))
}

// forget removes a tag from the repository.
func (s *site) forget(t *testing.T, tag string) {
	t.Helper()
	if err := remote.Delete(s.at(t, tag), remote.WithAuth(login())); err != nil {
		t.Fatal(err)
	}
}

// signature returns the tag of the signature of a digest.
func signature(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// policies creates the policies of layer 3 for artifacts, and waits until the API server enforces them.
func (s *site) policies(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(toolchaintest.Root(t), "sync/policies/artifacts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), object); err != nil {
			t.Fatal(err)
		}
		if err := s.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": map[string]any{"namespace": namespace, "name": "probe"},
		"spec": map[string]any{"interval": "1h", "url": "oci://" + s.host + "/" + repository, "ref": map[string]any{"semver": "*"}},
	}}
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := s.Create(ctx, probe, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "spec.verify is not set"), nil
	})
	if err != nil {
		t.Fatal("the API server does not enforce the policies")
	}
}

// TestFluxAppliesOnlySignedAndNewerArtifacts attacks a source with the login of the registry, and without the key.
func TestFluxAppliesOnlySignedAndNewerArtifacts(t *testing.T) {
	long.Test(t)
	s := newSite(t)
	s.policies(t)
	first := s.publish(t, "a: 1", "", s.key)
	source := s.follow(t, "web", nil)
	offers := func(r publish.Result) func() bool {
		return func() bool { return revision(source) == r.Version+"@"+r.Digest }
	}
	// The environment of source-controller reaches no other machine: the verification needs no transparency log.
	s.until(t, source, "a signed artifact is offered", offers(first))
	if status, message := condition(source, "SourceVerified"); status != "True" {
		t.Fatalf("the artifact is not verified: %s", message)
	}
	refused := func() bool {
		status, message := condition(source, "SourceVerified")
		return status == "False" && strings.Contains(message, "failed to verify the signature using provider 'cosign'")
	}

	other, err := signing.EnsureKey("another key", filepath.Join(t.TempDir(), "other.key"))
	if err != nil {
		t.Fatal(err)
	}
	forged := s.publish(t, "a: forged", "", other)
	s.until(t, source, "an artifact with the signature of another key is refused", refused)
	if !offers(first)() {
		t.Errorf("source-controller offers %s", revision(source))
	}
	// source-controller would accept the signature of another artifact.
	if err := s.copyTag(t, signature(first.Digest), signature(forged.Digest)); err == nil || !strings.Contains(err.Error(), "made for another digest") {
		t.Errorf("the registry accepts the signature of another artifact: %v", err)
	}
	s.forget(t, signature(forged.Digest))
	s.until(t, source, "an artifact without a signature is refused", refused)

	second := s.publish(t, "a: 2", "", s.key)
	s.until(t, source, "a newer artifact is offered", offers(second))
	rolledBack := func() bool {
		_, message := condition(source, "ArtifactInStorage")
		return strings.Contains(message, "9.9.9@"+first.Digest)
	}
	if err := s.copyTag(t, first.Version, "9.9.9"); err != nil {
		t.Fatal(err)
	}
	s.until(t, source, "source-controller reads the older artifact", rolledBack)
	if !offers(second)() {
		t.Errorf("source-controller offers %s", revision(source))
	}
	s.forget(t, "9.9.9")
	third := s.publish(t, "a: 3", "", s.key)
	s.until(t, source, "a newer artifact is offered after the attack", offers(third))

	// The version's tag gets the content of an older version. The registry of a home replaces no version, but its login may delete one.
	if err := s.copyTag(t, first.Version, third.Version); err == nil || !strings.Contains(err.Error(), "the version of an artifact cannot change") {
		t.Errorf("the registry replaces a version: %v", err)
	}
	s.forget(t, third.Version)
	if err := s.copyTag(t, first.Version, third.Version); err != nil {
		t.Fatal(err)
	}
	s.until(t, source, "source-controller reads the moved tag", func() bool {
		_, message := condition(source, "ArtifactInStorage")
		return strings.Contains(message, third.Version+"@"+first.Digest)
	})
	if !offers(third)() {
		t.Errorf("source-controller offers %s", revision(source))
	}
}

func TestTheAPIServerRefusesSourcesWithoutVerification(t *testing.T) {
	long.Test(t)
	s := newSite(t)
	s.policies(t)
	for name, test := range map[string]struct {
		change func(spec map[string]any)
		says   string
	}{
		"as layer 2 creates it": {func(map[string]any) {}, ""},
		"a digest":              {func(spec map[string]any) { spec["ref"] = map[string]any{"digest": "sha256:" + strings.Repeat("0", 64)} }, ""},
		"no verification":       {func(spec map[string]any) { delete(spec, "verify") }, "spec.verify is not set"},
		"another tool": {func(spec map[string]any) {
			spec["verify"] = map[string]any{"provider": "notation", "secretRef": map[string]any{"name": keys}}
		}, "spec.verify.provider is notation"},
		"a Secret of the team's own": {func(spec map[string]any) {
			spec["verify"] = map[string]any{"provider": "cosign", "secretRef": map[string]any{"name": "mine"}}
		}, "does not name the Secret strata-publisher alone"},
		"anybody's identity": {func(spec map[string]any) {
			spec["verify"] = map[string]any{"provider": "cosign", "matchOIDCIdentity": []any{map[string]any{"issuer": ".*", "subject": ".*"}}}
		}, "does not name the Secret strata-publisher alone"},
		"a tag":  {func(spec map[string]any) { spec["ref"] = map[string]any{"tag": "latest"} }, "spec.ref has neither semver nor digest alone"},
		"no ref": {func(spec map[string]any) { delete(spec, "ref") }, "spec.ref has neither semver nor digest alone"},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Create(t.Context(), s.source("web", test.change), client.DryRunAll)
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v, want %q", err, test.says)
			}
		})
	}
	elsewhere := s.source("web", func(spec map[string]any) { delete(spec, "verify") })
	elsewhere.SetNamespace("flux-system")
	if err := s.Create(t.Context(), elsewhere, client.DryRunAll); err != nil {
		t.Errorf("the policy refuses a source in a namespace of nobody: %v", err)
	}
}

// TestASyncNeverAppliesAnOlderVersion covers source-controller without its files: it has forgotten the newest version, and
// kustomize-controller has not.
func TestASyncNeverAppliesAnOlderVersion(t *testing.T) {
	long.Test(t)
	s := newSite(t)
	s.policies(t)
	sync := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"namespace": namespace, "name": "web"},
		"spec": map[string]any{"interval": "1h", "prune": true, "sourceRef": map[string]any{"kind": "OCIRepository", "name": "web"}},
	}}
	if err := s.Create(t.Context(), sync); err != nil {
		t.Fatal(err)
	}
	a, b := "@sha256:"+strings.Repeat("a", 64), "@sha256:"+strings.Repeat("b", 64)
	for _, step := range []struct{ attempted, applied, says string }{
		{"main@sha1:" + strings.Repeat("0", 40), "main@sha1:" + strings.Repeat("0", 40), ""},
		{"0.9.0" + a, "0.9.0" + a, ""},
		{"0.10.0" + b, "0.10.0" + b, ""},
		{"0.9.0" + a, "0.10.0" + b, "rolled back: version 0.9.0 does not follow 0.10.0, which runs"},
		{"0.10.0" + a, "0.10.0" + b, "rolled back: version 0.10.0 does not follow 0.10.0"},
		{"latest" + a, "0.10.0" + b, "rolled back: the artifact with the tag latest"},
		{"0.10.1" + a, "0.10.0" + b, ""},
	} {
		changed := sync.DeepCopy()
		if err := unstructured.SetNestedMap(changed.Object, map[string]any{"lastAttemptedRevision": step.attempted, "lastAppliedRevision": step.applied}, "status"); err != nil {
			t.Fatal(err)
		}
		err := s.Status().Patch(t.Context(), changed, client.MergeFrom(sync))
		if (err == nil) != (step.says == "") || err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("%v: the error is %v", step, err)
		}
		if err == nil {
			sync = changed
		}
	}
}

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
func (s *site) copyTag(t *testing.T, from, to string) {
	t.Helper()
	image, err := remote.Image(s.at(t, from), remote.WithAuth(login()))
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(s.at(t, to), image, remote.WithAuth(login())); err != nil {
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

func TestSourceControllerVerifiesSignaturesWithoutTheNetwork(t *testing.T) {
	long.Test(t)
	s := newSite(t)
	s.policies(t)
	first := s.publish(t, "a: 1", "", s.key)
	source := s.follow(t, "web", nil)
	offered := func(r publish.Result) func() bool {
		return func() bool { return revision(source) == r.Version+"@"+r.Digest }
	}
	s.until(t, source, "a signed artifact", offered(first))
	if status, message := condition(source, "SourceVerified"); status != "True" {
		t.Fatalf("the artifact is not verified: %s", message)
	}
	other, err := signing.EnsureKey("another key", filepath.Join(t.TempDir(), "other.key"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := s.publish(t, "a: 2", "", other)
	s.until(t, source, "an artifact with the signature of another key", func() bool {
		status, message := condition(source, "SourceVerified")
		return status == "False" && strings.Contains(message, "failed to verify the signature using provider 'cosign'")
	})
	if !offered(first)() {
		t.Errorf("source-controller offers %s", revision(source))
	}
	_ = wrong
	second := s.publish(t, "a: 3", "", s.key)
	s.until(t, source, "a new version", offered(second))
	s.copyTag(t, first.Version, "9.9.9")
	time.Sleep(5 * time.Second)
	s.until(t, source, "x", func() bool { return true })
	x, _ := yaml.Marshal(source.Object["status"])
	t.Logf("%s", x)
	t.Fail()
}

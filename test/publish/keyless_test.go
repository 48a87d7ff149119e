package publish

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/publish"
	"github.com/strata-platform/strata/internal/publish/keyless"
	"github.com/strata-platform/strata/internal/publish/keyless/keylesstest"
	"github.com/strata-platform/strata/test/long"
)

// identify publishes a tree that an identity of the emulated Sigstore signs.
func (s *site) identify(t *testing.T, emulated *keylesstest.Sigstore, content, subject string) publish.Result {
	t.Helper()
	result, err := publish.Publish(t.Context(), publish.Options{
		Dir: tree(t, content), Repository: s.host + "/" + repository, Insecure: true, Login: login(),
		Keyless: &keyless.Signer{Token: keylesstest.Token("https://issuer.example.com", subject), FulcioURL: emulated.URL, RekorURL: emulated.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestFluxAppliesOnlyArtifactsOfTheIdentity signs by identities of an emulated Sigstore. source-controller trusts it by its trusted root,
// and reaches no other machine.
func TestFluxAppliesOnlyArtifactsOfTheIdentity(t *testing.T) {
	long.Test(t)
	const subject = "https://git.example.com/acme/web/deploy.yaml@refs/heads/main"
	s, emulated := newSite(t), keylesstest.Start(t)
	s.policies(t)
	if err := s.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "strata-trusted-root", Namespace: namespace},
		Data:       map[string][]byte{"trusted_root.json": emulated.TrustedRoot(t)},
	}); err != nil {
		t.Fatal(err)
	}
	first := s.identify(t, emulated, "a: 1", subject)
	if first.Key != "" || first.Identity == nil || first.Identity.Subject != subject {
		t.Errorf("the result is %+v", first)
	}
	if again := s.identify(t, emulated, "a: 1", subject); again.Published || again.Digest != first.Digest {
		t.Errorf("the same tree gives %+v", again)
	}
	source := s.follow(t, "web", func(spec map[string]any) {
		spec["verify"] = map[string]any{
			"provider": "cosign", "trustedRootSecretRef": map[string]any{"name": "strata-trusted-root"},
			"matchOIDCIdentity": []any{map[string]any{
				"issuer": `^https://issuer\.example\.com$`, "subject": `^https://git\.example\.com/acme/web/deploy\.yaml@refs/heads/main$`,
			}},
		}
	})
	offers := func(r publish.Result) func() bool {
		return func() bool { return revision(source) == r.Version+"@"+r.Digest }
	}
	s.until(t, source, "an artifact of the identity is offered", offers(first))
	refused := func() bool {
		status, message := condition(source, "SourceVerified")
		return status == "False" && strings.Contains(message, "failed to verify the signature using provider 'cosign keyless'")
	}

	other := s.identify(t, emulated, "a: other", subject+"2")
	s.until(t, source, "an artifact of another identity is refused", refused)
	forget := func(r publish.Result) { s.forget(t, r.Version) }
	forget(other)
	s.until(t, source, "the first artifact is offered again", func() bool { return !refused() && offers(first)() })

	// The bundle names the digest of its artifact, so it does not fit another one.
	forged := s.identify(t, emulated, "a: forged", subject+"3")
	s.attach(t, first, forged)
	s.until(t, source, "an artifact with the bundle of another one is refused", refused)
	if !offers(first)() {
		t.Errorf("source-controller offers %s", revision(source))
	}
	forget(forged)
	unsigned := s.publish(t, "a: with a key", "", s.key)
	s.until(t, source, "an artifact that a key has signed is refused", refused)
	forget(unsigned)

	second := s.identify(t, emulated, "a: 2", subject)
	s.until(t, source, "a newer artifact of the identity is offered", offers(second))
}

// attach pushes the bundle of an artifact as a referrer of another one.
func (s *site) attach(t *testing.T, of, to publish.Result) {
	t.Helper()
	parsed, err := name.NewRepository(s.host+"/"+repository, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	referrers, err := remote.Referrers(parsed.Digest(of.Digest), remote.WithAuth(login()))
	if err != nil {
		t.Fatal(err)
	}
	index, err := referrers.IndexManifest()
	if err != nil || len(index.Manifests) != 1 {
		t.Fatalf("the referrers are %v, %v", index, err)
	}
	bundle, err := remote.Image(parsed.Digest(index.Manifests[0].Digest.String()), remote.WithAuth(login()))
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := remote.Head(parsed.Digest(to.Digest), remote.WithAuth(login()))
	if err != nil {
		t.Fatal(err)
	}
	moved := mutate.Subject(bundle, *artifact).(v1.Image)
	digest, err := moved.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(parsed.Digest(digest.String()), moved, remote.WithAuth(login())); err != nil {
		t.Fatal(err)
	}
}

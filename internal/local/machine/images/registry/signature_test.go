package registry_test

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// TestASignatureBelongsToTheDigestInItsTag replays payloads that a key has signed: source-controller would accept each.
func TestASignatureBelongsToTheDigestInItsTag(t *testing.T) {
	host, _ := started(t)
	own, other := strings.Repeat("a", 64), strings.Repeat("b", 64)
	payload := func(digest string) string {
		return `{"critical": {"identity": {"docker-reference": ""}, "image": {"docker-manifest-digest": "sha256:` + digest + `"}, "type": "cosign container image signature"}}`
	}
	for name, test := range map[string]struct {
		payloads []string
		accepted bool
	}{
		"its own":                      {[]string{payload(own)}, true},
		"two of its own":               {[]string{payload(own), payload(own) + " "}, true},
		"none":                         {nil, true},
		"another's":                    {[]string{payload(other)}, false},
		"its own, and then another's":  {[]string{payload(own), payload(other)}, false},
		"an attestation of the key":    {[]string{"DSSEv1 28 application/vnd.in-toto+json 2 {}"}, false},
		"checksums of a release":       {[]string{own + "  strata.tar.gz\n"}, false},
		"no payload of a signature":    {[]string{`{"critical": {}}`}, false},
		"a payload that is too large":  {[]string{payload(own) + strings.Repeat(" ", 64<<10)}, false},
		"a digest with another prefix": {[]string{strings.Replace(payload(own), "sha256:", "sha512:", 1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			// Each refused push leaves blobs that no manifest names, and their number has a limit.
			host, _ := started(t)
			image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
			var err error
			for _, content := range test.payloads {
				layer := static.NewLayer([]byte(content), "application/vnd.dev.cosign.simplesigning.v1+json")
				if image, err = mutate.AppendLayers(image, layer); err != nil {
					t.Fatal(err)
				}
			}
			err = remote.Write(reference(t, host+"/web/deploy:sha256-"+own+".sig"), image, as("web"))
			if (err == nil) != test.accepted || err != nil && !strings.Contains(err.Error(), "made for another digest than sha256:"+own) {
				t.Errorf("the push ends with %v", err)
			}
		})
	}
	// cosign would read an image of the index.
	signed, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer([]byte(payload(other)), "text/plain"))
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: signed, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
	})
	if err := remote.WriteIndex(reference(t, host+"/web/deploy:sha256-"+own+".sig"), index, as("web")); err == nil {
		t.Error("the registry accepts an index in place of a signature")
	}
}

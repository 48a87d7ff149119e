package registry

import (
	"encoding/json"
	"net/http"
	"regexp"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// signatures matches the tags under which cosign and Flux look for the signatures of a digest (sigstore/cosign,
// specs/SIGNATURE_SPEC.md).
var signatures = regexp.MustCompile(`^sha256-([0-9a-f]{64})\.sig$`)

// largestPayload bounds a signed payload in bytes.
const largestPayload = 64 << 10

// checkSignatures refuses a signature that was made for another digest than the one in its tag. source-controller v1.9 verifies
// that a trusted key has signed the payload, and not that the payload names the artifact: with a copy of the signature of any
// other artifact, or of any other text that the key has signed, it would accept a forged one.
func (c *call) checkSignatures(kind types.MediaType, content []byte) error {
	tag := signatures.FindStringSubmatch(c.argument)
	if tag == nil {
		return nil
	}
	wrong := refusal{http.StatusBadRequest, "MANIFEST_INVALID", "the signature was made for another digest than sha256:" + tag[1]}
	var manifest struct {
		Layers []v1.Descriptor `json:"layers"`
	}
	if !kind.IsImage() || json.Unmarshal(content, &manifest) != nil {
		return wrong
	}
	for _, layer := range manifest.Layers {
		if layer.Size > largestPayload {
			return wrong
		}
		payload, err := c.store.Read(layer.Digest)
		if err != nil {
			return err
		}
		var signed struct {
			Critical struct {
				Image struct {
					Digest string `json:"docker-manifest-digest"`
				} `json:"image"`
			} `json:"critical"`
		}
		if json.Unmarshal(payload, &signed) != nil || signed.Critical.Image.Digest != "sha256:"+tag[1] {
			return wrong
		}
	}
	return nil
}

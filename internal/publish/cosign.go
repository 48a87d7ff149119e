package publish

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-platform/strata/internal/signing"
)

// The formats of cosign (sigstore/cosign, specs/SIGNATURE_SPEC.md and specs/ATTESTATION_SPEC.md) and of DSSE.
const (
	simpleSigning       types.MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"
	envelopeType        types.MediaType = "application/vnd.dsse.envelope.v1+json"
	signatureAnnotation                 = "dev.cosignproject.cosign/signature"
	predicateAnnotation                 = "predicateType"
	statementType                       = "application/vnd.in-toto+json"
	provenanceType                      = "https://slsa.dev/provenance/v1"
)

// companion returns the tag under which cosign and Flux look for the signatures ("sig") or attestations ("att") of a digest.
func companion(repository name.Repository, digest v1.Hash, suffix string) name.Tag {
	return repository.Tag(fmt.Sprintf("%s-%s.%s", digest.Algorithm, digest.Hex, suffix))
}

// sign returns an image with the signature of a digest.
func sign(key *signing.Key, repository string, digest v1.Hash) (v1.Image, error) {
	payload, err := json.Marshal(map[string]any{
		"critical": map[string]any{
			"identity": map[string]string{"docker-reference": repository},
			"image":    map[string]string{"docker-manifest-digest": digest.String()},
			"type":     "cosign container image signature",
		},
		"optional": nil,
	})
	if err != nil {
		return nil, err
	}
	signature, err := key.Sign(payload)
	if err != nil {
		return nil, err
	}
	return image(types.OCIConfigJSON, mutate.Addendum{
		Layer: static.NewLayer(payload, simpleSigning), Annotations: map[string]string{signatureAnnotation: string(signature)},
	}, nil)
}

// attest returns an image with the provenance of a digest: a statement of in-toto with a predicate of SLSA, in a signed
// envelope.
func attest(key *signing.Key, repository string, digest v1.Hash, predicate any) (v1.Image, error) {
	statement, err := statementOf(repository, digest, predicate)
	if err != nil {
		return nil, err
	}
	signature, err := key.Sign(preAuthentication(statementType, statement))
	if err != nil {
		return nil, err
	}
	envelope, err := json.Marshal(map[string]any{
		"payloadType": statementType,
		"payload":     base64.StdEncoding.EncodeToString(statement),
		"signatures":  []any{map[string]string{"sig": string(signature)}},
	})
	if err != nil {
		return nil, err
	}
	return image(types.OCIConfigJSON, mutate.Addendum{
		Layer:       static.NewLayer(envelope, envelopeType),
		Annotations: map[string]string{signatureAnnotation: "", predicateAnnotation: provenanceType},
	}, nil)
}

// statementOf returns a statement of in-toto about a digest.
func statementOf(repository string, digest v1.Hash, predicate any) ([]byte, error) {
	return json.Marshal(map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       []any{map[string]any{"name": repository, "digest": map[string]string{digest.Algorithm: digest.Hex}}},
		"predicateType": provenanceType,
		"predicate":     predicate,
	})
}

// preAuthentication returns the bytes that DSSE signs: the type and the payload, each with its length.
func preAuthentication(kind string, payload []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "DSSEv1 %d %s %d ", len(kind), kind, len(payload))
	b.Write(payload)
	return b.Bytes()
}

// Package keyless signs by an identity instead of a key, with Sigstore: Fulcio issues a certificate for a token of OpenID Connect, and
// Rekor records the signature.
package keyless

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	// Fulcio is the address of the public Sigstore's certificate authority.
	Fulcio = "https://fulcio.sigstore.dev"

	// Rekor is the address of its log of signatures.
	Rekor = "https://rekor.sigstore.dev"

	// MediaType is the media type of a bundle.
	MediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

	// callTimeout bounds each call of Fulcio and Rekor.
	callTimeout = 30 * time.Second
)

// Signer signs statements by the identity in a token.
type Signer struct {
	// Token is the token of OpenID Connect, for the audience Audience. Required.
	Token string
	// FulcioURL and RekorURL are the addresses of a Sigstore. Both are required.
	FulcioURL, RekorURL string
}

// Identity is the identity in a certificate.
type Identity struct {
	// Issuer is the address of the issuer of the token.
	Issuer string `json:"issuer"`
	// Subject is an address of e-mail or a URI, such as that of a workflow.
	Subject string `json:"subject"`
}

// Sign signs a payload of a type in an envelope of DSSE. It returns a bundle of Sigstore, in JSON, and the identity that has signed.
// Rekor publishes the identity and the digest of the payload.
func (s Signer) Sign(ctx context.Context, kind string, payload []byte) (bundle []byte, by Identity, err error) {
	keys, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		return nil, by, fmt.Errorf("create a key: %w", err)
	}
	signed, err := sign.Bundle(&sign.DSSEData{Data: payload, PayloadType: kind}, keys, sign.BundleOptions{
		Context:                    ctx,
		CertificateProvider:        sign.NewFulcio(&sign.FulcioOptions{BaseURL: s.FulcioURL, Timeout: callTimeout}),
		CertificateProviderOptions: &sign.CertificateProviderOptions{IDToken: s.Token},
		TransparencyLogs:           []sign.Transparency{sign.NewRekor(&sign.RekorOptions{BaseURL: s.RekorURL, Timeout: callTimeout})},
	})
	if err != nil {
		return nil, by, fmt.Errorf("sign with Fulcio at %s and Rekor at %s: %w", s.FulcioURL, s.RekorURL, err)
	}
	parsed, err := x509.ParseCertificate(signed.GetVerificationMaterial().GetCertificate().GetRawBytes())
	if err != nil {
		return nil, by, fmt.Errorf("read the certificate of Fulcio at %s: %w", s.FulcioURL, err)
	}
	summary, err := certificate.SummarizeCertificate(parsed)
	if err != nil {
		return nil, by, fmt.Errorf("read the certificate of Fulcio at %s: %w", s.FulcioURL, err)
	}
	content, err := protojson.Marshal(signed)
	return content, Identity{Issuer: summary.Issuer, Subject: summary.SubjectAlternativeName}, err
}

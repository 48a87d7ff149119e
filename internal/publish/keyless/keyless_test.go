package keyless_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/strata-platform/strata/internal/publish/keyless"
	"github.com/strata-platform/strata/internal/publish/keyless/keylesstest"
)

const (
	issuer  = "https://token.actions.githubusercontent.com"
	subject = "https://github.com/acme/web/.github/workflows/deploy.yaml@refs/heads/main"
)

// TestTheVerifierOfSigstoreAcceptsABundle signs with an emulated Sigstore, and verifies with Sigstore's own library.
func TestTheVerifierOfSigstoreAcceptsABundle(t *testing.T) {
	emulated := keylesstest.Start(t)
	signer := keyless.Signer{Token: keylesstest.Token(issuer, subject), FulcioURL: emulated.URL, RekorURL: emulated.URL}
	statement := `{"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "a", "digest": {"sha256": "` + strings.Repeat("ab", 32) +
		`"}}], "predicateType": "https://slsa.dev/provenance/v1", "predicate": {}}`
	content, by, err := signer.Sign(t.Context(), "application/vnd.in-toto+json", []byte(statement))
	if err != nil {
		t.Fatal(err)
	}
	if want := (keyless.Identity{Issuer: issuer, Subject: subject}); by != want {
		t.Errorf("the identity is %v, want %v", by, want)
	}
	trusted, err := root.NewTrustedRootFromJSON(emulated.TrustedRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	// These are the options of cosign, and so of source-controller.
	verifier, err := verify.NewVerifier(trusted, verify.WithSignedCertificateTimestamps(1), verify.WithTransparencyLog(1), verify.WithIntegratedTimestamps(1))
	if err != nil {
		t.Fatal(err)
	}
	var signed bundle.Bundle
	if err := signed.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		digest  byte
		subject string
		refused bool
	}{
		"the identity":    {0xab, subject, false},
		"another subject": {0xab, subject + "2", true},
		"another digest":  {0xac, subject, true},
	} {
		t.Run(name, func(t *testing.T) {
			identity, err := verify.NewShortCertificateIdentity(issuer, "", test.subject, "")
			if err != nil {
				t.Fatal(err)
			}
			digest := []byte(strings.Repeat(string([]byte{test.digest}), 32))
			_, err = verifier.Verify(&signed, verify.NewPolicy(verify.WithArtifactDigest("sha256", digest), verify.WithCertificateIdentity(identity)))
			if (err != nil) != test.refused {
				t.Errorf("the verifier says %v", err)
			}
		})
	}
}

func TestErrorsOfASigstoreContainNoToken(t *testing.T) {
	broken := httptest.NewServer(http.NotFoundHandler())
	defer broken.Close()
	signer := keyless.Signer{Token: keylesstest.Token(issuer, "canary"), FulcioURL: broken.URL, RekorURL: broken.URL}
	_, _, err := signer.Sign(t.Context(), "text/plain", []byte("a"))
	if err == nil || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), strings.Split(signer.Token, ".")[1]) || strings.Contains(strings.TrimSpace(err.Error()), "\n") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheEnvironmentOffersAToken(t *testing.T) {
	actions := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer canary" || r.URL.Query().Get("audience") != "sigstore" || r.URL.Query().Get("api-version") != "2.0" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(`{"value": "of.actions.job"}`))
	}))
	defer actions.Close()
	for name, test := range map[string]struct {
		environment map[string]string
		want, says  string
	}{
		"nothing":              {nil, "", "the environment has no token"},
		"a token":              {map[string]string{"SIGSTORE_ID_TOKEN": "of.a.job"}, "of.a.job", ""},
		"a job of Actions":     {map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": actions.URL + "?api-version=2.0", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "canary"}, "of.actions.job", ""},
		"without a credential": {map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": actions.URL}, "", "the environment has no token"},
		"with another one":     {map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": actions.URL, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "canary2"}, "", "it answers 403: give the job the permission `id-token: write`"},
		"of no server":         {map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": "http://127.0.0.1:1/canary", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "canary"}, "", "connection refused"},
		"of something else":    {map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": "://canary", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "canary"}, "", "not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := keyless.Token(t.Context(), func(name string) string { return test.environment[name] })
			if token != test.want || (err == nil) != (test.says == "") || err != nil && (!strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "canary")) {
				t.Errorf("the token is %q, the error %v; want %q", token, err, test.says)
			}
		})
	}
}

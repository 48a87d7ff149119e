// Package keylesstest emulates Sigstore for tests: a Fulcio that believes every token, and a Rekor with a log of one entry.
package keylesstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
)

// entryID is the ID of the only entry of the log.
var entryID = strings.Repeat("0", 64)

// Sigstore is an emulated Sigstore.
type Sigstore struct {
	// URL is the address of Fulcio and of Rekor.
	URL string

	log *ca.VirtualSigstore
	// authority and authorityKey sign certificates, and the key certificates signs the log of certificates.
	authority    *x509.Certificate
	authorityKey *ecdsa.PrivateKey
	certificates *ecdsa.PrivateKey
}

// Start starts a Sigstore and stops it at the end of the test.
func Start(t testing.TB) *Sigstore {
	t.Helper()
	s := &Sigstore{}
	var err error
	if s.log, err = ca.NewVirtualSigstore(); err != nil {
		t.Fatal(err)
	}
	if s.authority, s.authorityKey, err = ca.GenerateRootCa(); err != nil {
		t.Fatal(err)
	}
	if s.certificates, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v2/signingCert", answer(s.sign))
	mux.HandleFunc("POST /api/v1/log/entries", answer(s.record))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Token returns a token of an identity. The subject is a URI.
func Token(issuer, subject string) string {
	claims, _ := json.Marshal(map[string]string{"iss": issuer, "sub": subject}) // A map of strings can be encoded.
	return "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".c2lnbmF0dXJl"
}

// TrustedRoot returns the trusted_root.json of the Sigstore.
func (s *Sigstore) TrustedRoot(t testing.TB) []byte {
	t.Helper()
	begin, end := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	log := func(address string, key crypto.PublicKey) map[string]*root.TransparencyLog {
		id, err := logID(key)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]*root.TransparencyLog{hex.EncodeToString(id[:]): {
			BaseURL: address, ID: id[:], ValidityPeriodStart: begin, ValidityPeriodEnd: end, PublicKey: key,
			HashFunc: crypto.SHA256, SignatureHashFunc: crypto.SHA256,
		}}
	}
	var rekor map[string]*root.TransparencyLog
	for _, each := range s.log.RekorLogs() {
		rekor = log("https://rekor.localhost", each.PublicKey)
	}
	authority := &root.FulcioCertificateAuthority{Root: s.authority, ValidityPeriodStart: begin, ValidityPeriodEnd: end, URI: s.URL}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01, []root.CertificateAuthority{authority}, log(s.URL, s.certificates.Public()), nil, rekor)
	if err != nil {
		t.Fatal(err)
	}
	content, err := trusted.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// answer answers a request in JSON, with the status 400 after an error.
func answer(serve func(r *http.Request) (status int, value any, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, value, err := serve(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", entryID)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value) // The client is gone if the write fails.
	}
}

// sign issues a certificate for the identity in the token of a request, after a check that the client has the key.
func (s *Sigstore) sign(r *http.Request) (int, any, error) {
	var asked struct {
		PublicKeyRequest struct {
			PublicKey         struct{ Content string }
			ProofOfPossession []byte
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return 0, nil, err
	}
	parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
	if len(parts) != 3 {
		return 0, nil, errors.New("no token")
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return 0, nil, err
	}
	var identity struct{ Iss, Sub string }
	if err := json.Unmarshal(claims, &identity); err != nil {
		return 0, nil, err
	}
	block, _ := pem.Decode([]byte(asked.PublicKeyRequest.PublicKey.Content))
	if block == nil {
		return 0, nil, errors.New("no public key")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return 0, nil, err
	}
	digest := crypto.SHA256.New()
	digest.Write([]byte(identity.Sub))
	if public, ok := key.(*ecdsa.PublicKey); !ok || !ecdsa.VerifyASN1(public, digest.Sum(nil), asked.PublicKeyRequest.ProofOfPossession) {
		return 0, nil, errors.New("the client does not have the key")
	}
	issued, err := s.certificate(key, identity.Iss, identity.Sub)
	if err != nil {
		return 0, nil, err
	}
	chain := []string{encoded(issued), encoded(s.authority)}
	return http.StatusOK, map[string]any{"signedCertificateEmbeddedSct": map[string]any{"chain": map[string]any{"certificates": chain}}}, nil
}

func encoded(certificate *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
}

// record records the signature of an envelope.
func (s *Sigstore) record(r *http.Request) (int, any, error) {
	var proposed struct {
		Kind string
		Spec struct {
			ProposedContent struct {
				Envelope  string
				Verifiers [][]byte
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&proposed); err != nil {
		return 0, nil, err
	}
	content := proposed.Spec.ProposedContent
	var envelope dsse.Envelope
	if err := json.Unmarshal([]byte(content.Envelope), &envelope); err != nil || len(envelope.Signatures) != 1 || len(content.Verifiers) != 1 {
		return 0, nil, fmt.Errorf("an entry of kind %s without one signature: %w", proposed.Kind, err)
	}
	block, _ := pem.Decode(content.Verifiers[0])
	if block == nil {
		return 0, nil, errors.New("no certificate")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return 0, nil, err
	}
	signature, err := base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig)
	if err != nil {
		return 0, nil, err
	}
	recorded, err := s.log.GenerateTlogEntry(leaf, &envelope, signature, time.Now().Unix(), true)
	if err != nil {
		return 0, nil, err
	}
	entry := recorded.TransparencyLogEntry()
	proof, body, id := entry.GetInclusionProof(), base64.StdEncoding.EncodeToString(entry.GetCanonicalizedBody()), hex.EncodeToString(entry.GetLogId().GetKeyId())
	promise, err := s.log.RekorSignPayload(tlog.RekorPayload{Body: body, IntegratedTime: entry.GetIntegratedTime(), LogIndex: entry.GetLogIndex(), LogID: id})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{entryID: map[string]any{
		"body": body, "integratedTime": entry.GetIntegratedTime(), "logID": id, "logIndex": entry.GetLogIndex(),
		"verification": map[string]any{
			"signedEntryTimestamp": promise,
			"inclusionProof": map[string]any{
				"checkpoint": proof.GetCheckpoint().GetEnvelope(), "hashes": []string{}, "logIndex": proof.GetLogIndex(),
				"rootHash": hex.EncodeToString(proof.GetRootHash()), "treeSize": proof.GetTreeSize(),
			},
		},
	}}, nil
}

package keylesstest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/url"
	"time"

	ct "github.com/google/certificate-transparency-go"
	"github.com/google/certificate-transparency-go/tls"
	ctx509 "github.com/google/certificate-transparency-go/x509"
	"github.com/google/certificate-transparency-go/x509util"
)

// Extensions of a certificate: the issuer of the token (Fulcio), and those of certificate transparency (RFC 6962).
var (
	issuerExtension = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
	poison          = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 3}
	timestamps      = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
)

// certificate issues a certificate for a key and an identity, with the timestamp of the log of certificates.
func (s *Sigstore) certificate(key crypto.PublicKey, issuer, subject string) (*x509.Certificate, error) {
	name, err := url.Parse(subject)
	if err != nil {
		return nil, err
	}
	by, err := asn1.MarshalWithParams(issuer, "utf8")
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(10 * time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, URIs: []*url.URL{name},
		ExtraExtensions: []pkix.Extension{{Id: issuerExtension, Value: by}, {Id: poison, Critical: true, Value: asn1.NullBytes}},
	}
	draft, err := s.issue(template, key)
	if err != nil {
		return nil, err
	}
	stamp, err := s.timestamp(draft)
	if err != nil {
		return nil, err
	}
	template.ExtraExtensions[1] = pkix.Extension{Id: timestamps, Value: stamp}
	return s.issue(template, key)
}

// issue signs a certificate.
func (s *Sigstore) issue(template *x509.Certificate, key crypto.PublicKey) (*x509.Certificate, error) {
	content, err := x509.CreateCertificate(rand.Reader, template, s.authority, key, s.authorityKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(content)
}

// timestamp returns the extension with the timestamp of a draft of a certificate.
func (s *Sigstore) timestamp(draft *x509.Certificate) ([]byte, error) {
	content, err := ctx509.BuildPrecertTBS(draft.RawTBSCertificate, nil)
	if err != nil {
		return nil, err
	}
	id, err := logID(s.certificates.Public())
	if err != nil {
		return nil, err
	}
	stamp := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, LogID: ct.LogID{KeyID: id}, Timestamp: uint64(time.Now().UnixMilli())} //nolint:gosec // The time is positive.
	entry := ct.LogEntry{Leaf: ct.MerkleTreeLeaf{LeafType: ct.TimestampedEntryLeafType, TimestampedEntry: &ct.TimestampedEntry{
		Timestamp: stamp.Timestamp, EntryType: ct.PrecertLogEntryType,
		PrecertEntry: &ct.PreCert{IssuerKeyHash: sha256.Sum256(s.authority.RawSubjectPublicKeyInfo), TBSCertificate: content},
	}}}
	signed, err := ct.SerializeSCTSignatureInput(stamp, entry)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(signed)
	signature, err := ecdsa.SignASN1(rand.Reader, s.certificates, digest[:])
	if err != nil {
		return nil, err
	}
	stamp.Signature = ct.DigitallySigned{
		Algorithm: tls.SignatureAndHashAlgorithm{Hash: tls.SHA256, Signature: tls.ECDSA}, Signature: signature,
	}
	list, err := x509util.MarshalSCTsIntoSCTList([]*ct.SignedCertificateTimestamp{&stamp})
	if err != nil {
		return nil, err
	}
	var encoded bytes.Buffer
	raw, err := tls.Marshal(*list)
	if err != nil {
		return nil, err
	}
	encoded.Write(raw)
	return asn1.Marshal(encoded.Bytes())
}

// logID returns the ID of a log: the digest of its key.
func logID(key crypto.PublicKey) ([sha256.Size]byte, error) {
	content, err := x509.MarshalPKIXPublicKey(key)
	return sha256.Sum256(content), err
}

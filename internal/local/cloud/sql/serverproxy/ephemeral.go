package serverproxy

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/api/sqladmin/v1beta4"
)

// Lifetime is the time for which an ephemeral certificate is valid. Google documents one hour
// (https://cloud.google.com/sql/docs/mysql/sql-proxy).
const Lifetime = time.Hour

// Ephemeral returns a certificate with which the holder of a public key's private key may connect to the instance until
// a time, at most Lifetime from now. member is the certificate's subject, for the reader of a certificate; the instance
// does not check it.
func (a Authorities) Ephemeral(of Instance, public crypto.PublicKey, member string, now, until time.Time) (*sqladmin.SslCert, error) {
	if last := now.Add(Lifetime); until.After(last) {
		until = last
	}
	raw, err := a.Client.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: bounded(of.commonName()), OrganizationalUnit: []string{bounded(member)}},
		NotAfter:    until,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		// The certificate is not an authority, so its holder can sign no certificates for others.
		BasicConstraintsValid: true,
	}, public, now)
	if err != nil {
		return nil, fmt.Errorf("make an ephemeral certificate for instance %s: %w", of.commonName(), err)
	}
	return shown(raw, of)
}

// bounded shortens the text of a name in a certificate to 64 characters (RFC 5280, appendix A.1).
func bounded(text string) string {
	runes := []rune(strings.ToValidUTF8(text, "?"))
	return string(runes[:min(64, len(runes))])
}

// The limits of a client's RSA key in bits. Connectors use 2048. Go's TLS rejects longer keys than the upper limit.
const shortestKey, longestKey = 2048, 8192

// ParsePublicKey returns the public key in a request for an ephemeral certificate: an RSA key, or an ECDSA key on the
// curve P-256, in PEM form. Connectors send a PKIX key in a block with the type of another encoding, RSA PUBLIC KEY, so
// ParsePublicKey ignores the type. The error describes the fault, without the key.
func ParsePublicKey(text string) (crypto.PublicKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not in PEM form")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		if parsed, err = x509.ParsePKCS1PublicKey(block.Bytes); err != nil {
			return nil, errors.New("its encoding is neither PKIX nor PKCS 1")
		}
	}
	switch key := parsed.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < shortestKey || bits > longestKey {
			return nil, fmt.Errorf("an RSA key must have %d to %d bits, and this one has %d", shortestKey, longestKey, bits)
		}
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return nil, errors.New("an ECDSA key must be on the curve P-256")
		}
	default:
		return nil, errors.New("it is neither an RSA key nor an ECDSA key")
	}
	return parsed, nil
}

package cloud

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// authority is the certificate authority that signs the emulator's certificate for tunnels. Its own certificate has a
// name constraint, so that clients accept its signature only for hosts below googleapis.com.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// authorityFile is the name of the authority's file in the folder of the emulator.
const authorityFile = "authority.pem"

// authorityLifetime exceeds the life of any home.
const authorityLifetime = 10 * 365 * 24 * time.Hour

// openAuthority reads the authority from a file in dir, or creates the file if it does not exist.
func openAuthority(dir string, now time.Time) (*authority, error) {
	path := filepath.Join(dir, authorityFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		data, err := newAuthority(now)
		if err == nil {
			err = writeAtomically(path, data)
		}
		if err != nil {
			return nil, fmt.Errorf("open the certificate authority: %w", err)
		}
	}
	return readAuthority(path)
}

// readAuthority reads the authority from its file.
func readAuthority(path string) (*authority, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open the certificate authority: %w", err)
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, fmt.Errorf("open the certificate authority %s: %w", path, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("open the certificate authority %s: its key is of another kind", path)
	}
	return &authority{certificate: pair.Leaf, key: key}, nil
}

// writeAtomically writes a file so that a reader finds either all of the new content or none of it.
func writeAtomically(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// newAuthority returns the certificate and the key of a new authority in PEM form.
func newAuthority(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:                big.NewInt(now.UnixNano()),
		Subject:                     pkix.Name{CommonName: "emulated Google Cloud of Strata"},
		NotBefore:                   now.Add(-time.Hour),
		NotAfter:                    now.Add(authorityLifetime),
		KeyUsage:                    x509.KeyUsageCertSign,
		IsCA:                        true,
		BasicConstraintsValid:       true,
		MaxPathLenZero:              true,
		PermittedDNSDomains:         []string{"googleapis.com"},
		PermittedDNSDomainsCritical: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}

// certify returns a server certificate for hosts, signed by the authority.
func (a *authority) certify(hosts []string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "emulated Google Cloud"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     a.certificate.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     hosts,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}, nil
}

// Authority returns the certificate, in PEM form, that clients of TunnelVariables must trust.
func (s *Server) Authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.authority.certificate.Raw})
}

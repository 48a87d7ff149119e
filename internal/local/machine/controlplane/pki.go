package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

const (
	// lifetime is the lifetime of every certificate.
	lifetime = 10 * 365 * 24 * time.Hour
	// renewBefore is how long before a certificate's end a start renews the certificate. It exceeds the time that a
	// platform runs without a restart.
	renewBefore = 180 * 24 * time.Hour
)

// pki is a folder of keys and certificates in PEM form, all with mode 0600. It keeps every key. It keeps a certificate
// or kubeconfig while that is valid, so that their bytes do not change over restarts.
type pki struct {
	dir string
	now func() time.Time
}

func (p pki) cert(name string) string { return filepath.Join(p.dir, name+".crt") }
func (p pki) key(name string) string  { return filepath.Join(p.dir, name+".key") }

// authority is a certificate authority.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// ensureCA loads or creates the authority called name. A renewed authority keeps its key, so that the certificates
// that it signed stay valid.
func (p pki) ensureCA(name string) (authority, error) {
	key, err := p.ensureKey(name)
	if err != nil {
		return authority{}, err
	}
	template := p.template(name, nil)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	cert, err := p.ensureCert(name, template, key, nil)
	return authority{cert: cert, key: key}, err
}

// ensureClient ensures a client certificate for a Kubernetes user and its groups.
func (p pki) ensureClient(ca authority, name, user string, groups ...string) error {
	template := p.template(user, groups)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return p.ensureSigned(ca, name, template)
}

// ensureServer ensures a certificate for a server on loopback. The certificate also suits a client, because etcd's
// gateway acts as one.
func (p pki) ensureServer(ca authority, name string, hosts ...string) error {
	template := p.template(name, nil)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = append([]string{"localhost"}, hosts...)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), APIServer.AsSlice()}
	return p.ensureSigned(ca, name, template)
}

// ensureSigned ensures a key, and a certificate of the authority for it.
func (p pki) ensureSigned(ca authority, name string, template *x509.Certificate) error {
	key, err := p.ensureKey(name)
	if err == nil {
		_, err = p.ensureCert(name, template, key, &ca)
	}
	return err
}

// ensurePair ensures a key pair without a certificate: the private key in name.key, and the public key in name.crt.
func (p pki) ensurePair(name string) error {
	key, err := p.ensureKey(name)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return home.KeepFile(p.cert(name), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
}

// ensureKey loads or creates a key.
func (p pki) ensureKey(name string) (crypto.Signer, error) {
	raw, err := os.ReadFile(p.key(name))
	if errors.Is(err, fs.ErrNotExist) {
		return p.newKey(name)
	}
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der(raw))
	if signer, ok := key.(crypto.Signer); err == nil && ok {
		return signer, nil
	}
	return nil, fmt.Errorf("key %s is damaged: restore it from a backup, or remove it: the next start then creates a new key, and credentials from the old one stop working", p.key(name))
}

// newKey creates a key and stores it.
func (p pki) newKey(name string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, home.WriteFile(p.key(name), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// ensureCert returns the certificate of a key. If there is no valid one, it signs a new one. Without an authority, the
// certificate is self-signed.
func (p pki) ensureCert(name string, template *x509.Certificate, key crypto.Signer, ca *authority) (*x509.Certificate, error) {
	signer := authority{cert: template, key: key}
	if ca != nil {
		signer = *ca
	}
	if raw, err := os.ReadFile(p.cert(name)); err == nil {
		if cert, err := x509.ParseCertificate(der(raw)); err == nil && p.good(cert, key, ca) {
			return cert, nil
		}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	if err := home.WriteFile(p.cert(name), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(raw)
}

// good reports whether a certificate belongs to the key, is signed by the authority, and is valid for long enough.
func (p pki) good(cert *x509.Certificate, key crypto.Signer, ca *authority) bool {
	public, ok := cert.PublicKey.(*ecdsa.PublicKey)
	if !ok || !public.Equal(key.Public()) {
		return false
	}
	issuer := cert
	if ca != nil {
		issuer = ca.cert
	}
	now := p.now()
	return cert.CheckSignatureFrom(issuer) == nil && now.After(cert.NotBefore) && now.Add(renewBefore).Before(cert.NotAfter)
}

// template returns the template of a certificate that is valid from an hour ago, because clocks differ.
func (p pki) template(commonName string, organizations []string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	now := p.now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName, Organization: organizations},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(lifetime),
	}
}

// der returns the first block of a PEM file, or nil.
func der(pemBytes []byte) []byte {
	block, _ := pem.Decode(pemBytes)
	if block == nil {
		return nil
	}
	return block.Bytes
}

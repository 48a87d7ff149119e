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

	"github.com/strata-platform/strata/internal/local/home"
)

// lifetime of every certificate. A home is a development platform that is thrown away long before.
const lifetime = 10 * 365 * 24 * time.Hour

// pki is a folder of keys and certificates in PEM, all of mode 0600. What exists is kept: contexts and kubeconfigs
// stay byte-stable over restarts.
type pki struct{ dir string }

func (p pki) cert(name string) string { return filepath.Join(p.dir, name+".crt") }
func (p pki) key(name string) string  { return filepath.Join(p.dir, name+".key") }

// authority is a certificate authority.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// ensureCA makes the authority called name, or loads it.
func (p pki) ensureCA(name string) (authority, error) {
	err := p.ensure(name, func(key crypto.Signer) ([]byte, error) {
		template := newTemplate(name, nil)
		template.IsCA = true
		template.BasicConstraintsValid = true
		template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
		return x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	})
	if err != nil {
		return authority{}, err
	}
	return p.loadCA(name)
}

func (p pki) loadCA(name string) (authority, error) {
	certPEM, err := os.ReadFile(p.cert(name))
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der(certPEM))
	if err != nil {
		return authority{}, fmt.Errorf("certificate %s: %w", p.cert(name), err)
	}
	keyPEM, err := os.ReadFile(p.key(name))
	if err != nil {
		return authority{}, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der(keyPEM))
	if err != nil {
		return authority{}, fmt.Errorf("key %s: %w", p.key(name), err)
	}
	return authority{cert: cert, key: key.(crypto.Signer)}, nil
}

// ensureClient makes a client certificate for a Kubernetes user and its groups.
func (p pki) ensureClient(ca authority, name, user string, groups ...string) error {
	return p.ensure(name, func(key crypto.Signer) ([]byte, error) {
		template := newTemplate(user, groups)
		template.KeyUsage = x509.KeyUsageDigitalSignature
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		return x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	})
}

// ensureServer makes a certificate for a server on loopback, which may act as a client too (etcd's gateway does).
func (p pki) ensureServer(ca authority, name string, hosts ...string) error {
	return p.ensure(name, func(key crypto.Signer) ([]byte, error) {
		template := newTemplate(name, nil)
		template.KeyUsage = x509.KeyUsageDigitalSignature
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		template.DNSNames = append([]string{"localhost"}, hosts...)
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), serviceIP}
		return x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	})
}

// ensureKey makes a bare key pair: name.key and name.crt, which then holds the public key.
func (p pki) ensureKey(name string) error {
	if exists(p.cert(name)) {
		return nil
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := home.WriteFile(p.key(name), keyPEM); err != nil {
		return err
	}
	return home.WriteFile(p.cert(name), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
}

// ensure writes a key and the certificate that sign makes for it. The certificate is written last, so that its
// presence says that the pair is whole.
func (p pki) ensure(name string, sign func(crypto.Signer) ([]byte, error)) error {
	if exists(p.cert(name)) {
		return nil
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return err
	}
	certDER, err := sign(key)
	if err != nil {
		return fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	if err := home.WriteFile(p.key(name), keyPEM); err != nil {
		return err
	}
	return home.WriteFile(p.cert(name), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certDER}))
}

func newKey() (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}

func newTemplate(commonName string, organizations []string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName, Organization: organizations},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(lifetime),
	}
}

func der(pemBytes []byte) []byte {
	block, _ := pem.Decode(pemBytes)
	if block == nil {
		return nil
	}
	return block.Bytes
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

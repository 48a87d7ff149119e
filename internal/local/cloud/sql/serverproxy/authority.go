// Package serverproxy is the side of a Cloud SQL instance to which Google's connectors connect, such as the Cloud SQL
// Auth Proxy: the instance's certificate authorities, the ephemeral certificates of clients, and the port at which
// clients with such a certificate reach the server.
package serverproxy

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the fingerprint in the API's SslCert
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/google/uuid"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// Instance names an instance.
type Instance struct {
	Project, Region, Name string
}

// commonName is the name in the instance's server certificate, which connectors compare if the instance has no DNS
// name. Source: cloud.google.com/go/cloudsqlconn, internal/cloudsql/tls_verify.go.
func (i Instance) commonName() string { return i.Project + ":" + i.Name }

// DNSName returns the DNS name in the instance's server certificate, with the final dot of the API. Connectors compare
// this name if the instance's certificate authority belongs to Google's Certificate Authority Service. The name has the
// form of Google's names. No DNS server resolves it.
func (i Instance) DNSName() string {
	return api.Hash(i.commonName())[:12] + "." + api.Hash(i.Project)[:12] + "." + i.Region + ".sql.goog."
}

// Authorities are the two certificate authorities of one instance, with their keys: one signs the server's certificate,
// the other the clients' certificates. The emulator's store, which only its owner can read, keeps them with the
// instance. A new instance with the name of a deleted one has new authorities.
type Authorities struct {
	Server Authority `json:"server"`
	Client Authority `json:"client"`
}

// Authority is one certificate authority.
type Authority struct {
	Certificate []byte `json:"certificate"` // X.509
	Key         []byte `json:"key"`         // PKCS 8
}

const (
	// authorityLifetime is that of Cloud SQL's own authorities. It exceeds the life of any home.
	authorityLifetime = 10 * 365 * 24 * time.Hour
	// backdated is the time by which a client's clock may be behind the emulator's clock.
	backdated = 5 * time.Minute
)

// NewAuthorities returns the authorities of a new instance.
func NewAuthorities(now time.Time) (*Authorities, error) {
	server, err := newAuthority("Google Cloud SQL Server CA", now)
	if err != nil {
		return nil, err
	}
	client, err := newAuthority("Google Cloud SQL Client CA", now)
	if err != nil {
		return nil, err
	}
	return &Authorities{Server: *server, Client: *client}, nil
}

// dnQualifier is the object identifier of the attribute that makes the names of authorities unique (RFC 4519, 2.8).
var dnQualifier = asn1.ObjectIdentifier{2, 5, 4, 46}

// newAuthority returns a new certificate authority. The qualifier makes its name unique: the authorities of all instances have the
// same common names.
func newAuthority(name string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", name, err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{
			CommonName: name, Organization: []string{"emulated Google Cloud of Strata"},
			ExtraNames: []pkix.AttributeTypeAndValue{{Type: dnQualifier, Value: uuid.NewString()}},
		},
		NotAfter: now.Add(authorityLifetime), KeyUsage: x509.KeyUsageCertSign,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	certificate, err := sign(template, template, key.Public(), key, now)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of %s: %w", name, err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of %s: %w", name, err)
	}
	return &Authority{Certificate: certificate, Key: secret}, nil
}

// sign returns a certificate with a random serial number, valid from now to the template's end.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber, template.NotBefore = serial, now.Add(-backdated)
	return x509.CreateCertificate(rand.Reader, template, parent, public, key)
}

// issue returns a certificate that the authority signs.
func (a Authority) issue(template *x509.Certificate, public crypto.PublicKey, now time.Time) ([]byte, error) {
	parent, err := x509.ParseCertificate(a.Certificate)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(a.Key)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of the type %T cannot sign", parsed)
	}
	return sign(template, parent, public, key, now)
}

// pool returns the authority as the only one that a verification trusts.
func (a Authority) pool() (*x509.CertPool, error) {
	certificate, err := x509.ParseCertificate(a.Certificate)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of an authority: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return pool, nil
}

// serverCertificate returns a new certificate of the server, with a key that stays in memory.
func (a Authorities) serverCertificate(of Instance, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the key of the server: %w", err)
	}
	name := of.DNSName()
	certificate, err := a.Server.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: of.commonName()}, DNSNames: []string{name[:len(name)-1]},
		NotAfter: now.Add(authorityLifetime - backdated), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}, key.Public(), now)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the certificate of the server: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}, nil
}

// ServerCert returns the certificate of the server's authority as the API shows it. It contains no key.
func (a Authorities) ServerCert(of Instance) (*sqladmin.SslCert, error) {
	return shown(a.Server.Certificate, of)
}

// shown returns a certificate as the API shows it.
func shown(raw []byte, of Instance) (*sqladmin.SslCert, error) {
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("read a certificate of instance %s: %w", of.commonName(), err)
	}
	sum := sha1.Sum(raw) //nolint:gosec // as above
	return &sqladmin.SslCert{
		Kind:             "sql#sslCert",
		Cert:             string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		CertSerialNumber: certificate.SerialNumber.String(),
		CommonName:       certificate.Subject.String(),
		CreateTime:       api.Timestamp(certificate.NotBefore),
		ExpirationTime:   api.Timestamp(certificate.NotAfter),
		Instance:         of.Name,
		Sha1Fingerprint:  hex.EncodeToString(sum[:]),
	}, nil
}

package serverproxy_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/cloud/sql/serverproxy"
)

// greeting is what the test's server sends first, as a MySQL server does.
const greeting = "welcome\n"

// harness is a proxy in front of a server that greets its clients and then repeats what they send.
type harness struct {
	t           *testing.T
	address     string
	proxy       *serverproxy.Proxy
	instance    serverproxy.Instance
	authorities *serverproxy.Authorities
	now         atomic.Pointer[time.Time]
}

func start(t *testing.T) *harness {
	t.Helper()
	h := &harness{t: t, instance: serverproxy.Instance{Project: "project", Region: "europe-west1", Name: "strata"}}
	h.setClock(time.Now())
	h.authorities = newAuthorities(t)
	var server net.Listener
	for server == nil {
		h.address = fmt.Sprintf("127.%d.%d.%d", 1+mathrand.IntN(254), mathrand.IntN(256), 1+mathrand.IntN(254))
		server, _ = net.Listen("tcp", net.JoinHostPort(h.address, engine.Port)) // another program may use the address
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Write([]byte(greeting))
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	proxy, err := serverproxy.Listen(h.address, h.instance, *h.authorities, func() time.Time { return *h.now.Load() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	h.proxy = proxy
	return h
}

func (h *harness) setClock(now time.Time) { h.now.Store(&now) }

func newAuthorities(t *testing.T) *serverproxy.Authorities {
	t.Helper()
	made, err := serverproxy.NewAuthorities(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// certificate returns a client's certificate that authorities sign, valid for an hour from now.
func (h *harness) certificate(signer *serverproxy.Authorities, now time.Time) tls.Certificate {
	h.t.Helper()
	key := newKey(h.t)
	issued, err := signer.Ephemeral(h.instance, key.Public(), "serviceAccount:web@project.iam.gserviceaccount.com", now, now.Add(time.Hour))
	if err != nil {
		h.t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(issued.Cert))
	return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

// sign returns a certificate for a new key. The key of by signs it in the name of issuer. Without by, the new key signs it
// itself.
func sign(t *testing.T, by tls.Certificate, issuer []byte) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "project:strata"}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	parent, signer := *template, key
	if issuer != nil {
		parsed, err := x509.ParseCertificate(issuer)
		if err != nil {
			t.Fatal(err)
		}
		parent.RawSubject, parent.SubjectKeyId = parsed.RawSubject, parsed.SubjectKeyId
	}
	if by.PrivateKey != nil {
		signer = by.PrivateKey.(*ecdsa.PrivateKey)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, &parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: append([][]byte{raw}, by.Certificate...), PrivateKey: key}
}

// dial connects as a connector with a certificate, and reads the server's greeting. It checks the server's certificate.
func (h *harness) dial(certificates ...tls.Certificate) (*tls.Conn, error) {
	h.t.Helper()
	shown, err := h.authorities.ServerCert(h.instance)
	if err != nil {
		h.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(shown.Cert)) {
		h.t.Fatal("the server's authority is not in PEM form")
	}
	name := h.instance.DNSName()
	config := &tls.Config{RootCAs: roots, ServerName: name[:len(name)-1], MinVersion: tls.VersionTLS13}
	if len(certificates) > 0 {
		// Without this function, a client sends no certificate of an authority that the server does not name.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificates[0], nil }
	}
	conn, err := tls.Dial("tcp", net.JoinHostPort(h.address, engine.ProxyPort), config)
	if err != nil {
		return nil, err
	}
	h.t.Cleanup(func() { conn.Close() })
	// In TLS 1.3, a client learns of the rejection of its certificate when it reads.
	line, err := bufio.NewReaderSize(conn, len(greeting)).ReadString('\n')
	if err == nil && line != greeting {
		err = fmt.Errorf("the server says %q", line)
	}
	return conn, err
}

func TestAnEphemeralCertificateOpensTheServer(t *testing.T) {
	h := start(t)
	conn, err := h.dial(h.certificate(h.authorities, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if name := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; name != "project:strata" {
		t.Errorf("the server's certificate has the common name %s", name)
	}
	if _, err := conn.Write([]byte("question\n")); err != nil {
		t.Fatal(err)
	}
	if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || answer != "question\n" {
		t.Errorf("the server answers %q, %v", answer, err)
	}
}

func TestNoOtherCertificateOpensTheServer(t *testing.T) {
	h := start(t)
	stolen := h.certificate(h.authorities, time.Now())
	valid := stolen
	stolen.PrivateKey = newKey(t)
	for name, certificates := range map[string][]tls.Certificate{
		"no certificate":                           nil,
		"a self-signed certificate":                {sign(t, tls.Certificate{}, nil)},
		"a certificate of another instance":        {h.certificate(newAuthorities(t), time.Now())},
		"an expired certificate":                   {h.certificate(h.authorities, time.Now().Add(-2*time.Hour))},
		"a certificate from the future":            {h.certificate(h.authorities, time.Now().Add(time.Hour))},
		"a certificate without its key":            {stolen},
		"a certificate that a client's key signed": {sign(t, valid, valid.Certificate[0])},
		"a certificate in the authority's name":    {sign(t, tls.Certificate{}, h.authorities.Client.Certificate)},
	} {
		if _, err := h.dial(certificates...); err == nil {
			t.Errorf("%s opens the server", name)
		}
	}
	// A connection without TLS ends before the server's first byte.
	plain, err := net.Dial("tcp", net.JoinHostPort(h.address, engine.ProxyPort))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.Write([]byte("a MySQL client without TLS, long enough for a record of TLS")); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(plain); string(answer) == greeting {
		t.Error("a client without TLS reaches the server")
	}
	if _, err := h.dial(valid); err != nil {
		t.Errorf("after all of these, a valid certificate: %v", err)
	}
}

func TestACertificateEndsAfterAnHour(t *testing.T) {
	h := start(t)
	began := time.Now()
	certificate := h.certificate(h.authorities, began)
	h.setClock(began.Add(59 * time.Minute))
	open, err := h.dial(certificate)
	if err != nil {
		t.Fatal(err)
	}
	h.setClock(began.Add(61 * time.Minute))
	if _, err := h.dial(certificate); err == nil {
		t.Error("an expired certificate opens the server")
	}
	// As on Cloud SQL, an open connection outlives its certificate.
	if _, err := open.Write([]byte("still here\n")); err != nil {
		t.Error(err)
	}
	if answer, err := bufio.NewReader(open).ReadString('\n'); err != nil || answer != "still here\n" {
		t.Errorf("the open connection answers %q, %v", answer, err)
	}
}

func TestNoCertificateIsValidForMoreThanAnHour(t *testing.T) {
	h := start(t)
	now := time.Now().Truncate(time.Second)
	// A long name with letters of several bytes also fits.
	member := "user:" + strings.Repeat("ü", 100) + "@example.com"
	issued, err := h.authorities.Ephemeral(h.instance, newKey(t).Public(), member, now, now.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if ends, err := time.Parse(time.RFC3339, issued.ExpirationTime); err != nil || !ends.Equal(now.Add(serverproxy.Lifetime)) {
		t.Errorf("a certificate of %s ends at %s, %v", now, ends, err)
	}
}

func TestCloseEndsTheConnections(t *testing.T) {
	h := start(t)
	conn, err := h.dial(h.certificate(h.authorities, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	// This client never begins the handshake.
	silent, err := net.Dial("tcp", net.JoinHostPort(h.address, engine.ProxyPort))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	h.proxy.Close()
	for name, conn := range map[string]net.Conn{"with": conn, "without": silent} {
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) {
			t.Errorf("a connection %s a certificate is still open: %v", name, err)
		}
	}
	if _, err := h.dial(h.certificate(h.authorities, time.Now())); err == nil {
		t.Error("the port is still open")
	}
}

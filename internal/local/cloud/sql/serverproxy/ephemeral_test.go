package serverproxy_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/cloud/sql/serverproxy"
)

func encode(t *testing.T, kind string, key any) string {
	t.Helper()
	raw, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}

func TestPublicKeysOfConnectorsAreAccepted(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&rsaKey.PublicKey)}))
	for name, text := range map[string]string{
		"the Go connector's RSA key": encode(t, "RSA PUBLIC KEY", rsaKey.Public()),
		"an RSA key in PKCS 1":       pkcs1,
		"an ECDSA key on P-256":      encode(t, "PUBLIC KEY", newKey(t).Public()),
	} {
		if _, err := serverproxy.ParsePublicKey(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOtherPublicKeysAreRejected(t *testing.T) {
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edwards, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct{ text, want string }{
		"nothing":               {"", "not in PEM form"},
		"a text":                {"my key", "not in PEM form"},
		"another object":        {string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("key")})), "neither PKIX nor PKCS 1"},
		"a short RSA key":       {encode(t, "PUBLIC KEY", short.Public()), "has 1024"},
		"a key on P-521":        {encode(t, "PUBLIC KEY", curve.Public()), "P-256"},
		"a key of another kind": {encode(t, "PUBLIC KEY", edwards), "neither an RSA key nor an ECDSA key"},
	} {
		if _, err := serverproxy.ParsePublicKey(try.text); err == nil || !strings.Contains(err.Error(), try.want) {
			t.Errorf("%s: %v; want %q", name, err, try.want)
		}
	}
}

func FuzzParsePublicKey(f *testing.F) {
	f.Add("")
	f.Add("-----BEGIN RSA PUBLIC KEY-----\nMEgCQQ==\n-----END RSA PUBLIC KEY-----\n")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := serverproxy.ParsePublicKey(text)
		if (key == nil) == (err == nil) {
			t.Errorf("the result is %v, %v", key, err)
		}
	})
}

package signing

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a file and returns its path.
func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pemOf returns a private key in PEM.
func pemOf(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func newKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestOpensslVerifiesTheSignature follows the steps that docs/releases.md gives to users.
func TestOpensslVerifiesTheSignature(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("needs openssl")
	}
	private := newKey(t, elliptic.P256())
	key, err := ReadKey("the release key", pemOf(t, private))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := key.Sign([]byte("sums"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(string(signature))
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	public := write(t, filepath.Join(dir, "strata.pub"), string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	file := write(t, filepath.Join(dir, "raw"), string(raw))
	for content, want := range map[string]bool{"sums": true, "changed": false} {
		out, err := exec.CommandContext(t.Context(), openssl, "dgst", "-sha256", "-verify", public, "-signature", file,
			write(t, filepath.Join(dir, content), content)).CombinedOutput()
		if (err == nil) != want {
			t.Errorf("openssl says of %s: %s", content, out)
		}
	}
	again, err := key.Sign([]byte("sums"))
	if err != nil || !bytes.Equal(again, signature) {
		t.Errorf("the second signature differs, or: %v", err)
	}
}

func TestKeys(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := newKey(t, elliptic.P256())
	sec1, err := x509.MarshalECPrivateKey(good)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ="
	for name, test := range map[string]struct{ text, says string }{
		"PKCS #8":           {pemOf(t, good), ""},
		"a file":            {write(t, filepath.Join(t.TempDir(), "key"), pemOf(t, good)), ""},
		"SEC 1":             {string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})), ""},
		"another curve":     {pemOf(t, newKey(t, elliptic.P384())), "is not an ECDSA key on the curve P-256: create a key with `openssl"},
		"another algorithm": {pemOf(t, edwards), "is not an ECDSA key"},
		"a missing file":    {"/nowhere/key", "neither a key in PEM format nor a file that can be read (no such file or directory)"},
		"a key without PEM": {secret, "neither a key in PEM format nor a file"},
		"a file without a key": {
			write(t, filepath.Join(t.TempDir(), "other"), secret), "is not in PEM format",
		},
		"an encrypted key": {string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED SIGSTORE PRIVATE KEY", Bytes: []byte(secret)})), "encrypted keys, public keys and certificates"},
		"a damaged key":    {string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte(secret)})), `is a PEM block "PRIVATE KEY": `},
		"half a PEM block": {"-----BEGIN PRIVATE KEY-----\n" + secret, "is not in PEM format"},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := ReadKey("the release key", test.text)
			if test.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got, err := key.Fingerprint(); err != nil || len(got) != 64 {
					t.Errorf("the fingerprint is %q, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want one line with %q", err, test.says)
			}
		})
	}
}

func TestAKeyIsCreatedOnceAndOnlyItsUserCanReadIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "web.key")
	first, err := EnsureKey("the key of team web", path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key has the mode %v, %v", info.Mode(), err)
	}
	second, err := EnsureKey("the key of team web", path)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := first.Sign([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	if !second.Verify([]byte("content"), signature) || second.Verify([]byte("other"), signature) {
		t.Error("the second call has read another key, or verifies another content")
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("the folder contains %v, %v", left, err)
	}
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // The test is about this mode.
		t.Fatal(err)
	}
	if _, err := EnsureKey("the key of team web", path); err == nil || !strings.Contains(err.Error(), "other users can read or replace") {
		t.Errorf("a key that others can read: %v", err)
	}
}

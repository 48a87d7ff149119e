// Package signing reads, creates and uses the keys that sign releases and artifacts.
package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Key signs the checksums of a release, or artifacts. Keys of cosign have the same type, ECDSA on the curve P-256, and openssl and cosign
// verify its signatures.
type Key struct{ private *ecdsa.PrivateKey }

const makeKey = "create a key with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE`"

// ReadKey reads a private key in PEM (PKCS #8 or SEC 1) from a text, or from the file that the text names. what names the key
// in errors, such as "the release key". No error contains the text.
func ReadKey(what, text string) (*Key, error) {
	where := what
	if !strings.Contains(text, "-----BEGIN") {
		where = text
		content, err := os.ReadFile(text)
		if err != nil {
			// The text may be a key in another format, so the error does not repeat it.
			if system := (*os.PathError)(nil); errors.As(err, &system) {
				err = system.Err
			}
			return nil, fmt.Errorf("read "+what+": it is neither a key in PEM format nor a file that can be read (%w): %s", err, makeKey)
		}
		text = string(content)
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("read %s: %s is not in PEM format: %s", what, where, makeKey)
	}
	var parsed any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		err = errors.New("encrypted keys, public keys and certificates are not supported")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %s is a PEM block %q: %w: %s", what, where, block.Type, err, makeKey)
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, fmt.Errorf("read %s: %s is not an ECDSA key on the curve P-256: %s", what, where, makeKey)
	}
	return &Key{private}, nil
}

// Fingerprint returns the SHA-256 digest of the public key in DER form, in hexadecimal.
func (k *Key) Fingerprint() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), nil
}

// Sign returns the signature of a content in the form of cosign: base64. It is deterministic (RFC 6979).
func (k *Key) Sign(content []byte) ([]byte, error) {
	sum := sha256.Sum256(content)
	signature, err := k.private.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(signature)), nil
}

// PublicPEM returns the public key in PEM, as cosign and Flux read it.
func (k *Key) PublicPEM() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

// Verify reports whether a signature of Sign belongs to a content.
func (k *Key) Verify(content, signature []byte) bool {
	raw, err := base64.StdEncoding.DecodeString(string(signature))
	sum := sha256.Sum256(content)
	return err == nil && ecdsa.VerifyASN1(&k.private.PublicKey, sum[:], raw)
}

// EnsureKey reads the key in a file. If the file does not exist, it creates a key there that only this user can read. It
// refuses a file that other users can read, because they could sign.
func EnsureKey(what, path string) (*Key, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := createKey(path); err != nil {
			return nil, fmt.Errorf("create %s: %w", what, err)
		}
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", what, err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("read %s: other users can read or replace %s: replace the key, or, if nobody has read it, run `chmod 600 %s`", what, path, path)
	}
	return ReadKey(what, path)
}

// createKey writes a new key to a file that does not exist, or leaves the key that another process has written meanwhile. A
// reader never finds a part of a key.
func createKey(path string) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".key-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	// CreateTemp creates the file with mode 0600.
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

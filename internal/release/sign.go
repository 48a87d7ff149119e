package release

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// A Key signs the checksums of a release. Keys of cosign have the same type, ECDSA on the curve P-256, and openssl and cosign
// verify its signatures.
type Key struct{ private *ecdsa.PrivateKey }

const makeKey = "create a key with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE`"

// ReadKey reads a private key in PEM (PKCS #8 or SEC 1) from a text, or from the file that the text names. No error contains
// the text.
func ReadKey(text string) (*Key, error) {
	where := "the release key"
	if !strings.Contains(text, "-----BEGIN") {
		where = text
		content, err := os.ReadFile(text)
		if err != nil {
			// The text may be a key in another format, so the error does not repeat it.
			if system := (*os.PathError)(nil); errors.As(err, &system) {
				err = system.Err
			}
			return nil, fmt.Errorf("read the release key: it is neither a key in PEM format nor a file that can be read (%w): %s", err, makeKey)
		}
		text = string(content)
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("read the release key: %s is not in PEM format: %s", where, makeKey)
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
		return nil, fmt.Errorf("read the release key: %s is a PEM block %q: %w: %s", where, block.Type, err, makeKey)
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, fmt.Errorf("read the release key: %s is not an ECDSA key on the curve P-256: %s", where, makeKey)
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

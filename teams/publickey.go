package teams

import (
	"crypto/x509"
	"encoding/pem"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"golang.org/x/crypto/ssh"
)

// Endings of the names under which Flux looks for public keys in a Secret.
const (
	cosignKey  = ".pub"
	openPGPKey = ".asc"
	sshKey     = ".sshpub"
)

// openPGPBegin begins a public key of OpenPGP. A private key begins with another line.
const openPGPBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

// KeySuffix returns the ending of the name under which Flux looks for a public key in a Secret: .pub for PEM, .asc for OpenPGP,
// .sshpub for SSH. It returns "" for a text that is not exactly one public key: Flux would ignore the rest of the text.
func KeySuffix(text string) string {
	switch {
	case isPEM(text):
		return cosignKey
	case isOpenPGP(text):
		return openPGPKey
	case isSSH(text):
		return sshKey
	}
	return ""
}

func isPEM(text string) bool {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "PUBLIC KEY" || len(rest) > 0 {
		return false
	}
	_, err := x509.ParsePKIXPublicKey(block.Bytes)
	return err == nil
}

func isOpenPGP(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, openPGPBegin) || strings.Count(text, "-----BEGIN ") != 1 {
		return false
	}
	keys, err := openpgp.ReadArmoredKeyRing(strings.NewReader(text))
	return err == nil && len(keys) == 1 && keys[0].PrivateKey == nil
}

func isSSH(text string) bool {
	if strings.Contains(strings.TrimSpace(text), "\n") {
		return false
	}
	_, _, options, rest, err := ssh.ParseAuthorizedKey([]byte(text))
	return err == nil && len(options) == 0 && len(rest) == 0
}

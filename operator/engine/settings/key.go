package settings

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
)

const (
	// saltVersion begins a salt, and keyCheck is the text that ends it, encrypted with the key (pulumi/pulumi,
	// pkg/secrets/passphrase).
	saltVersion = "v1"
	keyCheck    = "pulumi"

	saltBytes = 8
)

// Key encrypts and decrypts the secrets of a stack. It is derived from a passphrase and a salt.
type Key struct {
	config.Crypter

	// Salt is the stack's encryptionsalt.
	Salt string
}

// NewKey returns the key of a new stack with a passphrase. It takes a fifth of a second.
func NewKey(ctx context.Context, passphrase string) (*Key, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // It never fails.
	made := config.NewSymmetricCrypterFromPassphrase(passphrase, salt)
	check, err := made.EncryptValue(ctx, keyCheck)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &Key{made, strings.Join([]string{saltVersion, base64.StdEncoding.EncodeToString(salt), check}, ":")}, nil
}

// newKey derives the key of a stack and checks the passphrase. The last part of the
// salt is a known text that the key encrypts.
func newKey(passphrase, salt string) (*Key, error) {
	parts := strings.SplitN(salt, ":", 3)
	if len(parts) != 3 || parts[0] != saltVersion {
		return nil, errors.New("its encryptionsalt has an unknown form")
	}
	decoded, err := base64.StdEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, fmt.Errorf("its encryptionsalt is not valid: %w", err)
	}
	made := &Key{config.NewSymmetricCrypterFromPassphrase(passphrase, decoded), salt}
	if text, err := made.DecryptValue(context.Background(), parts[2]); err != nil || text != keyCheck {
		return nil, fmt.Errorf("the stack's secrets were encrypted with another passphrase: set %s to the passphrase of its first run", PassphraseVariable)
	}
	return made, nil
}

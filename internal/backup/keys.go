package backup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
)

const (
	// minPassphrase is the shortest passphrase, in bytes: a backup may be attacked for years.
	minPassphrase = 16
	// maxKey bounds the files with keys, in bytes.
	maxKey = 64 << 10
	// work is the logarithm of the cost of a passphrase: about a second. A reader accepts twice this cost, and no more, because the
	// file itself names it.
	work = 18
)

// Keys are the keys of a backup: a passphrase, or key pairs of age.
type Keys struct {
	// PassphraseFile is the path of a file with a passphrase.
	PassphraseFile string
	// Recipients are public keys of age, for a new backup.
	Recipients []string
	// IdentityFile is the path of a file with private keys of age, for a restore.
	IdentityFile string
}

// ForWriting returns the recipients of a new backup.
func (k Keys) ForWriting() ([]age.Recipient, error) {
	if k.PassphraseFile != "" {
		passphrase, err := k.passphrase()
		if err != nil {
			return nil, err
		}
		if len(passphrase) < minPassphrase {
			return nil, fmt.Errorf("the passphrase in %s has fewer than %d characters: choose a longer one", k.PassphraseFile, minPassphrase)
		}
		recipient, err := age.NewScryptRecipient(passphrase)
		if err != nil {
			return nil, err
		}
		recipient.SetWorkFactor(work)
		return []age.Recipient{recipient}, nil
	}
	var all []age.Recipient
	for i, text := range k.Recipients {
		recipient, err := age.ParseX25519Recipient(text)
		if err != nil {
			// Somebody may have given a private key, so the error does not repeat the text.
			return nil, fmt.Errorf("recipient %d is no public key of age, which begins with age1", i+1)
		}
		all = append(all, recipient)
	}
	return all, nil
}

// ForReading returns the identities that open a backup.
func (k Keys) ForReading() ([]age.Identity, error) {
	if k.PassphraseFile != "" {
		passphrase, err := k.passphrase()
		if err != nil {
			return nil, err
		}
		if passphrase == "" {
			return nil, fmt.Errorf("the passphrase in %s is empty", k.PassphraseFile)
		}
		identity, err := age.NewScryptIdentity(passphrase)
		if err != nil {
			return nil, err
		}
		identity.SetMaxWorkFactor(work + 1)
		return []age.Identity{identity}, nil
	}
	text, err := readKey(k.IdentityFile)
	if err != nil {
		return nil, fmt.Errorf("read the identity: %w", err)
	}
	all, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the identity: %s contains no private keys of age, which begin with AGE-SECRET-KEY-1", k.IdentityFile)
	}
	return all, nil
}

// passphrase reads the first line of the file with the passphrase.
func (k Keys) passphrase() (string, error) {
	text, err := readKey(k.PassphraseFile)
	if err != nil {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(rest) != "" {
		return "", fmt.Errorf("read the passphrase: %s has several lines: a passphrase is one", k.PassphraseFile)
	}
	return strings.TrimRight(first, "\r"), nil
}

// readKey reads a file that may be a pipe, such as <(pass show backup).
func readKey(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxKey+1))
	if err == nil && len(raw) > maxKey {
		err = errors.New(path + " is too large for a key")
	}
	return string(raw), err
}

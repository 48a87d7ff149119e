package settings

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	// PassphraseVariable names the variable with the passphrase that encrypts a stack's
	// secrets.
	PassphraseVariable = "PULUMI_CONFIG_PASSPHRASE"

	// FormerVariable names the variable with the passphrase that encrypted a stack's secrets before the passphrase was rotated. Pulumi
	// does not know it: the engine chooses.
	FormerVariable = "PULUMI_CONFIG_PASSPHRASE_FORMER"

	// WrongPassphrase is a part of the message about a passphrase that does not open a stack.
	WrongPassphrase = "encrypted with another passphrase"

	saltSetting = "encryptionsalt"

	// mostCrypters bounds how many keys [Crypters] caches.
	mostCrypters = 1000
)

// Crypters caches the keys of stacks. Deriving a key from a passphrase takes pulumi a
// fifth of a second. The zero value is an empty cache.
type Crypters struct {
	sync.Mutex
	known map[[sha256.Size]byte]*Key
}

func (c *Crypters) get(id [sha256.Size]byte) *Key {
	c.Lock()
	defer c.Unlock()
	return c.known[id]
}

func (c *Crypters) put(id [sha256.Size]byte, made *Key) {
	c.Lock()
	defer c.Unlock()
	if c.known == nil || len(c.known) >= mostCrypters {
		c.known = map[[sha256.Size]byte]*Key{}
	}
	c.known[id] = made
}

// Key returns the key of a passphrase and a salt, from the cache if it is there. The error is a [*KeyError].
func (c *Crypters) Key(passphrase, salt string) (*Key, error) {
	id := sha256.Sum256([]byte(passphrase + "\x00" + salt))
	if known := c.get(id); known != nil {
		return known, nil
	}
	made, err := newKey(passphrase, salt)
	if err != nil {
		return nil, &KeyError{err}
	}
	c.put(id, made)
	return made, nil
}

// KeyError is the error of a stack whose key cannot be derived: another passphrase, or an unknown form of its salt.
type KeyError struct{ Err error }

// Error implements the error interface.
func (e *KeyError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Err }

// Secrets is the secret config of a stack.
type Secrets struct {
	// Values holds the values by their keys.
	Values map[string]string

	// Backend is the address of the stack's backend. Passphrase is the passphrase that
	// encrypts the values. An empty Passphrase means that pulumi encrypts all values.
	Backend, Passphrase string

	// Set encrypts one value by pulumi and writes it into the settings under a qualified key.
	Set func(ctx context.Context, key, value string) error
}

// Encrypt writes the secret config into the stack's settings. Pulumi encrypts a stack's
// first value and stores the salt of the key in the settings. Encrypt encrypts the
// other values itself, which saves a call of pulumi for each. The error is a [*KeyError]
// if the passphrase is not that of the stack.
func (f File) Encrypt(ctx context.Context, crypters *Crypters, secrets Secrets) error {
	keys := slices.Sorted(maps.Keys(secrets.Values))
	if len(keys) == 0 {
		return nil
	}
	passphrase := secrets.Passphrase
	id := sha256.Sum256([]byte(strings.Join([]string{secrets.Backend, f.Project, f.Stack, passphrase}, "\x00")))
	by := crypters.get(id)
	salt, err := f.salt()
	if err != nil {
		return err
	}
	if by != nil && salt != "" && salt != by.Salt {
		by = nil
	}
	for by == nil && len(keys) > 0 {
		// Without a passphrase, the salt is of no use: the stack may have another secrets
		// provider, and the salt may come from a file of the project.
		if salt == "" || passphrase == "" {
			if err := secrets.Set(ctx, f.key(keys[0]), secrets.Values[keys[0]]); err != nil {
				return err
			}
			keys = keys[1:]
			if salt, err = f.salt(); err != nil {
				return err
			}
			continue
		}
		if by, err = crypters.Key(passphrase, salt); err != nil {
			return err
		}
		crypters.put(id, by)
	}
	if len(keys) == 0 {
		return nil
	}
	return f.setSecrets(ctx, by, secrets.Values, keys)
}

// EncryptBy writes secret config, by its keys, into the stack's settings, encrypted with a key. The settings may have secrets that
// another key encrypts, or another provider: placeholder takes their place.
func (f File) EncryptBy(ctx context.Context, by *Key, placeholder string, values map[string]string) error {
	if _, err := f.Root.Stat(filepath.FromSlash(f.Path)); errors.Is(err, fs.ErrNotExist) && len(values) == 0 {
		return nil
	}
	secure, err := by.EncryptValue(ctx, placeholder)
	if err == nil {
		err = f.edit(func(settings map[string]any) error {
			delete(settings, providerSetting)
			delete(settings, "encryptedkey")
			replaceSecure(settings["config"], secure)
			return nil
		})
	}
	if err != nil {
		return err
	}
	return f.setSecrets(ctx, by, values, slices.Sorted(maps.Keys(values)))
}

// replaceSecure replaces the encrypted values in decoded YAML.
func replaceSecure(within any, secure string) {
	switch value := within.(type) {
	case map[string]any:
		if _, is := value["secure"].(string); is && len(value) == 1 {
			value["secure"] = secure
			return
		}
		for _, each := range value {
			replaceSecure(each, secure)
		}
	case []any:
		for _, each := range value {
			replaceSecure(each, secure)
		}
	}
}

// setSecrets encrypts the values of keys and writes them into the stack's settings.
func (f File) setSecrets(ctx context.Context, by *Key, secrets map[string]string, keys []string) error {
	return f.edit(func(settings map[string]any) error {
		values, _ := settings["config"].(map[string]any)
		if values == nil {
			values = map[string]any{}
		}
		for _, key := range keys {
			secure, err := by.EncryptValue(ctx, secrets[key])
			if err != nil {
				return err
			}
			values[f.key(key)] = map[string]string{"secure": secure}
		}
		settings["config"], settings[saltSetting] = values, by.Salt
		return nil
	})
}

// salt returns the salt in the stack's settings, or an empty string if there is none.
func (f File) salt() (salt string, err error) {
	err = f.read(func(settings map[string]any) { salt, _ = settings[saltSetting].(string) })
	return salt, err
}

func (f File) read(see func(map[string]any)) error {
	settings := map[string]any{}
	data, err := project.ReadFile(f.Root, f.Path)
	if err == nil {
		err = project.DecodeYAML(data, &settings)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the settings of stack %q: %w", f.Stack, err)
	}
	see(settings)
	return nil
}

func (f File) edit(change func(map[string]any) error) error {
	var changed map[string]any
	err := f.read(func(settings map[string]any) { changed = settings })
	if err == nil {
		err = change(changed)
	}
	var data []byte
	if err == nil {
		data, err = yaml.Marshal(changed)
	}
	if err == nil {
		err = untrusted.Write(f.Root, f.Path, data)
	}
	if err != nil {
		return fmt.Errorf("write config of stack %q: %w", f.Stack, err)
	}
	return nil
}

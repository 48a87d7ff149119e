package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/sandbox"
	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	// passphraseVariable names the variable with the passphrase that encrypts a stack's
	// secrets.
	passphraseVariable = "PULUMI_CONFIG_PASSPHRASE"

	saltSetting = "encryptionsalt"

	// mostCrypters bounds how many keys [crypters] caches.
	mostCrypters = 1000
)

// crypters caches the keys of stacks. Deriving a key from a passphrase takes pulumi a
// fifth of a second.
type crypters struct {
	sync.Mutex
	known map[[sha256.Size]byte]crypter
}

// crypter encrypts the config of a stack whose key has this salt.
type crypter struct {
	config.Crypter
	salt string
}

func (c *crypters) get(key [sha256.Size]byte) (crypter, bool) {
	c.Lock()
	defer c.Unlock()
	found, ok := c.known[key]
	return found, ok
}

func (c *crypters) put(key [sha256.Size]byte, made crypter) {
	c.Lock()
	defer c.Unlock()
	if c.known == nil || len(c.known) >= mostCrypters {
		c.known = map[[sha256.Size]byte]crypter{}
	}
	c.known[key] = made
}

// encrypt writes the secret config into the stack's settings. Pulumi encrypts a stack's
// first value and stores the salt of the key in the settings. The engine encrypts the
// other values itself, which saves a call of pulumi for each.
func (r *run) encrypt(ctx context.Context) error {
	keys := sortedKeys(r.SecretConfig)
	if len(keys) == 0 {
		return nil
	}
	passphrase := sandbox.Value(r.env, passphraseVariable)
	if !slices.Contains([]string{"", "default", "passphrase"}, r.SecretsProvider) {
		passphrase = ""
	}
	id := sha256.Sum256([]byte(strings.Join([]string{sandbox.Value(r.env, "PULUMI_BACKEND_URL"), r.Project, r.Stack, passphrase}, "\x00")))
	by, known := r.crypters.get(id)
	salt, err := r.salt()
	if err != nil {
		return err
	}
	if known && salt != "" && salt != by.salt {
		known = false
	}
	for !known && len(keys) > 0 {
		// Without a passphrase, the salt is of no use: the stack may have another secrets
		// provider, and the salt may come from a file of the project.
		if salt == "" || passphrase == "" {
			// The value goes through standard input, because other processes can read a command
			// line.
			if _, err := r.pulumi(ctx, []byte(r.SecretConfig[keys[0]]), "config", "set", "--secret", "--", r.configKey(keys[0])); err != nil {
				return err
			}
			keys = keys[1:]
			if salt, err = r.salt(); err != nil {
				return err
			}
			continue
		}
		if by, err = newCrypter(passphrase, salt); err != nil {
			return r.failure(Failed, "%v", err)
		}
		r.crypters.put(id, by)
		known = true
	}
	if len(keys) == 0 {
		return nil
	}
	return r.setSecrets(ctx, by, keys)
}

// newCrypter derives the key of a stack and checks the passphrase. The last part of the
// salt is a known text that the key encrypts.
func newCrypter(passphrase, salt string) (crypter, error) {
	parts := strings.SplitN(salt, ":", 3)
	if len(parts) != 3 || parts[0] != "v1" {
		return crypter{}, errors.New("its encryptionsalt is of a form that is not known here")
	}
	decoded, err := base64.StdEncoding.DecodeString(parts[1])
	if err != nil {
		return crypter{}, fmt.Errorf("its encryptionsalt is not valid: %w", err)
	}
	made := crypter{config.NewSymmetricCrypterFromPassphrase(passphrase, decoded), salt}
	if text, err := made.DecryptValue(context.Background(), parts[2]); err != nil || text != "pulumi" {
		return crypter{}, fmt.Errorf("the stack's secrets were encrypted with another passphrase: set %s to the one of its first run", passphraseVariable)
	}
	return made, nil
}

// setSecrets encrypts the values of keys and writes them into the stack's settings.
func (r *run) setSecrets(ctx context.Context, by crypter, keys []string) error {
	return r.editSettings(func(settings map[string]any) error {
		values, _ := settings["config"].(map[string]any)
		if values == nil {
			values = map[string]any{}
		}
		for _, key := range keys {
			secure, err := by.EncryptValue(ctx, r.SecretConfig[key])
			if err != nil {
				return err
			}
			values[r.configKey(key)] = map[string]string{"secure": secure}
		}
		settings["config"], settings[saltSetting] = values, by.salt
		return nil
	})
}

// salt returns the salt in the stack's settings, or an empty string if there is none.
func (r *run) salt() (salt string, err error) {
	err = r.readSettings(func(settings map[string]any) { salt, _ = settings[saltSetting].(string) })
	return salt, err
}

func (r *run) readSettings(see func(map[string]any)) error {
	settings := map[string]any{}
	data, err := project.ReadFile(r.files, r.project.Settings(r.Stack))
	if err == nil {
		err = project.DecodeYAML(data, &settings)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the settings of stack %q: %w", r.Stack, err)
	}
	see(settings)
	return nil
}

func (r *run) editSettings(edit func(map[string]any) error) error {
	var changed map[string]any
	err := r.readSettings(func(settings map[string]any) { changed = settings })
	if err == nil {
		err = edit(changed)
	}
	var data []byte
	if err == nil {
		data, err = yaml.Marshal(changed)
	}
	if err == nil {
		err = untrusted.Write(r.files, r.project.Settings(r.Stack), data)
	}
	if err != nil {
		return fmt.Errorf("write config of stack %q: %w", r.Stack, err)
	}
	return nil
}

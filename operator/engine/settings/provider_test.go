package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/settings"
)

func TestASettingsFileOfAProjectChoosesNoSecretsProvider(t *testing.T) {
	const key, passphrase = "gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/web", ""
	for name, c := range map[string]struct{ file, provider, want string }{
		"no file":                             {"", key, ""},
		"other settings":                      {"config: {a: b}\n", key, ""},
		"the platform's key":                  {"secretsprovider: " + key + "\nencryptedkey: x\n", key, ""},
		"another key":                         {"secretsprovider: gcpkms://other\nencryptedkey: x\n", key, "secretsprovider is not the platform's, which encrypts this stack with " + key},
		"a passphrase instead of a key":       {"encryptionsalt: v1:x\n", key, "encryptionsalt is not the platform's"},
		"a named passphrase instead of a key": {"secretsprovider: passphrase\nencryptionsalt: v1:x\n", key, "secretsprovider is not the platform's"},
		"a passphrase":                        {"encryptionsalt: v1:x\n", passphrase, ""},
		"a named passphrase":                  {"secretsprovider: passphrase\n", passphrase, ""},
		"a key instead of a passphrase":       {"secretsprovider: awskms://mine\n", passphrase, "the passphrase of the platform"},
		"a key instead of a named passphrase": {"secretsprovider: awskms://mine\n", "passphrase", "the passphrase of the platform"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(dir, "Pulumi.dev.yaml"), []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			err = settings.File{Root: root, Path: "Pulumi.dev.yaml", Project: "shop", Stack: "dev"}.CheckProvider(c.provider)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if wrong := (*settings.InvalidError)(nil); err != nil && !errors.As(err, &wrong) {
				t.Errorf("%v is not an InvalidError", err)
			}
		})
	}
}

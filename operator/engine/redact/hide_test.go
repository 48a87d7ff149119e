package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/redact"
	"github.com/strata-platform/strata/operator/engine/settings"
)

const (
	signature  = "4dabf18193072939515e22adb298388d"
	secretMark = "1b47061264138c4ac30d75fd1eb44270"
)

// copied returns the copy of a state in a folder, and the secret in its first resource, decrypted by a key.
func copied(t *testing.T, root *os.Root, key *settings.Key) (content []byte, secret string) {
	t.Helper()
	err := fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "dev.json") {
			content, err = root.ReadFile(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Checkpoint struct {
			Latest struct {
				Resources []struct {
					Inputs struct {
						Password struct {
							Ciphertext string `json:"ciphertext"`
						} `json:"password"`
					} `json:"inputs"`
				} `json:"resources"`
			} `json:"latest"`
		} `json:"checkpoint"`
	}
	if err := json.Unmarshal(content, &file); err != nil || len(file.Checkpoint.Latest.Resources) != 1 {
		t.Fatalf("the copy is %s, %v", content, err)
	}
	secret, err = key.DecryptValue(t.Context(), file.Checkpoint.Latest.Resources[0].Inputs.Password.Ciphertext)
	if err != nil {
		t.Fatal(err)
	}
	return content, secret
}

func TestAnExportedStateIsHiddenOrShown(t *testing.T) {
	const passphrase, canary = "open sesame", "canary-password-of-a-database"
	own, err := settings.NewKey(t.Context(), passphrase)
	if err != nil {
		t.Fatal(err)
	}
	ciphertext, err := own.EncryptValue(t.Context(), fmt.Sprintf("%q", canary))
	if err != nil {
		t.Fatal(err)
	}
	export := func(secret string) []byte {
		return fmt.Appendf(nil, `{"version":3,"deployment":{"secrets_providers":{"type":"passphrase","state":{"salt":%q}},
			"resources":[{"urn":"urn:pulumi:dev::shop::a:b:C::c","type":"a:b:C","inputs":{"password":{%q:%q,%s},"text":"uses %s"}}]}}`,
			own.Salt, signature, secretMark, secret, canary)
	}
	state := backend.State{Project: "shop", Stack: "dev"}
	var hider redact.Hider
	for name, content := range map[string][]byte{
		"encrypted":     export(fmt.Sprintf(`"ciphertext":%q`, ciphertext)),
		"in plain text": export(fmt.Sprintf(`"plaintext":%q`, fmt.Sprintf("%q", canary))),
	} {
		in := redact.Inputs{Env: map[string]string{settings.PassphraseVariable: passphrase, "TOKEN": canary}, SecretConfig: map[string]string{"k": canary}, Secrets: []string{canary}}
		digests := map[bool]string{}
		for _, shown := range []bool{false, true} {
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			do := hider.Hide
			if shown {
				do = hider.Show
			}
			hidden, err := do(t.Context(), state, content, root, root.Name(), in, &settings.Crypters{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			digests[shown] = hidden.Digest
			file, secret := copied(t, root, hidden.Key)
			if want := fmt.Sprintf("%q", map[bool]string{true: canary, false: redact.Placeholder}[shown]); secret != want {
				t.Errorf("%s, shown: %t: the secret in the copy is %s, want %s", name, shown, secret, want)
			}
			if bytes.Contains(file, []byte(canary)) != shown {
				t.Errorf("%s, shown: %t: the copy is %s", name, shown, file)
			}
			if (hidden.Env["TOKEN"] == canary) != shown || (hidden.SecretConfig["k"] == canary) != shown || hidden.Env[settings.PassphraseVariable] == passphrase {
				t.Errorf("%s, shown: %t: the run gets %v and %v", name, shown, hidden.Env, hidden.SecretConfig)
			}
		}
		if digests[true] == "" || digests[true] != digests[false] {
			t.Errorf("%s: the digests differ: %v", name, digests)
		}
		if in.Env[settings.PassphraseVariable] != passphrase {
			t.Errorf("%s: the inputs of the caller have changed", name)
		}
	}
}

func TestAShownStateFileStaysAsItIs(t *testing.T) {
	own, err := settings.NewKey(t.Context(), "open sesame")
	if err != nil {
		t.Fatal(err)
	}
	ciphertext, err := own.EncryptValue(t.Context(), `"canary"`)
	if err != nil {
		t.Fatal(err)
	}
	file := fmt.Appendf(nil, `{"version":3,"checkpoint":{"latest":{"secrets_providers":{"type":"passphrase","state":{"salt":%q}},
		"resources":[{"inputs":{"password":{%q:%q,"ciphertext":%q}}}]}}}`, own.Salt, signature, secretMark, ciphertext)
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	in := redact.Inputs{Env: map[string]string{settings.PassphraseVariable: "open sesame"}}
	var hider redact.Hider
	shown, err := hider.Show(t.Context(), backend.State{Project: "shop", Stack: "dev"}, file, root, root.Name(), in, &settings.Crypters{})
	if err != nil {
		t.Fatal(err)
	}
	if content, secret := copied(t, root, own); !bytes.Equal(content, file) || secret != `"canary"` || shown.Key != nil {
		t.Errorf("the copy is %s, with the secret %s", content, secret)
	}
}

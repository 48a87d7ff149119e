package reencrypt_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/reencrypt"
	"github.com/strata-platform/strata/operator/engine/redact"
	"github.com/strata-platform/strata/operator/engine/settings"
	"github.com/strata-platform/strata/test/long"
)

const former, current = "the former passphrase", "the current passphrase"

// write writes a file below a folder.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// state returns a state file with a secret, as Pulumi writes it.
func state(t *testing.T, passphrase string) string {
	t.Helper()
	key, err := settings.NewKey(t.Context(), passphrase)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := key.EncryptValue(t.Context(), `"treasure"`)
	if err != nil {
		t.Fatal(err)
	}
	return `{"version":3,"checkpoint":{"stack":"organization/shop/dev","latest":{"secrets_providers":{"type":"passphrase","state":{"salt":"` + key.Salt +
		`"}},"resources":[{"urn":"urn:a","outputs":{"big":12345678901234567890,"html":"<&>","token":{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","ciphertext":"` + secret + `"}}}]}}}`
}

func move(t *testing.T, dir string, patience time.Duration) (reencrypt.Moved, error) {
	t.Helper()
	rotation := &reencrypt.Rotation{Folder: dir, From: former, To: current, Patience: patience}
	return rotation.Move(t.Context())
}

const place = ".pulumi/stacks/shop/dev.json"

func TestOnlyTheSecretsOfAStateChange(t *testing.T) {
	long.Test(t)
	dir := t.TempDir()
	before := state(t, former)
	write(t, dir, "nested/"+place, before)
	for _, copied := range []string{"nested/" + place + ".bak", "nested/.pulumi/backups/shop/dev/dev.1.json", "nested/.pulumi/history/shop/dev/dev-1.checkpoint.json"} {
		write(t, dir, copied, before)
	}
	write(t, dir, "nested/.pulumi/stacks/shop/dev2.json", state(t, current))
	other := state(t, "a passphrase of the team's own")
	// A stack may have a name that looks like that of another one's file.
	write(t, dir, "nested/.pulumi/stacks/shop/dev.json.x.json", state(t, current))
	write(t, dir, "nested/.pulumi/stacks/shop/dev.json.1700000000000000000.bak", before)
	write(t, dir, "nested/.pulumi/stacks/shop/third.json", other)
	if _, err := reencrypt.Prove(t.Context(), dir, former); err == nil || !strings.Contains(err.Error(), "still opens nested/.pulumi/backups/shop/dev/dev.1.json, and 4 more") {
		t.Errorf("before the move: %v", err)
	}
	moved, err := move(t, dir, time.Minute)
	if want := (reencrypt.Moved{Now: 1, Before: 2, Other: []string{"nested/.pulumi/stacks/shop/third.json"}}); err != nil || !reflect.DeepEqual(moved, want) {
		t.Fatalf("moved %+v, %v; want %+v", moved, err, want)
	}
	if tried, err := reencrypt.Prove(t.Context(), dir, former); err != nil || tried != 4 {
		t.Errorf("tried %d files: %v", tried, err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "nested", place))
	if err != nil {
		t.Fatal(err)
	}
	digest := func(content, passphrase string) string {
		t.Helper()
		var keys settings.Crypters
		salt, err := redact.Salt([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		key, err := keys.Key(passphrase, salt)
		if err != nil {
			t.Fatal(err)
		}
		var file map[string]any
		decoder := json.NewDecoder(strings.NewReader(content))
		decoder.UseNumber()
		if err := decoder.Decode(&file); err != nil {
			t.Fatal(err)
		}
		latest := file["checkpoint"].(map[string]any)["latest"].(map[string]any)
		delete(latest, "secrets_providers")
		token := latest["resources"].([]any)[0].(map[string]any)["outputs"].(map[string]any)["token"].(map[string]any)
		if token["ciphertext"], err = key.DecryptValue(t.Context(), token["ciphertext"].(string)); err != nil {
			t.Fatal(err)
		}
		plain, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(plain)
	}
	if was, is := digest(before, former), digest(string(after), current); was != is {
		t.Errorf("the state was\n%s\nand is\n%s", was, is)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "nested/.pulumi/stacks/shop/third.json")); err != nil || string(kept) != other {
		t.Errorf("a state of another passphrase has changed: %v", err)
	}
	if again, err := move(t, dir, time.Minute); err != nil || again.Now != 0 || again.Before != 3 {
		t.Errorf("a second move: %+v, %v", again, err)
	}
}

func TestARunKeepsItsLock(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, place, state(t, former))
	const lock = ".pulumi/locks/organization/shop/dev/a-run.json"
	write(t, dir, lock, `{"pid":1}`)
	if moved, err := move(t, dir, time.Millisecond); err == nil || moved.Now != 0 || !strings.Contains(err.Error(), "a run has held the lock of stack dev") {
		t.Errorf("moved %+v: %v", moved, err)
	}
	if _, err := os.Stat(filepath.Join(dir, lock)); err != nil {
		t.Errorf("the lock of the run: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, lock)); err != nil {
		t.Fatal(err)
	}
	// A killed rotation leaves its own lock, which the next one takes over.
	write(t, dir, ".pulumi/locks/organization/shop/dev/strata-rotate.json", "{")
	if moved, err := move(t, dir, time.Millisecond); err != nil || moved.Now != 1 {
		t.Errorf("moved %+v: %v", moved, err)
	}
}

// TestAHostileFolderHarmsNoFileElsewhere plants what a team's run can leave in the folder of its states.
func TestAHostileFolderHarmsNoFileElsewhere(t *testing.T) {
	long.Test(t)
	elsewhere := t.TempDir()
	write(t, elsewhere, "history/precious", "precious")
	write(t, elsewhere, "state.json", state(t, former))
	for name, plant := range map[string]func(t *testing.T, dir string){
		"a state that is a link": func(t *testing.T, dir string) {
			write(t, dir, ".pulumi/stacks/shop/x", "")
			if err := os.Symlink(filepath.Join(elsewhere, "state.json"), filepath.Join(dir, place)); err != nil {
				t.Fatal(err)
			}
		},
		"a history that is a link": func(t *testing.T, dir string) {
			write(t, dir, place, state(t, former))
			if err := os.Symlink(filepath.Join(elsewhere, "history"), filepath.Join(dir, ".pulumi", "history")); err != nil {
				t.Fatal(err)
			}
		},
		"locks that are a link": func(t *testing.T, dir string) {
			write(t, dir, place, state(t, former))
			if err := os.Symlink(elsewhere, filepath.Join(dir, ".pulumi", "locks")); err != nil {
				t.Fatal(err)
			}
		},
		"a salt of no known form": func(t *testing.T, dir string) {
			write(t, dir, place, `{"checkpoint":{"latest":{"secrets_providers":{"type":"passphrase","state":{"salt":"v1:x:y"}}}}}`)
		},
		"a damaged ciphertext": func(t *testing.T, dir string) {
			write(t, dir, place, strings.Replace(state(t, former), `"ciphertext":"v1`, `"ciphertext":"v2`, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir)
			moved, err := move(t, dir, time.Second)
			if err == nil && len(moved.Other) == 0 {
				t.Errorf("moved %+v", moved)
			}
			for file, want := range map[string]string{"history/precious": "precious"} {
				if got, err := os.ReadFile(filepath.Join(elsewhere, file)); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v", file, got, err)
				}
			}
			if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 2 {
				t.Errorf("elsewhere are %v, %v", entries, err)
			}
			if raw, err := os.ReadFile(filepath.Join(elsewhere, "state.json")); err != nil || !strings.Contains(string(raw), `"big":12345678901234567890,"html":"<&>"`) {
				t.Errorf("the state elsewhere has changed: %v", err)
			}
		})
	}
}

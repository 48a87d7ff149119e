package losses

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// stateWith returns a state file with a database.
func stateWith(database string) string {
	return `{"checkpoint": {"latest": {"resources": [{"type": "gcp:sql/database:Database", "inputs": {"name": "` + database + `", "instance": "strata"}}]}}}`
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write([]byte(text))
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func zstandard(t *testing.T, text string) []byte {
	t.Helper()
	writer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	return writer.EncodeAll([]byte(text), nil)
}

func TestThePlanOfDownReadsStatesThatATeamCanWriteTo(t *testing.T) {
	shop := []string{"database shop of instance strata"}
	const file = ".pulumi/stacks/shop/dev.json"
	write := func(path string, content []byte) error {
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600))
	}
	for name, c := range map[string]struct {
		// attack changes a team's folder. other is the folder of another team.
		attack  func(dir, other string) error
		lost    []string
		unknown string
	}{
		"a state": {func(dir, _ string) error { return write(filepath.Join(dir, file), []byte(stateWith("shop"))) }, shop, ""},
		"an encrypted name": {func(dir, _ string) error {
			return write(filepath.Join(dir, file), []byte(`{"checkpoint": {"latest": {"resources": [{"type": "gcp:sql/database:Database",
				"id": "projects/strata-local/instances/strata/databases/shop", "inputs": {"instance": "strata",
				"name": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x"}}}]}}}`))
		}, shop, ""},
		"a state in a nested one": {func(dir, _ string) error { return write(filepath.Join(dir, "a/b", file), []byte(stateWith("shop"))) }, shop, ""},
		"a compressed state": {func(dir, _ string) error {
			return write(filepath.Join(dir, file+".gz"), compressed(t, stateWith("shop")))
		}, shop, ""},
		"a compressed plain name": {func(dir, _ string) error { return write(filepath.Join(dir, file), compressed(t, stateWith("shop"))) }, shop, ""},
		"a state compressed with zstd": {func(dir, _ string) error {
			return write(filepath.Join(dir, file+".zst"), zstandard(t, stateWith("shop")))
		}, shop, ""},
		"a zstd file that is cut": {func(dir, _ string) error {
			return write(filepath.Join(dir, file+".zst"), zstandard(t, stateWith("shop"))[:20])
		}, nil, "dev.json.zst: decompress it with zstd: unexpected EOF"},
		"a zstd bomb": {func(dir, _ string) error {
			return write(filepath.Join(dir, file+".zst"), zstandard(t, strings.Repeat(" ", 65<<20)))
		}, nil, "dev.json.zst: too large: "},
		"a state that is cut": {func(dir, _ string) error { return write(filepath.Join(dir, file), []byte(stateWith("shop")[:20])) }, nil, "dev.json: unexpected EOF"},
		"a backup": {func(dir, _ string) error {
			return write(filepath.Join(dir, ".pulumi/backups/shop/dev.json"), []byte(stateWith("shop")))
		}, nil, ""},
		"a pipe": {func(dir, _ string) error {
			return syscall.Mkfifo(filepath.Join(dir, filepath.Dir(file), "a.json"), 0o600)
		}, nil, "a.json: it is not a regular file"},
		"a link to another team's": {func(dir, other string) error { return os.Symlink(filepath.Join(other, file), filepath.Join(dir, file)) }, nil, "dev.json: it is not a regular file"},
		"a link to another folder": {func(dir, other string) error { return os.Symlink(other, filepath.Join(dir, "a")) }, nil, ""},
		"a sparse file": {func(dir, _ string) error {
			path := filepath.Join(dir, file)
			return errors.Join(write(path, nil), os.Truncate(path, 1<<40))
		}, nil, "dev.json: too large: "},
		"a bomb": {func(dir, _ string) error {
			return write(filepath.Join(dir, file+".gz"), compressed(t, strings.Repeat(" ", 65<<20)))
		}, nil, "dev.json.gz: too large: "},
		"millions of resources": {func(dir, _ string) error {
			return write(filepath.Join(dir, file), []byte(`{"checkpoint": {"latest": {"resources": [`+strings.Repeat("{},", 1<<20)+`{}]}}}`))
		}, nil, "dev.json: it has more than 20000 resources"},
		"endless nesting": {func(dir, _ string) error {
			return write(filepath.Join(dir, file), []byte(strings.Repeat("[", 1<<20)))
		}, nil, "dev.json: it has [ in place of the object"},
		"a deep tree": {func(dir, _ string) error {
			return os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 1000)), 0o700)
		}, nil, "it lies below more than 16 folders"},
		"a name for terminals": {func(dir, _ string) error {
			return write(filepath.Join(dir, file), []byte(stateWith(`\u001b[2J`)))
		}, []string{`database \x1b[2J of instance strata`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := home.At(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(h.TenantStates(), "team-web")
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o700); err != nil {
				t.Fatal(err)
			}
			// The other team's folder is not below TenantStates, so only a link can lead there.
			other := t.TempDir()
			if err := write(filepath.Join(other, file), []byte(stateWith("secret"))); err != nil {
				t.Fatal(err)
			}
			if err := c.attack(dir, other); err != nil {
				t.Fatal(err)
			}
			found, unread, err := Databases(t.Context(), h, "")
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(found, c.lost) {
				t.Errorf("lost would be %q, want %q", found, c.lost)
			}
			if got := strings.Join(unread, "; "); (got != "") != (c.unknown != "") || !strings.Contains(got, c.unknown) {
				t.Errorf("unread is %q, want %q", got, c.unknown)
			}
		})
	}
}

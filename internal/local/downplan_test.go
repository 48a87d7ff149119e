package local

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/lifecycle"
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
		"a state":                 {func(dir, _ string) error { return write(filepath.Join(dir, file), []byte(stateWith("shop"))) }, shop, ""},
		"a state in a nested one": {func(dir, _ string) error { return write(filepath.Join(dir, "a/b", file), []byte(stateWith("shop"))) }, shop, ""},
		"a compressed state": {func(dir, _ string) error {
			return write(filepath.Join(dir, file+".gz"), compressed(t, stateWith("shop")))
		}, shop, ""},
		"a compressed plain name": {func(dir, _ string) error { return write(filepath.Join(dir, file), compressed(t, stateWith("shop"))) }, shop, ""},
		"another compression":     {func(dir, _ string) error { return write(filepath.Join(dir, file+".zst"), []byte("\x28\xb5\x2f\xfd")) }, nil, "dev.json.zst: it is compressed with zstd"},
		"a state that is cut":     {func(dir, _ string) error { return write(filepath.Join(dir, file), []byte(stateWith("shop")[:20])) }, nil, "dev.json: unexpected EOF"},
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
			p := openTestPlatform(t)
			dir := filepath.Join(p.Home.TenantStates(), "team-web")
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
			plan := lifecycle.New(p).Plan(t.Context(), false)
			if !slices.Equal(plan.Lost, c.lost) {
				t.Errorf("lost would be %q, want %q", plan.Lost, c.lost)
			}
			if (plan.Unknown != "") != (c.unknown != "") || !strings.Contains(plan.Unknown, c.unknown) {
				t.Errorf("unknown is %q, want %q", plan.Unknown, c.unknown)
			}
		})
	}
}

func TestAnUnreadableStateIsNamedAndTheOthersAreRead(t *testing.T) {
	p := openTestPlatform(t)
	contents := map[string]string{"team-web/.pulumi/stacks/shop/web.json": stateWith("shop")}
	for i := range mostUnread + 5 {
		contents[fmt.Sprintf("team-data/.pulumi/stacks/cut/cut%02d.json", i)] = stateWith("data")[:20]
	}
	for path, content := range contents {
		path = filepath.Join(p.Home.TenantStates(), filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := lifecycle.New(p).Plan(t.Context(), false)
	if !slices.Equal(plan.Lost, []string{"database shop of instance strata"}) {
		t.Errorf("lost would be %q", plan.Lost)
	}
	if !strings.Contains(plan.Unknown, ".json: ") || !strings.Contains(plan.Unknown, "… and 5 more of them") || strings.Contains(plan.Unknown, "web.json") {
		t.Errorf("not known is said to be: %s", plan.Unknown)
	}
}

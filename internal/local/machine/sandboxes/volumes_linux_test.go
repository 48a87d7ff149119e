package sandboxes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/owners"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// volume returns a folder with files, whose names are keys.
func volume(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func testSubPaths(t *testing.T, h *sandboxes.Host) {
	p := create(t, h, spec.Pod{ID: "sub-paths"})
	dir := volume(t, map[string]string{"a/b/inside": "of the volume"})
	for name, target := range map[string]string{"etc": "/etc", "root": "/proc/self/root", "up": "../../../../../../etc"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		subPath, action, want string
	}{
		"a folder":                  {"a/b", "list", "inside\n"},
		"a file":                    {"a/b/inside", "read", "of the volume"},
		"a missing folder":          {"new/folder", "list", ""},
		"a link to /etc":            {"etc", "list", "leads out of the volume"},
		"a link to the root":        {"root/etc", "list", "leads out of the volume"},
		"a link upwards":            {"up", "list", "leads out of the volume"},
		"a file behind a link":      {"etc/passwd", "read", "leads out of the volume"},
		"a folder behind a link":    {"etc/new", "list", "leads out of the volume"},
		"a path that begins with /": {"/etc", "list", "is invalid"},
		"a path that goes up":       {"../etc", "list", "is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			target := map[string]string{"list": "/folder", "read": "/file"}[test.action]
			c := guest(t, "sub-path", test.action, target)
			c.Mounts = []spec.Mount{{Kind: spec.Bind, Source: dir, SubPath: test.subPath, Target: target}}
			if test.want == "leads out of the volume" || test.want == "is invalid" {
				if _, err := p.Start(t.Context(), c, sandboxes.Streams{}); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("it starts: %v, want an error that contains %q", err, test.want)
				}
				return
			}
			if out, exit := run(t, p, c); out != test.want || exit.Code != 0 {
				t.Errorf("%+v %s, want %s", exit, out, test.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "new", "folder")); err != nil {
		t.Error(err)
	}
	t.Run("a container swaps the folder", func(t *testing.T) {
		secret := volume(t, map[string]string{"b/secret": ""})
		attacker := guest(t, "attacker", "swap", "/data/a", secret)
		attacker.Mounts = []spec.Mount{{Kind: spec.Bind, Source: dir, Target: "/data"}}
		process, out := begin(t, p, attacker, nil)
		out.waitFor(t, "swapping", process)
		for range 10 {
			victim := guest(t, "victim", "list", "/data")
			victim.Mounts = []spec.Mount{{Kind: spec.Bind, Source: dir, SubPath: "a/b", Target: "/data"}}
			text := newBuffer()
			process, err := p.Start(t.Context(), victim, sandboxes.Streams{Stdout: text, Stderr: text})
			if err != nil {
				continue // The folder was away, or a link.
			}
			if _, err := process.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := p.RemoveContainer(t.Context(), victim.ID); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text.String(), "secret") {
				t.Fatal("the container sees a folder of the machine")
			}
		}
	})
}

func testOwners(t *testing.T, h *sandboxes.Host) {
	dir := volume(t, map[string]string{"sub/file": "text"})
	if err := owners.Supported(dir); err != nil {
		t.Skip(err)
	}
	if err := owners.Set(dir, owners.Record{Mode: 0o777}); err != nil {
		t.Fatal(err)
	}
	p := create(t, h, spec.Pod{ID: "owners", Annotations: owners.Annotations("volume-0", dir)})
	for _, step := range []struct {
		name    string
		uid     uint32
		subPath string
		action  []string
		want    string
	}{
		{"a user writes", 999, "", []string{"write", "/data/mine", "x"}, ""},
		{"another user has no rights", 1000, "", []string{"chown", "/data/mine"}, "operation not permitted"},
		{"root gives a file away", 0, "", []string{"chown", "/data/sub/file"}, ""},
		{"the new owner writes the file by its sub path", 999, "sub/file", []string{"write", "/file", "new"}, ""},
		{"a missing sub path has the mode of the volume", 999, "made", []string{"write", "/data/yes", "x"}, ""},
	} {
		c := guest(t, "owner", step.action...)
		c.UID, c.GID, c.Capabilities = step.uid, step.uid, []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"}
		target := "/data"
		if step.subPath == "sub/file" {
			target = "/file"
		}
		c.Mounts = []spec.Mount{{Kind: spec.Bind, Source: dir, SubPath: step.subPath, Target: target, Options: []string{owners.MountOption}}}
		if out, exit := run(t, p, c); !strings.Contains(out, step.want) || (exit.Code == 0) != (step.want == "") {
			t.Errorf("%s: %+v %s", step.name, exit, out)
		}
	}
	for path, want := range map[string]owners.Record{
		"mine": {UID: 999, GID: 999, Mode: 0o644}, "sub/file": {UID: 999, GID: 998, Mode: 0o644}, "made": {Mode: 0o777},
	} {
		if got, err := owners.Of(filepath.Join(dir, path)); err != nil || got != want {
			t.Errorf("the record of %s is %v, %v, want %v", path, got, err, want)
		}
	}
}

package backups_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/local/backups"
	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

const version = "v0.1.0"

// fixture is a home with a backup, and its cloud after the loss of the home.
type fixture struct {
	dir, file, cloud string
	// files are those of the backup, by their paths.
	files map[string]string
	key   *age.X25519Identity
	found *content.Collection
	made  backup.Manifest
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func compress(t *testing.T, content string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(content))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// newCloud writes the state of an emulated Google Cloud to a folder.
func newCloud(t *testing.T, dir string) *cloud.Server {
	t.Helper()
	server, err := cloud.New(cloud.Options{Dir: dir, BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.EnsureProject(home.Project, "ada@example.com"); err != nil {
		t.Fatal(err)
	}
	return server
}

// newFixture backs up a home, and loses it.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := &fixture{dir: dir, file: filepath.Join(dir, "backup"), cloud: filepath.Join(dir, "cloud"), key: key, files: map[string]string{
		"credentials/passphrase":                                      "the passphrase",
		"credentials/publish-web.key":                                 "a key",
		"kubernetes/pki/ca.key":                                       "another key",
		"layers/bootstrap/Pulumi.dev.yaml":                            "encryptionsalt: v1",
		"state/platform/.pulumi/meta.yaml":                            "version: 1\n",
		"state/platform/.pulumi/stacks/strata-bootstrap/dev.json":     `{"version": 3}`,
		"state/teams/team-web/.pulumi/meta.yaml":                      "version: 1\n",
		"state/teams/team-web/.pulumi/stacks/shop/shop.json":          `{"version": 3, "checkpoint": {}}`,
		"state/teams/team-web/below/.pulumi/meta.yaml":                "version: 1\n",
		"state/teams/team-web/below/.pulumi/stacks/shop/another.json": `{"version": 3}`,
		"state/lost/team-old-1/.pulumi/stacks/old/old.json":           `{}`,
	}}
	h, err := home.Open(filepath.Join(dir, "former"))
	if err != nil {
		t.Fatal(err)
	}
	port, err := h.Port("git")
	if err == nil {
		err = errors.Join(h.KeepEnvironment("dev"), h.KeepOperator(home.EmbeddedOperator))
	}
	if err != nil || port == 0 {
		t.Fatal(port, err)
	}
	for name, content := range f.files {
		write(t, filepath.Join(h.Dir(), name), content)
	}
	// None of these belongs into a backup.
	for _, name := range []string{
		"credentials/control", "credentials/engineer.json", "credentials/etcd", "kubernetes/etcd/member/wal", "kubernetes/admin.kubeconfig", "pods/token", "logs/etcd.log",
		"layers/bootstrap/pulumi.log", "state/platform/.pulumi/history/x.json", "state/teams/team-web/.pulumi/locks/organization/shop/shop/1.json",
		"state/teams/team-web/.pulumi/stacks/shop/shop.json.bak", "state/teams/team-web/secret.json",
	} {
		write(t, filepath.Join(h.Dir(), name), "not this")
	}
	// A team's run leaves these.
	web := h.TenantState("team-web")
	err = errors.Join(
		syscall.Mkfifo(filepath.Join(web, ".pulumi/stacks/shop/pipe.json"), 0o600),
		os.Symlink(filepath.Join(h.Dir(), "credentials/passphrase"), filepath.Join(web, ".pulumi/stacks/shop/link.json")),
		os.Symlink("/etc", filepath.Join(web, "etc")),
	)
	write(t, filepath.Join(web, ".pulumi/stacks/two\nlines\x1b[2J/x.json"), "{}")
	write(t, filepath.Join(web, ".pulumi/stacks", strings.Repeat("long/", 220), "x.json"), "{}")
	// One of the next two would be a file and the other one its folder; of the last two, the newer one counts.
	write(t, filepath.Join(web, ".pulumi/stacks/clash.json/x.json"), "{}")
	write(t, filepath.Join(web, ".pulumi/stacks/clash.json.gz"), compress(t, "{}"))
	write(t, filepath.Join(web, ".pulumi/stacks/shop/shop.json.gz"), compress(t, `{"version": 2}`))
	old := time.Now().Add(-time.Hour)
	err = errors.Join(err, os.Chtimes(filepath.Join(web, ".pulumi/stacks/shop/shop.json.gz"), old, old))
	if err != nil {
		t.Fatal(err)
	}
	script := `set -e; export GIT_CONFIG_GLOBAL=/dev/null
git init -q --bare --initial-branch=main web.git; git init -q --bare empty.git; git init -q -b main work
git -C work -c user.name=a -c user.email=a@a commit -q --allow-empty -m first; git -C work push -q ../web.git main; rm -rf work
printf '#!/bin/sh\ntouch ran\n' > web.git/hooks/post-checkout; chmod +x web.git/hooks/post-checkout`
	command := exec.Command("sh", "-c", script)
	if err := os.MkdirAll(h.Git(), 0o700); err != nil {
		t.Fatal(err)
	}
	command.Dir = h.Git()
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := newCloud(t, h.Google()).Close(); err != nil {
		t.Fatal(err)
	}

	if f.found, err = backups.Collect(t.Context(), h, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	f.made = backup.Manifest{Strata: version, Target: content.Local, Environment: "dev", Home: h.Dir()}
	if f.made.Cloud, err = cloud.Identify(h.Google()); err != nil {
		t.Fatal(err)
	}
	f.save(t, f.made, f.found.Files...)
	if err := errors.Join(os.Rename(h.Google(), f.cloud), os.RemoveAll(h.Dir())); err != nil {
		t.Fatal(err)
	}
	return f
}

// save replaces the backup.
func (f *fixture) save(t *testing.T, manifest backup.Manifest, files ...backup.File) {
	t.Helper()
	_ = os.Remove(f.file)
	if _, err := backup.Write(t.Context(), f.file, manifest, files, f.key.Recipient()); err != nil {
		t.Fatal(err)
	}
}

// restore restores the backup to a folder.
func (f *fixture) restore(t *testing.T, name string) (home.Home, error) {
	t.Helper()
	h, err := home.At(filepath.Join(f.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	_, err = backups.Restore{Home: h, File: f.file, Identities: []age.Identity{f.key}, Cloud: f.cloud, Version: version}.Run(t.Context())
	return h, err
}

// tree returns the paths and contents below a folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var content []byte
		if entry.Type().IsRegular() {
			content, err = os.ReadFile(path)
		}
		fmt.Fprintf(&out, "%s %s %x\n", path, entry.Type(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAHomeIsRestoredWithItsCloud(t *testing.T) {
	f := newFixture(t)
	// The pipe, the link, two names, one of clash.json, and the tree that is too deep.
	left := strings.Join(f.found.Left, "\n")
	if f.found.States != 5 || !slices.Equal(f.found.Repositories, []string{"web"}) || strings.Count(left, "\n") != len(f.found.Left)-1 || strings.Contains(left, "\x1b") {
		t.Errorf("%d states, repositories %q, left out %q", f.found.States, f.found.Repositories, f.found.Left)
	}
	for _, want := range []string{"pipe.json", "link.json", `two\nlines`, "clash.json"} {
		if !strings.Contains(left, want) {
			t.Errorf("%s is not named: %q", want, f.found.Left)
		}
	}
	if err := os.Mkdir(filepath.Join(f.dir, "new"), 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := f.restore(t, "new")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range f.files {
		if got, err := os.ReadFile(filepath.Join(h.Dir(), name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if text := tree(t, h.Dir()); strings.Contains(text, fmt.Sprintf("%x", "not this")) || strings.Contains(text, "ran\n") {
		t.Errorf("the home contains what no backup should:\n%s", text)
	}
	if hooks, _ := filepath.Glob(filepath.Join(h.Git(), "web.git/hooks/*")); slices.ContainsFunc(hooks, func(name string) bool { return !strings.HasSuffix(name, ".sample") }) {
		t.Errorf("the repository has the hooks %q", hooks)
	}
	if out, err := exec.Command("git", "--git-dir", filepath.Join(h.Git(), "web.git"), "log", "--format=%s", "main").Output(); err != nil || string(out) != "first\n" {
		t.Errorf("the repository: %s, %v", out, err)
	}
	if step, begun := h.DownBegun(); !begun || step != home.RestoreStep || h.Environment() != "dev" {
		t.Errorf("step %q, environment %q", step, h.Environment())
	}
	if info, err := os.Stat(h.Dir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the home: %v, %v", info.Mode(), err)
	}
	if identity, err := cloud.Identify(h.Google()); err != nil || identity != f.made.Cloud {
		t.Errorf("the cloud: %s, %v", identity, err)
	}
	if left, err := os.ReadDir(f.dir); err != nil || len(left) != 2 {
		t.Errorf("beside the home and the backup: %v, %v", left, err)
	}
}

func TestRefusedRestoresChangeNothing(t *testing.T) {
	f := newFixture(t)
	with := func(set func(*backup.Manifest), files ...backup.File) func(*testing.T) {
		return func(t *testing.T) {
			manifest := f.made
			if set != nil {
				set(&manifest)
			}
			f.save(t, manifest, append(slices.Clone(f.found.Files), files...)...)
		}
	}
	without := func(name string) func(*testing.T) {
		return func(t *testing.T) {
			f.save(t, f.made, slices.DeleteFunc(slices.Clone(f.found.Files), func(file backup.File) bool { return file.Path == name })...)
		}
	}
	instead := func(name, content string) func(*testing.T) {
		return func(t *testing.T) {
			files := slices.DeleteFunc(slices.Clone(f.found.Files), func(file backup.File) bool { return file.Path == name })
			f.save(t, f.made, append(files, backup.File{Path: name, Content: []byte(content)})...)
		}
	}
	member := func(name string) func(*testing.T) { return with(nil, backup.File{Path: name, Content: []byte("x")}) }
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const foreign = "which no backup contains"
	for name, tc := range map[string]struct {
		prepare func(*testing.T)
		want    string
	}{
		"of a newer strata":           {with(func(m *backup.Manifest) { m.Strata = "v0.2.0" }), `strata "v0.2.0" has written it`},
		"of another target":           {with(func(m *backup.Manifest) { m.Target = "gke" }), `on the target "gke"`},
		"of no environment":           {with(func(m *backup.Manifest) { m.Environment = "../x" }), "names no environment"},
		"of another cloud":            {with(func(m *backup.Manifest) { m.Cloud = "00" }), "is not that of the backup"},
		"with a program":              {member("tools/bin/pulumi"), foreign},
		"with a hook":                 {member("git/web.git/hooks/update"), foreign},
		"with a login of the control": {member("credentials/control"), foreign},
		"with data of etcd":           {member("kubernetes/etcd/member/snap/db"), foreign},
		"with a cloud":                {member("google/store2.db"), foreign},
		"with another settings file":  {member("layers/platform/Pulumi.yaml"), foreign},
		"with a state elsewhere":      {member("state/teams/team-web/x.json"), foreign},
		"with a file of the home":     {member("supervisor.lock"), foreign},
		"with a hidden credential":    {member("credentials/.x"), foreign},
		"with a team's program":       {member("state/teams/.pulumi/plugins/x.json"), foreign},
		"with a damaged repository":   {member("git/shop.bundle"), "Git repository shop"},
		"with a repository of a name": {member("git/shop-.bundle"), "no name of a repository"},
		"without ports":               {without("home.json"), "does not contain home.json"},
		"with a newer layout":         {instead("home.json", `{"version": 2}`), "version 2 of the layout"},
		"with damaged ports":          {instead("home.json", `{`), "damaged"},
		"with a port of the system":   {instead("home.json", `{"version": 1, "ports": {"git": 22}}`), "git: 22 is no port"},
		"with a port in use":          {instead("home.json", fmt.Sprintf(`{"version": 1, "ports": {"git": %d}}`, taken.Addr().(*net.TCPAddr).Port)), "is in use"},
		"with another operator":       {instead("operator", "theirs"), `the operator "theirs"`},
	} {
		t.Run(name, func(t *testing.T) {
			tc.prepare(t)
			before := tree(t, f.dir)
			_, err := f.restore(t, "new")
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("error %v, want one line with %q", err, tc.want)
			}
			if after := tree(t, f.dir); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
		})
	}

	f.save(t, f.made, f.found.Files...)
	elsewhere := filepath.Join(f.dir, "text")
	write(t, elsewhere, "x")
	write(t, filepath.Join(f.dir, "full", "note"), "x")
	write(t, filepath.Join(f.dir, "folder", "note"), "x")
	served := filepath.Join(f.dir, "served")
	server := newCloud(t, served)
	defer server.Close()
	right := f.cloud
	if err := os.Symlink(right, filepath.Join(f.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ home, cloud, want string }{
		"to a folder with content":    {"full", right, "it is not empty"},
		"to a file":                   {"text", right, "not a directory"},
		"without a cloud":             {"new", filepath.Join(f.dir, "none"), "does not exist"},
		"with a cloud that is a file": {"new", elsewhere, "is not a folder"},
		"with a link to a cloud":      {"new", filepath.Join(f.dir, "link"), "is not a folder"},
		"with an empty cloud":         {"new", filepath.Join(f.dir, "folder"), "contains no emulated Google Cloud"},
		"with a cloud that runs":      {"new", served, "a process still serves"},
	} {
		t.Run(name, func(t *testing.T) {
			f.cloud = tc.cloud
			_, err := f.restore(t, tc.home)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tc.want)
			}
			if _, err := os.Stat(filepath.Join(f.dir, "new")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the home: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(f.dir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
	f.cloud = right
	if _, err := f.restore(t, "new"); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

func TestAKilledRestoreIsReverted(t *testing.T) {
	f := newFixture(t)
	stage := filepath.Join(f.dir, ".new.restoring")
	write(t, filepath.Join(stage, "credentials", "passphrase"), "of the killed restore")
	if err := os.Rename(f.cloud, filepath.Join(stage, "google")); err != nil {
		t.Fatal(err)
	}
	h, err := f.restore(t, "new")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(h.SecretFile("passphrase")); err != nil || string(got) != "the passphrase" {
		t.Errorf("%q, %v", got, err)
	}
	if err := cloud.CheckUnused(h.Google()); err != nil {
		t.Error(err)
	}
}

// TestTheCloudOfAKilledRestoreIsNotRemoved names the cloud where a killed restore left it, by a link to that folder.
func TestTheCloudOfAKilledRestoreIsNotRemoved(t *testing.T) {
	f := newFixture(t)
	stage, link := filepath.Join(f.dir, ".new.restoring"), filepath.Join(f.dir, "link")
	left := filepath.Join(stage, "google")
	if err := errors.Join(os.MkdirAll(stage, 0o700), os.Rename(f.cloud, left), os.Symlink(stage, link)); err != nil {
		t.Fatal(err)
	}
	f.cloud = filepath.Join(link, "google")
	if _, err := f.restore(t, "new"); err == nil || !strings.Contains(err.Error(), "move it out, and name its new place: nothing was changed") {
		t.Errorf("the restore ends with %v", err)
	}
	if err := cloud.CheckUnused(left); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(left); err != nil || len(entries) == 0 {
		t.Errorf("the cloud has %d entries, %v", len(entries), err)
	}
}

func TestOneRestoreAtATime(t *testing.T) {
	f := newFixture(t)
	stage := filepath.Join(f.dir, ".new.restoring")
	write(t, filepath.Join(stage, "note"), "of the other restore")
	other, err := os.Open(stage)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := f.restore(t, "new"); err == nil || !strings.Contains(err.Error(), "another strata restores it") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(stage, "note")); err != nil {
		t.Error(err)
	}
}

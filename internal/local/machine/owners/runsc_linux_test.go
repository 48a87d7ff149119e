package owners

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// hosts are the users of this machine that start the sandboxes of the tests.
func hosts(t testing.TB) map[string]*syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return map[string]*syscall.Credential{"an ordinary user": {Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid()), NoSetGroups: true}}
	}
	return map[string]*syscall.Credential{"root": nil, "an ordinary user": {Uid: 65534, Gid: 65534}}
}

// TestContainersKeepOwners runs containers of several users on one volume, one after the other: every one sees what those
// before it have written.
func TestContainersKeepOwners(t *testing.T) {
	steps := []struct {
		name string
		uid  int
		want string // operations and their results
	}{
		{"root gives the volume to the application", 0, `
			statdir /data: 0:0 040755
			chown /data 999 999: ok
			chmod /data 2775: ok
			statdir /data: 999:999 042775`},
		{"the application owns what it creates", 999, `
			write /data/file hello: ok
			stat /data/file: 999:999 100644 links=1 size=5
			mkdir /data/folder 750: ok
			statdir /data/folder: 999:999 042750
			mknod /data/folder/node 640: ok
			stat /data/folder/node: 999:999 100640 links=1 size=0
			symlink file /data/link: ok
			readlink /data/link: file
			link /data/file /data/folder/second: ok
			stat /data/folder/second: 999:999 100644 links=2 size=5
			write /data/private secret: ok
			chmod /data/private 600: ok
			write /data/locked text: ok
			chmod /data/locked 000: ok
			read /data/locked: permission denied
			write /data/program text: ok
			chmod /data/program 4755: ok
			stat /data/program: 999:999 104755 links=1 size=4
			write /data/old text: ok
			rename /data/old /data/folder/new: ok
			stat /data/old: no such file or directory
			write /data/long text: ok
			truncate /data/long 2: ok
			read /data/long: te
			write /data/gone text: ok
			remove /data/gone: ok
			mkdir /data/empty 755: ok
			remove /data/empty: ok
			mkfifo /data/pipe: ok
			list /data: /data/file /data/folder /data/link /data/locked /data/long /data/pipe /data/private /data/program`},
		{"the application cannot give files away", 999, `
			chown /data/file 0 0: operation not permitted
			chown /data/file 1000 999: operation not permitted
			device /data/null: operation not permitted
			getxattr /data/file user.strata.owner: operation not supported`},
		{"a write clears the setuid bit", 999, `
			append /data/program more: ok
			stat /data/program: 999:999 100755 links=1 size=8`},
		{"another user has no more rights than the mode gives", 1000, `
			read /data/file: hello
			append /data/file more: permission denied
			read /data/private: permission denied
			list /data/folder: 
			stat /data/folder/new: permission denied
			write /data/mine text: permission denied
			remove /data/file: permission denied
			chmod /data/file 777: operation not permitted`},
		{"root changes owners of everything", 0, `
			read /data/private: secret
			chown /data/private 1000 1001: ok
			stat /data/private: 1000:1001 100600 links=1 size=6
			lchown /data/link 1000 1001: ok
			write /data/root text: ok
			stat /data/root: 0:999 100644 links=1 size=4`},
		{"the new owner has the rights of the old one", 1000, `
			read /data/private: secret
			chmod /data/private 640: ok
			stat /data/private: 1000:1001 100640 links=1 size=6`},
		{"everything is there after restarts, except the pipe", 0, `
			statdir /data: 999:999 042775
			stat /data/file: 999:999 100644 links=2 size=5
			stat /data/folder/second: 999:999 100644 links=2 size=5
			statdir /data/folder: 999:999 042750
			stat /data/folder/node: 999:999 100640 links=1 size=0
			stat /data/locked: 999:999 100000 links=1 size=4
			stat /data/private: 1000:1001 100640 links=1 size=6
			stat /data/program: 999:999 100755 links=1 size=8
			statdir /data/link: 0:0 120777
			list /data: /data/file /data/folder /data/link /data/locked /data/long /data/private /data/program /data/root`},
	}
	for name, user := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, user)
			volume := h.volume(t, "volume")
			var containers []container
			var want []string
			for _, step := range steps {
				c := container{uid: step.uid, gid: step.uid}
				want = append(want, expectations(step.want, &c.operations))
				containers = append(containers, c)
			}
			// The last container has a sandbox of its own, after the end of the first sandbox.
			last := len(containers) - 1
			got := append(h.run(t, volume, containers[:last]...), h.run(t, volume, containers[last])...)
			for i, step := range steps {
				if got[i] != want[i] {
					t.Errorf("%s: got\n%s, want\n%s", step.name, got[i], want[i])
				}
			}
			h.checkOwned(t, volume)
			r, err := Of(filepath.Join(volume, "private"))
			if want := (Record{UID: 1000, GID: 1001, Mode: 0o640}); err != nil || r != want {
				t.Errorf("on this machine the record is %v, %v, want %v", r, err, want)
			}
		})
	}
}

// TestContainersOfOneSandboxShareOwners also gives the volume to a group on this machine, as for fsGroup.
func TestContainersOfOneSandboxShareOwners(t *testing.T) {
	for name, user := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, user)
			volume := h.volume(t, "volume")
			if err := Set(volume, Record{UID: 0, GID: 0, Mode: 0o755}); err != nil {
				t.Fatal(err)
			}
			if err := ApplyGroup(volume, 2000); err != nil {
				t.Fatal(err)
			}
			before, after := container{exec: true}, container{exec: true}
			first, second := container{uid: 999, gid: 2000}, container{uid: 1000, gid: 2000}
			want := []string{
				expectations(`
					statdir /data: 0:2000 042775
					stat /data/file: no such file or directory`, &before.operations),
				expectations(`
					statdir /data: 0:2000 042775
					write /data/file hello: ok
					chmod /data/file 660: ok
					mkdir /data/folder 770: ok
					chmod /data/folder 2770: ok
					write /data/private text: ok
					chmod /data/private 600: ok`, &first.operations),
				expectations(`
					stat /data/file: 999:2000 100660 links=1 size=5
					append /data/file more: ok
					read /data/file: hellomore
					write /data/folder/mine text: ok
					stat /data/folder/mine: 1000:2000 100644 links=1 size=4
					read /data/private: permission denied`, &second.operations),
				expectations(`
					stat /data/file: 999:2000 100660 links=1 size=9
					chown /data/file 1000 2000: ok
					stat /data/file: 1000:2000 100660 links=1 size=9`, &after.operations),
			}
			if got := h.run(t, volume, before, first, second, after); !slices.Equal(got, want) {
				t.Fatalf("got\n%s, want\n%s", strings.Join(got, "and\n"), strings.Join(want, "and\n"))
			}
			// Now the group may read the first container's private file, too.
			if err := ApplyGroup(volume, 2000); err != nil {
				t.Fatal(err)
			}
			third := container{uid: 1000, gid: 2000}
			shared := expectations(`
				read /data/private: text
				stat /data/private: 999:2000 100660 links=1 size=4`, &third.operations)
			if got := h.run(t, volume, third)[0]; got != shared {
				t.Errorf("got\n%s, want\n%s", got, shared)
			}
			h.checkOwned(t, volume)
		})
	}
}

// TestAMountWithoutTheFlagsIsRefused checks that runsc says which flag is missing.
func TestAMountWithoutTheFlagsIsRefused(t *testing.T) {
	h := newHost(t, nil)
	bundle := h.bundle(t, h.volume(t, "volume"), "refused", "", container{})
	cmd := exec.CommandContext(t.Context(), h.runsc, "--root="+filepath.Join(h.dir, "state"), "--ignore-cgroups", "create", "--bundle="+bundle, "refused")
	out, err := cmd.CombinedOutput()
	if want := "mount /data with option " + MountOption; err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "--directfs=false") {
		t.Errorf("%v: %s, want an error with %q that names the flag", err, out, want)
	}
}

// expectations returns the text without indentation, and adds the operations, which are the parts before the last ": ".
func expectations(text string, operations *[]string) string {
	var want strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, "\t\n")
		if line == "" {
			continue
		}
		operation, _, _ := strings.Cut(line, ": ")
		*operations = append(*operations, operation)
		want.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	return want.String()
}

// checkOwned checks that all files of a volume belong to the host's user, and that nobody else can open them.
func (h *host) checkOwned(t *testing.T, volume string) {
	t.Helper()
	uid := uint32(os.Getuid())
	if h.user != nil {
		uid = h.user.Uid
	}
	err := filepath.WalkDir(volume, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		if stat.Uid != uid {
			t.Errorf("%s belongs to user %d, not to %d", path, stat.Uid, uid)
		}
		if path != volume && info.Mode()&os.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v: other users can open it", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

package attack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// metadataAttacks change the metadata of files, which Landlock cannot restrict, and read files that a run must not see.
func metadataAttacks() []attack {
	run := func(name, script string) attack {
		return attack{name: name, class: fileMetadata, as: byRun, do: scripted(script), says: stopped, unharmed: modesAreKept}
	}
	return []attack{
		run("make the engineer's login readable", "chmod 0644 {ENGINEER}"),
		run("make the administrator's kubeconfig readable", "chmod 0644 {ADMIN}"),
		run("make the home readable", "chmod 0755 {HOME}"),
		run("lock the other team's state", "chmod 0 {STATE}"),
		run("give a file away", "chown 12345 {ENGINEER}"),
		run("set the times of a file", "touch -d 2001-01-01 {ENGINEER}"),
		run("give a file another attribute", "setfattr -n user.mine -v 1 {ENGINEER}"),
		run("slow the other processes down", "p=$(pgrep -f kube-apiserver | head -1); test -n \"$p\" && renice -n 19 -p $p"),
		run("bind another process to one processor", "p=$(pgrep -f kube-apiserver | head -1); test -n \"$p\" && taskset -p 1 $p"),
		run("stop another process", "kill -STOP $(pgrep -f 'sleep 77777')"),
		run("see other processes", "pgrep -f kube-apiserver"),
		run("read another process's environment", "cat /proc/$(pgrep -f kube-apiserver | head -1)/environ | grep -q ."),
		run("see the home", "ls {HOME} | grep -q ."),
		run("read the logins of the Git server", "cat {LOGINS}"),
		run("reach the supervisor's socket", "test -S {SOCKET}"),
		run("mount something", "mount -t tmpfs none /mnt"),
		run("trace another process", "test -r /proc/1/mem"),
		run("make another namespace", "unshare -Ur true"),
	}
}

// modesAreKept returns an error if other users can read a file of the home, or its owner cannot. It restores the mode for
// the next attack.
func modesAreKept(_ context.Context, f *field) error {
	return filepath.WalkDir(f.home.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return nil //nolint:nilerr // The file has been deleted.
		}
		mode := info.Mode().Perm()
		secret := strings.HasPrefix(path, filepath.Dir(f.home.EngineerCredentials())) || path == f.home.AdminKubeconfig()
		if secret && mode&0o077 != 0 {
			return errors.Join(fmt.Errorf("%s has mode %o", path, mode), os.Chmod(path, mode&^0o077))
		}
		if path == f.home.Dir() && mode != 0o700 || mode&0o400 == 0 {
			const ownersAlone = 0o700
			return errors.Join(fmt.Errorf("%s has mode %o", path, mode), os.Chmod(path, ownersAlone))
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
			return fmt.Errorf("%s belongs to user %d", path, stat.Uid)
		}
		return nil
	})
}

package states

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// holdLock writes a lock of the file backend for a process on a host.
func holdLock(t *testing.T, l Layers, pid int, host string) string {
	t.Helper()
	dir := filepath.Join(l.Folder, ".pulumi", "locks", "organization", "strata-bootstrap", l.Stack)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(backendLock{Pid: pid, Hostname: host})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(dir, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(raw); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// startNamed starts a process with a name. It runs until the test calls end.
func startNamed(t *testing.T, name string) (pid int, end func()) {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(sleep, link); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(link, "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	t.Cleanup(end)
	return c.Process.Pid, end
}

func TestLocksOfKilledRunsAreRemovedAndOthersStay(t *testing.T) {
	l := Layers{Folder: t.TempDir(), Stack: "dev"}
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	living, endLiving := startNamed(t, "pulumi")
	other, _ := startNamed(t, "somebody")
	ended, end := startNamed(t, "pulumi")
	end()
	for name, tc := range map[string]struct {
		pid  int
		host string
		free bool
	}{
		"of a run that lives":                    {living, here, false},
		"of a run that has ended":                {ended, here, true},
		"of a number that another program got":   {other, here, true},
		"of another machine, which nobody knows": {ended, "elsewhere", false},
	} {
		t.Run(name, func(t *testing.T) {
			path := holdLock(t, l, tc.pid, tc.host)
			defer os.Remove(path)
			ctx, cancel := context.WithTimeout(t.Context(), 3*lockPoll)
			defer cancel()
			free, err := l.Unlock(ctx, "strata-bootstrap")
			if err != nil || free != tc.free {
				t.Errorf("free: %v, %v; want %v", free, err, tc.free)
			}
			if _, err := os.Stat(path); (err != nil) != tc.free {
				t.Errorf("the lock: %v", err)
			}
		})
	}
	t.Run("is waited for", func(t *testing.T) {
		path := holdLock(t, l, living, here)
		time.AfterFunc(2*lockPoll, endLiving)
		if free, err := l.Unlock(t.Context(), "strata-bootstrap"); err != nil || !free {
			t.Errorf("free: %v, %v", free, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the lock of a run that has ended stays")
		}
	})
	t.Run("of a power failure is removed", func(t *testing.T) {
		path := holdLock(t, l, ended, here)
		old := time.Now().Add(-time.Hour)
		if err := errors.Join(os.Truncate(path, 0), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
		if free, err := l.Unlock(t.Context(), "strata-bootstrap"); err != nil || !free {
			t.Errorf("free: %v, %v", free, err)
		}
	})
	if free, err := l.Unlock(t.Context(), "strata-platform"); err != nil || !free {
		t.Errorf("without any lock: free: %v, %v", free, err)
	}
}

package local

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/killedlock"
	"github.com/strata-platform/strata/test/long"
)

// holdLock writes a lock of the file backend for a process on a host.
func holdLock(t *testing.T, p *Platform, pid int, host string) string {
	t.Helper()
	dir := filepath.Join(p.Home.LayerState(), ".pulumi", "locks", "organization", "strata-bootstrap", p.Environment)
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
	p := openTestPlatform(t)
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
			path := holdLock(t, p, tc.pid, tc.host)
			defer os.Remove(path)
			ctx, cancel := context.WithTimeout(t.Context(), 3*lockPoll)
			defer cancel()
			free, err := p.unlock(ctx, "strata-bootstrap")
			if err != nil || free != tc.free {
				t.Errorf("free: %v, %v; want %v", free, err, tc.free)
			}
			if _, err := os.Stat(path); (err != nil) != tc.free {
				t.Errorf("the lock: %v", err)
			}
		})
	}
	t.Run("is waited for", func(t *testing.T) {
		path := holdLock(t, p, living, here)
		time.AfterFunc(2*lockPoll, endLiving)
		if free, err := p.unlock(t.Context(), "strata-bootstrap"); err != nil || !free {
			t.Errorf("free: %v, %v", free, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the lock of a run that has ended stays")
		}
	})
	if free, err := p.unlock(t.Context(), "strata-platform"); err != nil || !free {
		t.Errorf("without any lock: free: %v, %v", free, err)
	}
}

func TestALayerWhoseRunWasKilledWhileItWroteItsLockRunsAgain(t *testing.T) {
	long.Test(t)
	p := openTestPlatform(t)
	const layer, project = lifecycle.BootstrapLayer, "strata-bootstrap"
	env, err := p.layerEnvironment(t.Context(), layer, "http://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(p.Home.Tools(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(toolchaintest.Path(t, "pulumi"), filepath.Join(p.Home.Tools(), "pulumi")); err != nil {
		t.Fatal(err)
	}
	runner := layers.Runner{Stack: p.Environment, Pulumi: p.pulumi, Env: env, WorkDir: p.Home.Layer, Unlock: p.unlock}
	empty := layers.Layer{Name: layer, Project: project, Config: auto.ConfigMap{}, Program: func(*pulumi.Context) error { return nil }}
	up := func(prepare func() error) error {
		held, release, err := p.hold(t.Context(), empty, runner)
		if err == nil {
			defer release()
			err = prepare()
		}
		if err == nil {
			_, err = held.Up(t.Context(), empty, nil)
		}
		return err
	}
	nothing := func() error { return nil }

	killedlock.Leave(t, p.Home.LayerState(), project, p.Environment)
	if err := up(nothing); err != nil {
		t.Errorf("the run after a kill while the stack was created: %v", err)
	}
	err = up(func() error {
		killedlock.Leave(t, p.Home.LayerState(), project, p.Environment)
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "unexpected end of JSON input") {
		t.Errorf("pulumi beside a half-written lock: error %v, want that it cannot decode the lock", err)
	}
	if err := up(nothing); err != nil {
		t.Errorf("the run after a kill: %v", err)
	}
}

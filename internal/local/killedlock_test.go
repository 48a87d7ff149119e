package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/killedlock"
	"github.com/strata-platform/strata/test/long"
)

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
	runner := layers.Runner{Stack: p.Environment, Pulumi: p.pulumi, Env: env, WorkDir: p.Home.Layer, Unlock: p.layerStates().Unlock}
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

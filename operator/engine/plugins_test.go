package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/test/long"
)

const settings = `
resources:
  settings:
    type: kubernetes:core/v1:ConfigMap
    properties:
      metadata:
        namespace: %s
        annotations: {pulumi.com/deletionPropagationPolicy: background}
      data: {a: "1"}
%s
`

func TestPreparedPluginIsStartedOncePerRun(t *testing.T) {
	long.Test(t)
	f, c, request := kubernetesFixture(t)
	req := request(fmt.Sprintf(settings, c.namespace(t), ""))
	f.mustRun(t, req)

	// The plugin counts its starts in a file that runs may write, and tries to write to
	// one that they may not. The plugin's executable may be several plugins, and chooses
	// by the name that it is started by.
	f.Cache = filepath.Join(t.TempDir(), "cache")
	starts, evil := filepath.Join(f.backend, "starts"), filepath.Join(f.Cache, "evil")
	plugin, counted := filepath.Join(f.tools(), "pulumi-resource-kubernetes"), filepath.Join(f.tools(), "pulumi-counted")
	script := fmt.Sprintf("#!/bin/sh\ncase $0 in */pulumi-resource-kubernetes) ;; *) exit 3;; esac\necho start 2>/dev/null >>'%s'\necho 2>/dev/null >'%s'\nexec '%s' \"$@\"\n", starts, evil, counted)
	if err := os.Rename(plugin, counted); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.tools(), "pulumi-several"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pulumi-several", plugin); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		f.mustRun(t, req)
		data, err := os.ReadFile(starts)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(starts); err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "start")
	}
	before := count()
	if err := f.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := count(); before < 2 || after != 1 {
		t.Errorf("%d starts before and %d after the preparation, want more than one and one", before, after)
	}
	if _, err := os.Stat(evil); err == nil && engine.CanConfine() == nil {
		t.Error("a run changed what others read")
	}
	// A second engine reuses the schemas of the first.
	made, err := filepath.Glob(filepath.Join(f.Cache, "*", "schemas", "*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("schemas %v (%v), want one", made, err)
	}
	first, err := os.Stat(made[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(made[0]); err != nil || !os.SameFile(first, again) {
		t.Errorf("the schema was made anew (%v)", err)
	}
}

func TestPluginOfAnotherVersionThanAskedForCounts(t *testing.T) {
	f, c, request := kubernetesFixture(t)
	f.Cache = filepath.Join(t.TempDir(), "cache")
	if err := f.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	result := f.mustRun(t, request(fmt.Sprintf(settings, c.namespace(t), "    options: {version: 4.0.0}")))
	if result.Changes["create"] < 1 {
		t.Errorf("changes %v, want an object made", result.Changes)
	}
}

func TestPluginWithoutAVersionDoesNotAffectRuns(t *testing.T) {
	f := newFixture(t)
	if err := os.WriteFile(filepath.Join(f.tools(), "pulumi-resource-broken"), []byte("#!/bin/sh\necho no port >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.Cache = filepath.Join(t.TempDir(), "cache")
	if err := f.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "plugin broken") {
		t.Errorf("error %v, want one that names the plugin", err)
	}
	f.mustRun(t, f.request("outputs: {a: 1}"))
}

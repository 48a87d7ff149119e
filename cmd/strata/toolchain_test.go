package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/cmd/strata/internal/versioncmd"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/docstest"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// call runs one call of strata.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &err})
	return code, out.String(), err.String()
}

func TestToolchainOutputIsDocumented(t *testing.T) {
	docstest.CheckJSON[[]toolchain.Status](t, "docs/reference/output.md", "toolchain")
	docstest.CheckJSON[[]toolchain.Leftover](t, "docs/reference/output.md", "prune")
	docstest.CheckJSON[versioncmd.Report](t, "docs/reference/output.md", "version")
}

func TestToolchainListsStates(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("STRATA_TOOL_ETCD", "/somewhere/etcd")
	code, out, stderr := call(t, "toolchain", "list", "-o", "json")
	if code != exitDone {
		t.Fatal(stderr)
	}
	var list []toolchain.Status
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	states := map[string]toolchain.State{}
	for _, s := range list {
		states[s.Name] = s.State
		if s.Version == "" || s.Module == "" || s.Path == "" {
			t.Errorf("%+v is incomplete", s)
		}
	}
	if states["etcd"] != toolchain.Override || states["dolt"] != toolchain.Missing {
		t.Errorf("the states are %v", states)
	}

	code, out, _ = call(t, "toolchain", "list")
	if code != exitDone || strings.Count(out, "\n") != len(list) {
		t.Errorf("as text the list is %q (%d)", out, code)
	}
}

// TestToolchainBuildPrintsTheStates overrides the tools with the user's own binaries, so that nothing is compiled.
func TestToolchainBuildPrintsTheStates(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	// The homes share the tools, so the command works with a home that strata cannot open.
	h := t.TempDir()
	if err := os.WriteFile(filepath.Join(h, "home.json"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(home.Variable, h)
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"source-controller", "dolt"} {
		t.Setenv(toolchain.OverrideVariable(name), program)
	}
	code, out, stderr := call(t, "toolchain", "build", "dolt", "source-controller", "-o", "json")
	if code != exitDone {
		t.Fatal(stderr)
	}
	var list []toolchain.Status
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, fmt.Sprint(s.Name, " ", s.State))
	}
	if want := []string{"source-controller override", "dolt override"}; !slices.Equal(names, want) {
		t.Errorf("build prints %v, want %v", names, want)
	}

	for _, args := range [][]string{{}, {"--all", "dolt"}} {
		code, _, stderr = call(t, append([]string{"toolchain", "build"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, "name the tools to build, or use --all") {
			t.Errorf("build %v exits %d: %s", args, code, stderr)
		}
	}
}

func TestToolchainPrune(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	old := filepath.Join(cache, "strata", "tools", "kubernetes-0123456789abcdef")
	make1MB := func() {
		t.Helper()
		if err := os.MkdirAll(old, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(old, "etcd"), make([]byte, 1e6), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	make1MB()
	if code, out, stderr := call(t, "toolchain", "prune"); code != exitDone || out != "removed kubernetes-0123456789abcdef (1 MB)\n1 MB freed\n" {
		t.Errorf("prune prints %q %s", out, stderr)
	}
	make1MB()
	want := fmt.Sprintf("[\n  {\n    \"path\": %q,\n    \"bytes\": 1000000\n  }\n]\n", old)
	if code, out, stderr := call(t, "toolchain", "prune", "-o", "json"); code != exitDone || out != want {
		t.Errorf("prune prints %q %s", out, stderr)
	}
	if code, out, _ := call(t, "toolchain", "prune", "-o", "json"); code != exitDone || out != "[]\n" {
		t.Errorf("prune of nothing prints %q", out)
	}
}

package flux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/components/fluxcd/example"
	"github.com/strata-platform/strata/internal/local/plugins/flux/manifests"
	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/random"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

const (
	pluginName       = "pulumi-resource-terraform-provider"
	formerPluginName = "pulumi-resource-flux"
	randomPluginName = "pulumi-resource-random"
)

// TestMain runs this program as a plugin if its name is that of a plugin.
func TestMain(m *testing.M) {
	var plugin frame.Package
	switch filepath.Base(os.Args[0]) {
	case pluginName:
		plugin = idle(Package())
	case formerPluginName:
		plugin = idle(Former())
	case randomPluginName:
		plugin = random.Package()
	default:
		os.Exit(m.Run())
	}
	if err := plugin.Serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestPulumi runs the components' example with the plugin, the real engine and the real controllers.
func TestPulumi(t *testing.T) {
	long.Test(t)
	c, g := newCluster(t), newGitServer(t)
	kubeconfig, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config := example.Config{
		Kubeconfig: string(kubeconfig), Fleet: g.repository(), Team: g.repository(),
		Components: []string{"source-controller", "kustomize-controller", "notification-controller"},
	}
	stack := newStack(t, func(ctx *pulumi.Context) error { return example.Program(config)(ctx) })
	g.push(t, "deploy/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n")
	app := &corev1.ConfigMap{ObjectMeta: named("team-web", "app")}

	stack.up("create")
	eventually(t, "the sync applies the app", func() bool { return c.exists(t, app) })
	if s := stack.state(); strings.Contains(s, g.password) {
		t.Error("the password is in the state in plain text")
	}

	if changes := stack.up("unchanged"); changes[apitype.OpSame] == 0 || len(changes) > 1 {
		t.Errorf("an unchanged up did %v", changes)
	}

	testDrift(t, c, stack)
	testReceiverPath(t, c, stack)
	testTenancy(t, c, g)

	g.setPassword("another-canary")
	config.Fleet, config.Team = g.repository(), g.repository()
	if changes := stack.up("rotate the password"); changes[apitype.OpReplace] > 0 || changes[apitype.OpCreate] > 0 {
		t.Errorf("a rotated password did %v", changes)
	}
	secret := &corev1.Secret{ObjectMeta: named(fluxNamespace, fluxNamespace)}
	if !c.exists(t, secret) || string(secret.Data["password"]) != "another-canary" {
		t.Error("the rotated password is not in Secret flux-system")
	}
	// The server accepts only the new password now.
	g.push(t, "deploy/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {since: rotation}\n")
	g.push(t, "clusters/example/root.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: root, namespace: default}\n")
	eventually(t, "the sync reads with the rotated password", func() bool { return c.exists(t, app) && app.Data["since"] == "rotation" })
	eventually(t, "the root sync reads with the rotated password", func() bool {
		return c.exists(t, &corev1.ConfigMap{ObjectMeta: named("default", "root")})
	})

	config.Components = append(config.Components, "helm-controller")
	if changes := stack.up("add a component"); changes[apitype.OpUpdate] == 0 || changes[apitype.OpReplace] > 0 {
		t.Errorf("an added component did %v", changes)
	}
	if !c.exists(t, deployment("helm-controller")) {
		t.Error("helm-controller is missing")
	}

	fleet := newGitServer(t)
	config.Fleet = fleet.repository()
	if changes := stack.up("move to another repository"); changes[apitype.OpUpdate] == 0 || changes[apitype.OpReplace] > 0 || changes[apitype.OpCreate] > 0 {
		t.Errorf("another repository did %v", changes)
	}
	source := &sourcev1.GitRepository{ObjectMeta: named(fluxNamespace, fluxNamespace)}
	if !c.exists(t, source) || source.Spec.URL != fleet.url {
		t.Errorf("Flux reads from %q, want %q", source.Spec.URL, fleet.url)
	}
	if changes := stack.up("unchanged again"); len(changes) > 1 {
		t.Errorf("an unchanged up did %v", changes)
	}

	stack.destroy()
	assertGone(t, c)
	if c.exists(t, app) {
		t.Error("the object that the sync applied still exists")
	}
	if got := fleet.files(t); len(got) != 0 {
		t.Errorf("the repository contains %q", got)
	}
}

// stack is a stack of an inline program with a file backend of its own.
type stack struct {
	t       *testing.T
	stack   auto.Stack
	backend string
}

func newStack(t *testing.T, program pulumi.RunFunc) *stack {
	t.Helper()
	tools, backend := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"pulumi":                     toolchaintest.Path(t, "pulumi"),
		"pulumi-resource-kubernetes": toolchaintest.Path(t, "pulumi-resource-kubernetes"),
		pluginName:                   self,
		formerPluginName:             self,
		randomPluginName:             self,
	} {
		if err := os.Symlink(target, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	path := tools + string(os.PathListSeparator) + os.Getenv("PATH")
	t.Setenv("PATH", path)
	s, err := auto.UpsertStackInlineSource(t.Context(), "dev", "test", program,
		auto.PulumiHome(t.TempDir()),
		auto.EnvVars(map[string]string{
			"PATH":                     path,
			"PULUMI_BACKEND_URL":       "file://" + backend,
			"PULUMI_CONFIG_PASSPHRASE": "test",
			"PULUMI_SKIP_UPDATE_CHECK": "true",
			"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
			manifests.FolderVariable:                      toolchaintest.Path(t, "flux-manifests"),
		}))
	if err != nil {
		t.Fatal(err)
	}
	return &stack{t: t, stack: s, backend: backend}
}

// up runs the program and counts the operations on resources.
func (s *stack) up(what string) map[apitype.OpType]int {
	s.t.Helper()
	began := time.Now()
	result, err := s.stack.Up(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("%s: %s", what, time.Since(began).Round(time.Millisecond))
	changes := map[apitype.OpType]int{}
	if result.Summary.ResourceChanges != nil {
		for op, n := range *result.Summary.ResourceChanges {
			changes[apitype.OpType(op)] = n
		}
	}
	return changes
}

func (s *stack) destroy() {
	s.t.Helper()
	began := time.Now()
	if _, err := s.stack.Destroy(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("destroy: %s", time.Since(began).Round(time.Millisecond))
}

// state returns the contents of all files of the backend.
func (s *stack) state() string {
	s.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(s.backend, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all.Write(raw)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all.String()
}

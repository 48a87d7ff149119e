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
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const pluginName = "pulumi-resource-flux"

// TestMain makes this program the plugin where it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != pluginName {
		os.Exit(m.Run())
	}
	if err := Package().Serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestPulumi runs the component against the plugin under the real engine.
func TestPulumi(t *testing.T) {
	c, g := newCluster(t), newGitServer(t)
	kubeconfig, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	components, fleet := []string{"source-controller", "kustomize-controller"}, g
	stack := newStack(t, func(ctx *pulumi.Context) error {
		cluster, err := kubernetes.NewProvider(ctx, "cluster", &kubernetes.ProviderArgs{
			Kubeconfig:          pulumi.ToSecret(pulumi.String(kubeconfig)).(pulumi.StringOutput),
			EnableSecretMutable: pulumi.Bool(true),
			ClusterIdentifier:   pulumi.String("test"),
		})
		if err != nil {
			return err
		}
		flux, err := fluxcd.New(ctx, "flux", &fluxcd.Args{
			GitURL:      pulumi.String(fleet.url),
			GitUsername: pulumi.String(fleet.username),
			GitPassword: pulumi.ToSecret(pulumi.String(fleet.password)).(pulumi.StringOutput),
			Path:        pulumi.String("clusters/test"),
			Interval:    pulumi.String("1s"),
			Components:  pulumi.ToStringArray(components),
			Kubeconfig:  pulumi.ToSecret(pulumi.String(kubeconfig)).(pulumi.StringOutput),
		}, pulumi.Provider(cluster))
		if err != nil {
			return err
		}
		after := pulumi.DependsOn([]pulumi.Resource{flux})
		source, err := fluxcd.NewSource(ctx, "apps", &fluxcd.SourceArgs{
			Namespace: flux.Namespace,
			Interval:  pulumi.String("1s"),
			Origin: fluxcd.Git{
				URL:      pulumi.String(g.url),
				Username: pulumi.String(g.username),
				Password: pulumi.ToSecret(pulumi.String(g.password)).(pulumi.StringOutput),
			},
		}, pulumi.Provider(cluster), after)
		if err != nil {
			return err
		}
		_, err = fluxcd.NewSync(ctx, "apps", &fluxcd.SyncArgs{
			Namespace: flux.Namespace, Source: source, ServiceAccount: pulumi.String("kustomize-controller"), Path: pulumi.String("apps"),
		}, pulumi.Provider(cluster), after)
		return err
	})
	g.push(t, "apps/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: default}\n")
	app := &corev1.ConfigMap{ObjectMeta: named("default", "app")}

	stack.up("create")
	eventually(t, "the sync applies the app", func() bool { return c.exists(t, app) })
	if s := stack.state(); strings.Contains(s, g.password) {
		t.Error("the password is in the state in plain text")
	}

	if changes := stack.up("unchanged"); changes[apitype.OpSame] == 0 || len(changes) > 1 {
		t.Errorf("an unchanged up did %v", changes)
	}

	g.setPassword("another-canary")
	if changes := stack.up("rotate the password"); changes[apitype.OpReplace] > 0 || changes[apitype.OpCreate] > 0 {
		t.Errorf("a rotated password did %v", changes)
	}
	secret := &corev1.Secret{ObjectMeta: named(fluxNamespace, fluxNamespace)}
	if !c.exists(t, secret) || string(secret.Data["password"]) != "another-canary" {
		t.Error("the rotated password is not in Secret flux-system")
	}
	// The server takes the new password only.
	g.push(t, "apps/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: default}\ndata: {since: rotation}\n")
	g.push(t, "clusters/test/root.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: root, namespace: default}\n")
	eventually(t, "the sync reads with the rotated password", func() bool { return c.exists(t, app) && app.Data["since"] == "rotation" })
	eventually(t, "the root sync reads with the rotated password", func() bool {
		return c.exists(t, &corev1.ConfigMap{ObjectMeta: named("default", "root")})
	})

	components = append(components, "notification-controller")
	if changes := stack.up("add a component"); changes[apitype.OpUpdate] == 0 || changes[apitype.OpReplace] > 0 {
		t.Errorf("an added component did %v", changes)
	}
	if !c.exists(t, deployment("notification-controller")) {
		t.Error("notification-controller is missing")
	}

	fleet = newGitServer(t)
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
		t.Error("what the sync applied is still there")
	}
	if got := fleet.files(t); len(got) != 0 {
		t.Errorf("the repository holds %q", got)
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
			ManifestsVariable: toolchaintest.Path(t, "flux-manifests"),
		}))
	if err != nil {
		t.Fatal(err)
	}
	return &stack{t: t, stack: s, backend: backend}
}

// up returns how many resources went through which operation.
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

// state returns every file of the backend.
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

// Package cloudtest runs Pulumi programs against an emulated Google Cloud, for tests of components and layers.
package cloudtest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/cloud/container"
	"github.com/strata-platform/strata/internal/local/machine/dolt"
	"github.com/strata-platform/strata/internal/local/plugins"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// Project is the only project of the emulated Google Cloud.
const Project = "strata-local"

// Main runs the test binary as a plugin if its name is that of a plugin. Otherwise it runs the tests. A package that
// uses Runner calls Main from its TestMain.
func Main(m *testing.M) {
	if name, ok := plugins.Name(os.Args[0]); ok {
		if err := plugins.Run(context.Background(), name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Cloud is an emulated Google Cloud with real databases and fake clusters.
type Cloud struct {
	// URL is the URL of the cloud.
	URL string
	// Owner is the project owner's credentials file.
	Owner string
	// Authority is the certificate, in PEM, that signs those of Google's hosts in a tunnel.
	Authority []byte
}

// clusters is a fake ClusterRuntime.
type clusters struct{}

// Create returns an endpoint without a server.
func (clusters) Create(context.Context, string) (container.Access, error) {
	return container.Access{Endpoint: "127.0.0.1:6443", PrivateEndpoint: "10.96.0.1", CA: []byte("ca"), ClientCertificate: []byte("certificate"), ClientKey: []byte("key")}, nil
}

// Delete does nothing.
func (clusters) Delete(context.Context, string) error { return nil }

// Start starts a cloud and stops it at the end of the test.
func Start(t testing.TB) Cloud {
	t.Helper()
	binary, dir := toolchaintest.Path(t, "dolt"), t.TempDir()
	// The cloud needs its own URL, so the listener comes first.
	var server *cloud.Server
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { server.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	server, err := cloud.New(cloud.Options{
		Dir: filepath.Join(dir, "store"), BaseURL: front.URL, Clusters: clusters{},
		Databases: dolt.New(dolt.Options{
			Binary: func(context.Context) (string, error) { return binary, nil },
			Dir:    filepath.Join(dir, "sql"), Logs: filepath.Join(dir, "logs"),
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	credentials, err := server.EnsureProject(Project, "engineer@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return Cloud{URL: front.URL, Owner: string(credentials), Authority: server.Authority()}
}

// Runner returns a runner with an identity of the cloud and a backend of its own.
func (c Cloud) Runner(t testing.TB, credentials string) layers.Runner {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"pulumi": toolchaintest.Path(t, "pulumi"), "pulumi-resource-gcp": self, "pulumi-resource-random": self,
	} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{
		"PATH": bin + ":/usr/bin:/bin", "HOME": dir, "PULUMI_HOME": filepath.Join(dir, ".pulumi"),
		"PULUMI_BACKEND_URL": "file://" + dir, "PULUMI_CONFIG_PASSPHRASE": "test",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true", "PULUMI_SKIP_UPDATE_CHECK": "true",
		"GOOGLE_CREDENTIALS": credentials, "GOOGLE_PROJECT": Project, "GOOGLE_REGION": "europe-west1",
	}
	maps.Copy(env, cloud.Endpoints(c.URL))
	return layers.Runner{
		Stack: "dev", Pulumi: layers.Command(dir), Env: env, WorkDir: func(layer string) string { return filepath.Join(dir, layer) },
	}
}

// Program returns a layer for a program without configuration.
func Program(program pulumi.RunFunc) layers.Layer {
	return layers.Layer{Name: "example", Project: "example", Config: auto.ConfigMap{}, Program: program}
}

// Up runs a program, which must succeed, and returns the numbers of created, updated, replaced and deleted resources.
func Up(t testing.TB, r layers.Runner, l layers.Layer) layers.Summary {
	t.Helper()
	summary, err := r.Up(t.Context(), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

// Unchanged fails the test if a run of the program changes anything.
func Unchanged(t testing.TB, r layers.Runner, l layers.Layer) {
	t.Helper()
	Changes(t, r, l, nil)
}

// Changes fails the test if a run of the program makes other changes than wanted. want maps Pulumi's names of
// operations to counts.
func Changes(t testing.TB, r layers.Runner, l layers.Layer, want map[string]int) {
	t.Helper()
	summary := Up(t, r, l)
	for _, kind := range []string{"create", "update", "replace", "delete"} {
		if got := summary.Changes[kind]; got != want[kind] {
			t.Errorf("%d of %s, want %d: %s", got, kind, want[kind], summary)
		}
	}
}

// Replace replaces a text in the state of a program, as if an older release of Strata had written the state. It fails the test
// if the state does not contain the text.
func Replace(t testing.TB, r layers.Runner, l layers.Layer, old, text string) {
	t.Helper()
	path := filepath.Join(strings.TrimPrefix(r.Env["PULUMI_BACKEND_URL"], "file://"), ".pulumi", "stacks", l.Project, r.Stack+".json")
	state, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(state), old) {
		t.Fatalf("the state %s does not contain %s", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(state), old, text)), 0o600); err != nil {
		t.Fatal(err)
	}
}

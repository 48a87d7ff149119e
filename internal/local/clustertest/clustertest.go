// Package clustertest runs Pulumi programs against a real control plane, for tests of components and layers that
// create Kubernetes objects.
//
// There is no node, and Flux does not run. The cluster has Flux's kinds, but nothing reconciles their objects.
package clustertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/plugins"
	fluxplugin "github.com/strata-platform/strata/internal/local/plugins/flux"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/sdks/flux"
)

// Main runs the test binary as a plugin if its name is that of a plugin. Otherwise it runs the tests. A package that
// uses Runner calls Main from its TestMain. The flux plugin reports that it installed Flux, but does nothing.
func Main(m *testing.M) {
	name, isPlugin := plugins.Name(os.Args[0])
	if !isPlugin {
		os.Exit(m.Run())
	}
	run := func(ctx context.Context) error { return plugins.Run(ctx, name) }
	if name == flux.Plugin {
		run = idleFlux().Serve
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// idleFlux returns the flux plugin without its effects: a real installation would need a node and a Git server.
func idleFlux() frame.Package {
	return frame.Package{
		Name: "flux", Version: flux.Version, Description: "Flux, without an installation.", Config: flux.ProviderArgs{},
		Parameter: fluxplugin.Package().Parameter,
		Resources: map[string]frame.Resource{flux.BootstrapGitToken: {
			Args: flux.BootstrapGitArgs{}, State: flux.BootstrapGit{},
			Operations: frame.Handle(frame.CRUD[options.Install, options.Install]{
				Create: func(_ context.Context, r frame.Request[options.Install, options.Install]) (string, options.Install, error) {
					return r.Args.Namespace, r.Args, nil
				},
			}),
		}},
	}
}

// Cluster is a control plane for one test.
type Cluster struct {
	// Client has the administrator's credentials.
	client.Client
	server        string
	ca, cert, key []byte
}

// Start starts a control plane with Flux's kinds and stops it at the end of the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plane, err := controlplane.Start(t.Context(), h, func(_ context.Context, name string) (string, error) {
		return toolchaintest.Path(t, name), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	c := &Cluster{server: plane.Server()}
	if c.ca, c.cert, c.key, err = plane.Credentials(); err != nil {
		t.Fatal(err)
	}
	if c.Client, err = client.New(plane.AdminConfig(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	c.addKinds(t)
	return c
}

// addKinds creates the CustomResourceDefinitions of Flux from its install manifests.
func (c *Cluster) addKinds(t testing.TB) {
	t.Helper()
	manifests, err := filepath.Glob(filepath.Join(toolchaintest.Path(t, "flux-manifests"), "*-controller.yaml"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("found no manifests of Flux: %v", err)
	}
	for _, path := range manifests {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), object); err != nil {
				t.Fatalf("read %s: %v", path, err)
			}
			if object.GetKind() != "CustomResourceDefinition" {
				continue
			}
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Kubeconfig returns the administrator's kubeconfig with a host, which is "127.0.0.1" or "localhost". Both hosts reach
// the same cluster.
func (c *Cluster) Kubeconfig(t testing.TB, host string) string {
	t.Helper()
	const name = "test"
	config := api.NewConfig()
	server := strings.Replace(c.server, "127.0.0.1", host, 1)
	config.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: c.ca}
	config.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: c.cert, ClientKeyData: c.key}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Runner returns a runner with a backend of its own. Its default Kubernetes provider uses the cluster.
func (c *Cluster) Runner(t testing.TB) layers.Runner {
	t.Helper()
	dir := t.TempDir()
	bin, kubeconfig := filepath.Join(dir, "bin"), filepath.Join(dir, "kubeconfig")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kubeconfig, []byte(c.Kubeconfig(t, "127.0.0.1")), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"pulumi": toolchaintest.Path(t, "pulumi"), "pulumi-resource-kubernetes": toolchaintest.Path(t, "pulumi-resource-kubernetes"),
		"pulumi-resource-random": self, plugins.Executable(flux.Plugin): self,
	} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return layers.Runner{
		Stack: "dev", Pulumi: layers.Command(dir), WorkDir: func(layer string) string { return filepath.Join(dir, layer) },
		Env: map[string]string{
			"PATH": bin + ":/usr/bin:/bin", "HOME": dir, "TMPDIR": dir, "PULUMI_HOME": filepath.Join(dir, ".pulumi"), "KUBECONFIG": kubeconfig,
			"PULUMI_BACKEND_URL": "file://" + dir, "PULUMI_CONFIG_PASSPHRASE": "test",
			"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true", "PULUMI_SKIP_UPDATE_CHECK": "true",
		},
	}
}

// counted are the kinds that Objects lists: cluster-scoped kinds, which include namespaces.
var counted = []string{
	"Namespace.v1", "ClusterRole.rbac.authorization.k8s.io/v1", "ClusterRoleBinding.rbac.authorization.k8s.io/v1",
	"CustomResourceDefinition.apiextensions.k8s.io/v1",
}

// Objects returns the sorted names of the cluster-scoped objects, to find the leftovers of a program. It includes
// terminating namespaces.
func (c *Cluster) Objects(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, each := range counted {
		kind, version, _ := strings.Cut(each, ".")
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(version)
		list.SetKind(kind + "List")
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			all = append(all, kind+" "+object.GetName())
		}
	}
	slices.Sort(all)
	return all
}

package platform_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/platform"
)

// cluster is an API server with the objects that layer 2 creates for the teams web and api, without Flux, which does not
// run.
type cluster struct {
	client.Client // as the administrator
	config        *rest.Config
}

func newCluster(t *testing.T, target string) *cluster {
	t.Helper()
	return newClusterWith(t, target, "")
}

// newClusterWith returns a cluster whose teams.yaml also has the given fields.
func newClusterWith(t *testing.T, target, fields string) *cluster {
	t.Helper()
	env := &envtest.Environment{}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: toolchaintest.Path(t, "etcd")}
	env.ControlPlane.GetAPIServer().Path = toolchaintest.Path(t, "kube-apiserver")
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	config.QPS = -1
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{Client: admin, config: config}
	c.create(t, "{apiVersion: v1, kind: Namespace, metadata: {name: flux-system}}")
	// Team api separates its Stacks and sources from its workloads.
	engine := withTeams(t, "- name: web\n- {name: api, may: [workloads], accounts: [{name: infra, may: [stacks, sources], path: ./infra}]}\n"+fields,
		func(config *platform.Config) {
			config.Target = target
			copyEntries(t, config)
		})
	engine.Read["pulumi:pulumi:StackReference"] = handedOn("web", "api", "catalogue-database")
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	c.make(t, engine.All())
	return c
}

// make creates the objects that the layer registered, namespaces and CustomResourceDefinitions first. The program itself
// does not wait for them, because the recording engine creates nothing.
func (c *cluster) make(t *testing.T, resources []pulumitest.Resource) {
	t.Helper()
	for _, first := range []bool{true, false} {
		for _, r := range resources {
			kind := r.Type[strings.LastIndex(r.Type, ":")+1:]
			isFirst := kind == "Namespace" || kind == "CustomResourceDefinition"
			if !strings.HasPrefix(r.Type, "kubernetes:") || strings.Contains(r.Type, "fluxcd.io") || isFirst != first {
				continue
			}
			content := map[string]any{}
			for key := range r.Inputs {
				content[string(key)], _ = pulumitest.Plain(t, r.Inputs, string(key))
			}
			content["kind"] = strings.TrimSuffix(kind, "Patch")
			object := &unstructured.Unstructured{Object: content}
			// The API server serves a new kind after a moment.
			eventually(t, r.Name+" is made", func() error {
				return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("layer-2"), client.ForceOwnership)
			})
		}
	}
}

func (c *cluster) create(t *testing.T, manifests ...string) {
	t.Helper()
	for _, manifest := range manifests {
		if err := apply(t.Context(), c, manifest); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *cluster) apply(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
	if err != nil {
		t.Fatal(err)
	}
}

// as returns a client that acts as a service account, with a token of it.
func (c *cluster) as(t *testing.T, namespace, name string) *subject {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken, config.QPS = request.Status.Token, -1
	as, err := client.New(config, client.Options{Mapper: c.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	config.ContentConfig = rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()}
	raw, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &subject{Client: as, name: serviceAccount(namespace, name), raw: raw}
}

// subject is a client with the name of its user.
type subject struct {
	client.Client
	name string
	raw  *rest.RESTClient
}

// serviceAccount returns the user name of an account.
func serviceAccount(namespace, name string) string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name)
}

// attempt is a request. With the method APPLY it is a server-side apply, as Flux does it.
type attempt struct{ method, path, body string }

func (s *subject) try(ctx context.Context, a attempt) error {
	method, body := a.method, []byte(a.body)
	if len(body) > 0 {
		var err error
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return err
		}
	}
	path, query, _ := strings.Cut(a.path, "?")
	request := s.raw.Verb(method)
	switch {
	case method == "APPLY":
		request = s.raw.Verb("PATCH").SetHeader("Content-Type", "application/apply-patch+yaml").Param("fieldManager", "kustomize-controller").Param("force", "true")
	case method == "PATCH":
		request = request.SetHeader("Content-Type", "application/merge-patch+json")
	case len(body) > 0:
		request = request.SetHeader("Content-Type", "application/json")
	}
	for each := range strings.SplitSeq(query, "&") {
		if key, value, found := strings.Cut(each, "="); found {
			request = request.Param(key, value)
		}
	}
	if len(body) > 0 {
		request = request.Body(bytes.NewReader(body))
	}
	return request.AbsPath(path).Do(ctx).Error()
}

// apply applies a manifest in the same way as Flux.
func apply(ctx context.Context, c client.Client, manifest string) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), object); err != nil {
		return err
	}
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kustomize-controller"), client.ForceOwnership)
}

// built returns the objects of a folder of manifests.
func built(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatalf("build %s: %v", folder, err)
	}
	var all []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		content, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &unstructured.Unstructured{Object: content})
	}
	return all
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("wait until %s: %v; last: %v", what, err, last)
	}
}

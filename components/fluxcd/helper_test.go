package fluxcd

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	clusterType  = "pulumi:providers:kubernetes"
	secretType   = "kubernetes:core/v1:Secret"
	fluxType     = "strata:index:Flux"
	policyType   = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
	sourceType   = "strata:index:FluxSource"
	syncType     = "strata:index:FluxSync"
	receiverType = "strata:index:FluxReceiver"
	canary       = "s3cret-canary"

	// team is the namespace of the tests' objects.
	team = pulumi.String("team-web")
)

// exampleKubeconfig has a client key that is the canary in base64.
const exampleKubeconfig = `apiVersion: v1
kind: Config
current-context: strata
clusters: [{name: strata, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Y2E=}}]
users: [{name: admin, user: {client-certificate-data: Y2VydA==, client-key-data: czNjcmV0LWNhbmFyeQ==}}]
contexts: [{name: strata, context: {cluster: strata, user: admin}}]
`

// engine records the resources that a program registers, in the form in which the engine sees them.
type engine struct {
	mu        sync.Mutex
	resources map[string]pulumi.MockResourceArgs
}

func (e *engine) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resources[args.Name] = args
	return args.Name + "-id", args.Inputs, nil
}

func (*engine) Call(pulumi.MockCallArgs) (resource.PropertyMap, error) {
	return resource.PropertyMap{}, nil
}

// run runs a program and returns the registered resources by name.
func run(t *testing.T, program func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error) (map[string]pulumi.MockResourceArgs, error) {
	t.Helper()
	e := &engine{resources: map[string]pulumi.MockResourceArgs{}}
	err := pulumi.RunErr(func(ctx *pulumi.Context) error {
		cluster, err := kubernetes.NewProvider(ctx, "cluster", nil)
		if err != nil {
			return err
		}
		return program(ctx, pulumi.Provider(cluster))
	}, pulumi.WithMocks("project", "stack", e))
	return e.resources, err
}

// fakeSource returns a source from elsewhere.
func fakeSource() *Source {
	return &Source{
		Namespace: team.ToStringOutput(), Name: pulumi.String("web").ToStringOutput(), Kind: pulumi.String(gitKind).ToStringOutput(),
		URL: pulumi.String("https://git.example.com/web.git").ToStringOutput(),
	}
}

// assertGraph compares the registered resources, except the cluster's provider: each name with its type, and with its
// parent after " in ".
func assertGraph(t *testing.T, got map[string]pulumi.MockResourceArgs, want map[string]string) {
	t.Helper()
	graph := map[string]string{}
	for name, r := range got {
		if r.TypeToken == clusterType {
			continue
		}
		graph[name] = r.TypeToken
		if parent := r.RegisterRPC.GetParent(); !strings.Contains(parent, "::pulumi:pulumi:Stack::") {
			graph[name] += " in " + parent[strings.LastIndex(parent, "::")+2:]
		}
	}
	if !maps.Equal(graph, want) {
		t.Errorf("registered are\n%v, want\n%v", graph, want)
	}
}

// assertDependsOn fails the test if a resource does not depend on another one.
func assertDependsOn(t *testing.T, r pulumi.MockResourceArgs, name string) {
	t.Helper()
	if deps := r.RegisterRPC.GetDependencies(); !slices.ContainsFunc(deps, func(d string) bool { return strings.HasSuffix(d, "::"+name) }) {
		t.Errorf("%s does not wait for %s, but for %q", r.Name, name, deps)
	}
}

func assertDeletedInTheBackground(t *testing.T, r pulumi.MockResourceArgs) {
	t.Helper()
	metadata, _ := plain(r.Inputs)["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations["pulumi.com/deletionPropagationPolicy"] != "background" {
		t.Errorf("%s is deleted in the foreground", r.Name)
	}
}

// assertRefused fails the test if an error is not the wanted one, or reveals the secret.
func assertRefused(t *testing.T, err error, where, why string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), canary) {
		t.Errorf("error is %v, want %q", err, where+why)
	}
}

// assertSecretOnlyMarked fails the test if the canary is outside values marked as secret, or if no value is marked.
func assertSecretOnlyMarked(t *testing.T, got map[string]pulumi.MockResourceArgs) {
	t.Helper()
	if assertNotShown(t, got) == 0 {
		t.Error("nothing is marked secret")
	}
}

// assertNotShown fails the test if the canary is outside values marked as secret. It returns the number of marked values.
func assertNotShown(t *testing.T, got map[string]pulumi.MockResourceArgs) int {
	t.Helper()
	marked := 0
	var visit func(path string, v resource.PropertyValue)
	visit = func(path string, v resource.PropertyValue) {
		switch {
		case v.IsSecret(), v.IsOutput() && v.OutputValue().Secret:
			marked++
		case v.IsOutput():
			visit(path, v.OutputValue().Element)
		case v.IsString():
			if strings.Contains(v.StringValue(), canary) {
				t.Errorf("%s shows the secret", path)
			}
		case v.IsArray():
			for _, e := range v.ArrayValue() {
				visit(path, e)
			}
		case v.IsObject():
			for k, e := range v.ObjectValue() {
				visit(path+"."+string(k), e)
			}
		}
	}
	for name, r := range got {
		visit(name, resource.NewProperty(r.Inputs))
	}
	return marked
}

// plain returns properties without secret markers.
func plain(m resource.PropertyMap) map[string]any {
	var open func(v resource.PropertyValue) (any, bool)
	open = func(v resource.PropertyValue) (any, bool) {
		switch {
		case v.IsSecret():
			return v.SecretValue().Element.MapRepl(nil, open), true
		case v.IsOutput():
			return v.OutputValue().Element.MapRepl(nil, open), true
		default:
			return nil, false
		}
	}
	return m.MapRepl(nil, open)
}

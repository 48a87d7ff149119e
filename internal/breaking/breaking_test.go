package breaking_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/internal/breaking"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

const namespace = "team-web"

// server is an API server that the tests share.
var server struct {
	client.Client
	config *rest.Config
	stop   func() error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.stop != nil {
		if err := server.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func start(t *testing.T) {
	t.Helper()
	etcd, apiserver := toolchaintest.Path(t, "etcd"), toolchaintest.Path(t, "kube-apiserver")
	if server.stop != nil {
		return
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	env := &envtest.Environment{Scheme: scheme}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	env.ControlPlane.GetAPIServer().Path = apiserver
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	server.config, server.stop = config, env.Stop
	if server.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if err := server.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
}

// things counts the kinds: a kind that is being deleted keeps its name for a moment.
var things int

// thing returns the names of a kind that no other test has.
func thing() (name, plural string) {
	things++
	return fmt.Sprintf("thing%d", things), fmt.Sprintf("thing%ds", things)
}

// entry returns an entry with a schema of its spec.
func entry(t *testing.T, name, plural, spec string) *catalogue.Entry {
	t.Helper()
	kind := strings.ToUpper(name[:1]) + name[1:]
	text := fmt.Sprintf("apiVersion: strata/v1\nkind: CatalogueEntry\nnames: {kind: %s, plural: %s}\ndescription: A thing.\nspec:\n  type: object\n%s", kind, plural, spec)
	read, err := catalogue.Load(fstest.MapFS{name + "/entry.yaml": {Data: []byte(text)}}, name)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// offer makes the kind of an entry, and waits until the API server takes its orders.
func offer(t *testing.T, e *catalogue.Entry) {
	t.Helper()
	create(t, e)
	served(t, e)
}

// create makes the kind of an entry.
func create(t *testing.T, e *catalogue.Entry) {
	t.Helper()
	if err := server.Create(t.Context(), e.Definition()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(server.Delete(context.WithoutCancel(t.Context()), e.Definition())); err != nil {
			t.Error(err)
		}
	})
}

// served waits until the API server takes the orders of an entry.
func served(t *testing.T, e *catalogue.Entry) {
	t.Helper()
	until(t, "the kind is served", func() bool {
		return server.Create(t.Context(), order(t, e, "probe", ""), client.DryRunAll) == nil || strings.Contains(fmt.Sprint(apply(t, e, "probe", "", true)), "is invalid")
	})
}

func order(t *testing.T, e *catalogue.Entry, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	text := fmt.Sprintf("apiVersion: %s/%s\nkind: %s\nmetadata: {namespace: %s, name: %s}\n%s", catalogue.Group, catalogue.Version, e.Names.Kind, namespace, name, spec)
	if err := yaml.Unmarshal([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// apply applies an order as Flux does: by server-side apply, which refuses unknown fields.
func apply(t *testing.T, e *catalogue.Entry, name, spec string, dry bool) error {
	t.Helper()
	options := []client.PatchOption{client.FieldOwner("kustomize-controller"), client.ForceOwnership, client.FieldValidation(metav1.FieldValidationStrict)}
	if dry {
		options = append(options, client.DryRunAll)
	}
	//nolint:staticcheck // client.Apply takes typed configurations
	return server.Patch(t.Context(), order(t, e, name, spec), client.Apply, options...)
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("not within a minute: %s", what)
	}
}

// changeOf returns what the package says of one entry.
func changeOf(t *testing.T, name string, entries ...*catalogue.Entry) (found breaking.Change, changed bool) {
	t.Helper()
	changes, err := breaking.Find(t.Context(), server.config, func() ([]*catalogue.Entry, error) { return entries, nil })
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(changes, func(c breaking.Change) bool { return c.Entry == name })
	if at < 0 {
		return found, false
	}
	return changes[at], true
}

// size is a schema with the field size, and before it other properties of the field and other keywords of the spec.
func size(field, others string) string {
	return "  properties:\n    size: {description: Size., " + field + "}\n" + others
}

const text = "type: string"

func TestAChangeIsRefusedIfTheServerWouldRefuseAnOrderThatExists(t *testing.T) {
	long.Test(t)
	start(t)
	tests := map[string]struct {
		before, order, after string
		// broken is a part of the reason for which the order breaks; empty if it does not.
		broken string
		// breaking is a part of the description of the change; empty if it breaks no order that could exist.
		breaking string
	}{
		"the same schema changes nothing":              {size(text, ""), "spec: {size: a}", size(text, ""), "", ""},
		"a new field with a default breaks nothing":    {size(text, ""), "spec: {size: a}", size(text, "    tier: {description: Tier., type: string, default: x}\n  required: [tier]\n"), "", ""},
		"a new field that is optional breaks nothing":  {size(text, ""), "spec: {size: a}", size(text, "    tier: {description: Tier., type: string}\n"), "", ""},
		"a wider enum breaks nothing":                  {size("type: string, enum: [a]", ""), "spec: {size: a}", size("type: string, enum: [a, b]", ""), "", ""},
		"a removed field that an order sets":           {size(text, ""), "spec: {size: a}", "", "spec.size is no longer a field", "spec.size is no longer a field"},
		"a removed field that no order sets":           {size(text, ""), "", "", "", "spec.size is no longer a field"},
		"a removed field that has only its default":    {size("type: string, default: a", ""), "", "", "", "spec.size is no longer a field"},
		"a removed field whose default the order sets": {size("type: string, default: a", ""), "spec: {size: a}", "", "spec.size is no longer a field", "spec.size is no longer a field"},
		"a renamed field":                              {size(text, ""), "spec: {size: a}", "  properties:\n    scale: {description: Scale., type: string}\n", "spec.size is no longer a field", "spec.size is no longer a field"},
		"a removed field of an object":                 {size("type: object, properties: {disk: {type: string}, cpu: {type: string}}", ""), "spec: {size: {disk: a}}", size("type: object, properties: {cpu: {type: string}}", ""), "spec.size.disk is no longer a field", "spec.size.disk is no longer a field"},
		"a removed field of the objects of a list":     {size("type: array, items: {type: object, properties: {disk: {type: string}}}", ""), "spec: {size: [{disk: a}]}", size("type: array, items: {type: object, properties: {cpu: {type: string}}}", ""), "spec.size[0].disk is no longer a field", "spec.size[].disk is no longer a field"},
		"another type":                               {size(text, ""), "spec: {size: a}", size("type: integer", ""), "spec.size", "spec.size changes its type from string to integer"},
		"a narrower enum that an order violates":     {size("type: string, enum: [a, b]", ""), "spec: {size: b}", size("type: string, enum: [a]", ""), `spec.size: Unsupported value: "b"`, `spec.size no longer takes "b"`},
		"a narrower enum that no order violates":     {size("type: string, enum: [a, b]", ""), "spec: {size: a}", size("type: string, enum: [a]", ""), "", `spec.size no longer takes "b"`},
		"a default that the new enum lacks":          {size("type: string, enum: [a, b], default: b", ""), "", size("type: string, enum: [a], default: a", ""), `spec.size: Unsupported value: "b"`, `spec.size no longer takes "b"`},
		"a tighter limit that an order exceeds":      {size("type: integer", ""), "spec: {size: 9}", size("type: integer, maximum: 8", ""), "spec.size: Invalid value: 9", "spec.size has the tighter maximum 8"},
		"a new pattern that an order does not match": {size(text, ""), "spec: {size: A}", size("type: string, pattern: '^[a-z]$'", ""), "spec.size", "spec.size has the new pattern ^[a-z]$"},
		"a new rule that an order violates":          {size(text, ""), "spec: {size: a}", size("type: string, x-kubernetes-validations: [{rule: self != 'a', message: a is gone}]", ""), "a is gone", "spec.size has the new rule self != 'a'"},
		"a new rule that no order violates":          {size(text, ""), "spec: {size: b}", size("type: string, x-kubernetes-validations: [{rule: self != 'a', message: a is gone}]", ""), "", "spec.size has the new rule self != 'a'"},
		"a new rule of the spec":                     {size(text, ""), "spec: {}", size(text, "  x-kubernetes-validations: [{rule: has(self.size), message: say a size}]\n"), "say a size", "spec has the new rule has(self.size)"},
		"a field that cannot be changed any more":    {size(text, ""), "spec: {size: a}", size("type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: fixed}]", ""), "", "spec.size has the new rule self == oldSelf"},
		"a removed field that could not be changed":  {size("type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: fixed}]", ""), "spec: {size: a}", "", "spec.size is no longer a field", "spec.size is no longer a field"},
		"a required field without a default":         {size(text, ""), "spec: {}", size(text, "  required: [size]\n"), "spec.size: Required value", "spec.size is required, and has no default"},
		"a new required field without a default":     {size(text, ""), "spec: {size: a}", size(text, "    tier: {description: Tier., type: string}\n  required: [tier]\n"), "spec.tier: Required value", "spec.tier is required, and has no default"},
		"a list that becomes a set, and has an element twice": {
			size("type: array, items: {type: string}", ""), "spec: {size: [a, a]}", size("type: array, items: {type: string}, x-kubernetes-list-type: set", ""), "spec.size[1]: Duplicate value", `spec.size changes x-kubernetes-list-type to "set"`,
		},
	}
	entries := map[string][2]*catalogue.Entry{}
	// The API server takes two seconds to serve a new kind, so all of them come first.
	for name, test := range tests {
		kind, plural := thing()
		entries[name] = [2]*catalogue.Entry{entry(t, kind, plural, test.before), entry(t, kind, plural, test.after)}
		create(t, entries[name][0])
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := entries[name][0], entries[name][1]
			served(t, before)
			if err := apply(t, before, "first", test.order, false); err != nil {
				t.Fatal(err)
			}
			found, _ := changeOf(t, after.Name, after)
			if got := fmt.Sprint(found.Broken); (len(found.Broken) > 0) != (test.broken != "") || !strings.Contains(got, test.broken) {
				t.Errorf("broken orders %s, want one for %q", got, test.broken)
			}
			if got := strings.Join(found.Breaking, "; "); (got != "") != (test.breaking != "") || !strings.Contains(got, test.breaking) {
				t.Errorf("breaking: %q, want %q", got, test.breaking)
			}
			checkWithTheServer(t, before, after, test.order, test.broken != "")
		})
	}
}

// checkWithTheServer gives the kind its new schema, and asks the API server whether it takes what the order says.
func checkWithTheServer(t *testing.T, before, after *catalogue.Entry, spec string, refused bool) {
	t.Helper()
	stored := order(t, before, "first", "")
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	kind := before.Definition()
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(kind), kind); err != nil {
		t.Fatal(err)
	}
	kind.Spec = after.Definition().Spec
	if err := server.Update(t.Context(), kind); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(t.Name(), "lacks") {
		// The server takes what the team writes, and fills in another value than the order has: the order changes.
		content, _, _ := unstructured.NestedMap(stored.Object, "spec")
		encoded, err := yaml.Marshal(map[string]any{"spec": content})
		if err != nil {
			t.Fatal(err)
		}
		spec = string(encoded)
	}
	var err error
	until(t, fmt.Sprintf("the API server refuses the order: %t, the last answer is %v", refused, err), func() bool {
		err = apply(t, after, "again", spec, true)
		return (err != nil) == refused
	})
}

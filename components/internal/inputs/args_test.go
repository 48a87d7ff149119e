package inputs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/cloudsql"
	"github.com/strata-platform/strata/components/database"
	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/components/stack"
	"github.com/strata-platform/strata/components/statebucket"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// constructor is a component's constructor for any type of args.
type constructor struct {
	// call calls the constructor with a pointer to args, which may be nil.
	call func(ctx *pulumi.Context, args any) error
	// given are args that the constructor accepts.
	given any
	// says are parts of the error for missing args: the component, and a required field.
	says []string
}

func of[Args, Component any](
	call func(*pulumi.Context, string, *Args, ...pulumi.ResourceOption) (Component, error), given Args, says ...string,
) constructor {
	return constructor{
		call: func(ctx *pulumi.Context, args any) error {
			_, err := call(ctx, "it", args.(*Args))
			return err
		},
		given: &given, says: says,
	}
}

func constructors() map[string]constructor {
	text := pulumi.String("text")
	return map[string]constructor{
		"cloudsql.NewInstance": of(cloudsql.NewInstance, cloudsql.InstanceArgs{
			Name: text, Project: text, Region: text, Backups: &cloudsql.Backups{},
			Databases: []cloudsql.Database{{Name: "shop"}}, Users: []cloudsql.User{{Name: "shop", Password: text}},
		}, "Cloud SQL instance it", "project must be given"),
		"database.NewDatabase": of(database.NewDatabase, database.DatabaseArgs{
			Name: text, Instance: text, Project: text, SecretName: text, Labels: pulumi.StringMap{"a": text},
		}, "database it", "instance must be given"),
		"gke.NewCluster": of(gke.NewCluster, gke.ClusterArgs{
			Name: text, Project: text, Location: text, NodeCount: pulumi.Int(1), Network: text, Subnetwork: text,
			Private: &gke.Private{}, Maintenance: &gke.Maintenance{},
		}, "GKE cluster it", "location must be given"),
		"identity.NewIdentity": of(identity.NewIdentity, identity.IdentityArgs{
			AccountID: pulumi.String("team-web"), Project: text, Roles: []string{"roles/cloudsql.client"}, Key: true, KeyKeepers: pulumi.StringMap{"a": text},
			KubernetesAccounts: []identity.KubernetesAccount{{WorkloadPool: text, Namespace: "team-web", Name: "web"}},
		}, "identity it", "project must be given"),
		"statebucket.NewBucket": of(statebucket.NewBucket, statebucket.BucketArgs{
			Name: pulumi.String("acme-dev-strata-web"), Project: text, Location: text, Member: text,
		}, "state bucket it", "member must be given"),
		"stack.NewStack": of(stack.NewStack, stack.StackArgs{
			Namespace: text, Name: text, Spec: pulumiv1.StackSpec{Stack: "dev"}, Config: pulumi.Map{"a": text}, SecretEnv: pulumi.StringMap{"B": text},
			Program: &pulumiv1.ProgramSpec{Resources: map[string]pulumiv1.Resource{"password": {Type: "random:RandomPassword"}}},
		}, "Stack it", "namespace must be given"),
		"hop.NewHop": of(hop.NewHop, hop.HopArgs{
			Namespace: "team-web", Account: "web", Roles: []string{"strata:team"},
			Accounts: []hop.Account{{Name: "infra", Roles: []string{"view"}}},
			Operator: hop.Operator{Namespace: text, Account: text, Role: "strata:operator-tenant"},
			Source:   hop.Source{URL: text, Branch: text, Path: text, Webhook: true},
			Policy:   &hop.Policy{Types: []string{"gcp:sql/*"}, StackAccounts: []string{"web"}, Contact: text},
			Context: handoff.Tenant{
				BackendURL: text, Passphrase: text, GoogleCredentials: text, Project: text, Region: text, Instance: text,
			},
		}, "hop it", "the namespace must be given"),
		"fluxcd.NewFlux": of(fluxcd.NewFlux, fluxcd.FluxArgs{
			GitURL: text, GitUsername: text, GitPassword: text, ReadUsername: text, ReadPassword: text, Kubeconfig: pulumi.String(kubeconfig),
		}, "Flux it", "GitURL must be given"),
		"fluxcd.NewSource": of(fluxcd.NewSource, fluxcd.SourceArgs{
			Namespace: text, Origin: fluxcd.Git{URL: pulumi.String("https://git.example.com/web.git"), TLS: &fluxcd.TLS{CA: text}},
		}, "source it", "Namespace must be given"),
		"fluxcd.NewReceiver": of(fluxcd.NewReceiver, fluxcd.ReceiverArgs{
			Namespace: text, Sources: []*fluxcd.Source{source()},
		}, "receiver it", "Namespace and Sources must be given"),
		"fluxcd.NewSync": of(fluxcd.NewSync, fluxcd.SyncArgs{
			Namespace: text, Source: source(), ServiceAccount: text,
		}, "sync it", "Namespace and Source must be given"),
	}
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: strata
clusters: [{name: strata, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Y2E=}}]
users: [{name: admin, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}]
contexts: [{name: strata, context: {cluster: strata, user: admin}}]
`

// source returns a Source like those of NewSource.
func source() *fluxcd.Source {
	text := pulumi.String("text").ToStringOutput()
	return &fluxcd.Source{Namespace: text, Name: text, Kind: text, URL: text}
}

// make calls a constructor, and turns a panic into a test error.
func (c constructor) make(t *testing.T, args any) error {
	t.Helper()
	_, err := c.register(t, args)
	return err
}

// register calls a constructor, and returns the resources that it registers, sorted by URN. It turns a panic into a test
// error.
func (c constructor) register(t *testing.T, args any) ([]pulumitest.Resource, error) {
	t.Helper()
	engine := &pulumitest.Engine{Invoked: map[string]resource.PropertyMap{
		"gcp:sql/getDatabaseInstance:getDatabaseInstance": {},
	}, Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		"gcp:container/cluster:Cluster": func(args pulumi.MockResourceArgs) resource.PropertyMap {
			auth := args.Inputs["masterAuth"].ObjectValue().Copy()
			auth["clusterCaCertificate"] = resource.NewProperty("Y2E=")
			return resource.PropertyMap{"endpoint": resource.NewProperty("203.0.113.7"), "masterAuth": resource.NewProperty(auth)}
		},
	}}
	err := engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("the constructor panics: %v", p)
			}
		}()
		return c.call(ctx, args)
	})
	made := engine.All()
	slices.SortFunc(made, func(a, b pulumitest.Resource) int { return strings.Compare(a.URN, b.URN) })
	return made, err
}

func TestEveryConstructorIsInTheTable(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "New") || len(f.Type.Params.List) != 4 {
				continue
			}
			found[file.Name.Name+"."+f.Name.Name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(constructors())), slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("the table has %v, the components have %v", got, want)
	}
}

func TestMissingArgsAreAnErrorThatNamesComponentAndField(t *testing.T) {
	for name, c := range constructors() {
		t.Run(name, func(t *testing.T) {
			none := reflect.Zero(reflect.TypeOf(c.given)).Interface()
			empty := reflect.New(reflect.TypeOf(c.given).Elem()).Interface()
			for what, args := range map[string]any{"nil": none, "empty": empty} {
				err := c.make(t, args)
				for _, want := range c.says {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("for %s args the error does not say %q: %v", what, want, err)
					}
				}
			}
		})
	}
}

func TestNoFieldThatIsLeftOutOrEmptyMakesAConstructorPanic(t *testing.T) {
	for name, c := range constructors() {
		t.Run(name, func(t *testing.T) {
			if err := c.make(t, c.given); err != nil {
				t.Fatalf("the constructor refuses the args of the table: %v", err)
			}
			for what, args := range variants(c.given) {
				t.Run(what, func(t *testing.T) { _ = c.make(t, args) })
			}
		})
	}
}

// meaningful are the fields in which an empty text differs from nil, with the reason.
var meaningful = map[string]string{
	"hop.NewHop Context.GoogleCredentials": "a team without a key has empty credentials, and nil is an omission",
}

func TestAnEmptyPlainTextEqualsNil(t *testing.T) {
	for name, c := range constructors() {
		t.Run(name, func(t *testing.T) {
			compared := 0
			eachInput(reflect.ValueOf(c.given).Elem(), "", func(path string, set func(pulumi.StringInput)) {
				if meaningful[name+" "+path] != "" {
					return
				}
				compared++
				set(nil)
				want, wantErr := c.register(t, c.given)
				set(pulumi.String(""))
				got, err := c.register(t, c.given)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("with an empty %s the error is %v, and with nil %v", path, err, wantErr)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("with an empty %s the constructor registers\n%+v\nand with nil\n%+v", path, got, want)
				}
			})
			if compared == 0 {
				t.Error("no field is a text")
			}
		})
	}
}

// eachInput visits the inputs of type text in a struct, and in the structs within it. It passes the path of the field, and
// a function that sets the field. It restores each field after the visit.
func eachInput(args reflect.Value, path string, visit func(path string, set func(pulumi.StringInput))) {
	for i := range args.NumField() {
		field, at := args.Field(i), strings.TrimPrefix(path+"."+args.Type().Field(i).Name, ".")
		if !field.CanSet() || field.Type().Implements(resourceType) {
			continue
		}
		switch field.Kind() {
		case reflect.Struct:
			eachInput(field, at, visit)
		case reflect.Pointer:
			if field.Elem().Kind() == reflect.Struct {
				eachInput(field.Elem(), at, visit)
			}
		case reflect.Slice:
			for j := range field.Len() {
				if element := field.Index(j); element.Kind() == reflect.Struct {
					eachInput(element, fmt.Sprintf("%s[%d]", at, j), visit)
				}
			}
		case reflect.Interface:
			old := reflect.New(field.Type()).Elem()
			old.Set(field)
			if field.Type() == textType {
				visit(at, func(value pulumi.StringInput) { field.Set(reflect.ValueOf(&value).Elem()) })
			} else if origin, ok := reflect.TypeAssert[fluxcd.Origin](field); ok {
				changed := reflect.New(reflect.TypeOf(origin)).Elem()
				changed.Set(reflect.ValueOf(origin))
				eachInput(changed, at, func(path string, set func(pulumi.StringInput)) {
					visit(path, func(value pulumi.StringInput) {
						set(value)
						field.Set(changed)
					})
				})
			}
			field.Set(old)
		}
	}
}

var textType = reflect.TypeFor[pulumi.StringInput]()

func TestComputedInputsAreAccepted(t *testing.T) {
	for name, c := range constructors() {
		t.Run(name, func(t *testing.T) {
			args := reflect.New(reflect.TypeOf(c.given).Elem())
			args.Elem().Set(reflect.ValueOf(c.given).Elem())
			compute(args.Elem())
			if err := c.make(t, args.Interface()); err != nil {
				t.Errorf("with outputs in place of plain inputs: %v", err)
			}
		})
	}
}

// compute replaces the plain inputs in a struct, and in the structs within it, by outputs of the same values.
func compute(args reflect.Value) {
	for _, field := range args.Fields() {
		if !field.CanSet() {
			continue
		}
		switch value := field.Interface().(type) {
		case pulumi.String:
			field.Set(reflect.ValueOf(value.ToStringOutput()))
		case pulumi.Int:
			field.Set(reflect.ValueOf(value.ToIntOutput()))
		default:
			if field.Kind() == reflect.Struct {
				compute(field)
			}
		}
	}
}

// variants returns copies of args, each with one changed field: the zero value, a list of one zero value, or a pointer to
// a zero value.
func variants(args any) map[string]any {
	made := map[string]any{}
	given := reflect.ValueOf(args).Elem()
	for i := range given.NumField() {
		field := given.Type().Field(i)
		add := func(what string, value reflect.Value) {
			changed := reflect.New(given.Type())
			changed.Elem().Set(given)
			changed.Elem().Field(i).Set(value)
			made[fmt.Sprintf("%s is %s", field.Name, what)] = changed.Interface()
		}
		add("zero", reflect.Zero(field.Type))
		switch {
		case field.Type.Kind() == reflect.Slice:
			add("a list of one zero", reflect.Append(reflect.Zero(field.Type), reflect.Zero(field.Type.Elem())))
		case field.Type.Kind() == reflect.Pointer && !field.Type.Implements(resourceType):
			add("a pointer to zero", reflect.New(field.Type.Elem()))
		}
	}
	return made
}

// resourceType is the type of resources. A caller gets a zero resource only by a bug of the SDK.
var resourceType = reflect.TypeFor[pulumi.Resource]()

package stack_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/stack"
	"github.com/strata-platform/strata/internal/pulumitest"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

const (
	programType = "kubernetes:pulumi.com/v1:Program"
	stackType   = "kubernetes:pulumi.com/v1:Stack"
	secretType  = "kubernetes:core/v1:Secret"
)

func given() *stack.StackArgs {
	return &stack.StackArgs{
		Namespace: pulumi.String("team-web"), Name: pulumi.String("shop"),
		Spec:    pulumiv1.StackSpec{Stack: "dev", ServiceAccountName: "web", DestroyOnFinalize: true},
		Program: &pulumiv1.ProgramSpec{Resources: map[string]pulumiv1.Resource{"password": {Type: "random:RandomPassword"}}},
	}
}

// operator returns an engine that answers like a cluster whose operator has run the Stack.
func operator() *pulumitest.Engine {
	metadata := func(args pulumi.MockResourceArgs) resource.PropertyMap {
		metadata := args.Inputs["metadata"].ObjectValue().Copy()
		metadata["resourceVersion"] = resource.NewProperty("17")
		return resource.PropertyMap{"metadata": resource.NewProperty(metadata)}
	}
	return &pulumitest.Engine{Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		secretType: metadata,
		stackType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			state := metadata(args)
			state["status"] = resource.NewProperty(resource.PropertyMap{
				"outputs": resource.NewProperty(resource.PropertyMap{"host": resource.NewProperty("10.0.0.3")}),
			})
			return state
		},
	}}
}

func run(engine *pulumitest.Engine, args *stack.StackArgs) error {
	return engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		made, err := stack.NewStack(ctx, "shop", args)
		if err != nil {
			return err
		}
		ctx.Export("outputs", made.Outputs)
		ctx.Export("at", pulumi.Sprintf("%s/%s", made.Namespace, made.Name))
		return nil
	})
}

func TestAStackRunsItsProgramAndHandsItsOutputsOn(t *testing.T) {
	engine := operator()
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	component := engine.Get(t, stack.Type, "shop")
	program, made := engine.Get(t, programType, "shop-program"), engine.Get(t, stackType, "shop-stack")
	for _, child := range []pulumitest.Resource{program, made} {
		if child.Parent != component.URN {
			t.Errorf("parent of %s is %s, want %s", child.URN, child.Parent, component.URN)
		}
		for path, want := range map[string]any{"metadata.namespace": "team-web", "metadata.name": "shop", "apiVersion": "pulumi.com/v1"} {
			if got, _ := pulumitest.Plain(t, child.Inputs, path); got != want {
				t.Errorf("%s of %s is %v, want %v", path, child.Name, got, want)
			}
		}
	}
	if want := "urn:pulumi:dev::proj::strata:index:Stack$kubernetes:pulumi.com/v1:Stack::shop-stack"; made.URN != want {
		t.Errorf("URN is %s, want %s", made.URN, want)
	}
	if !made.DependsOn(program) {
		t.Error("the Stack would outlive its Program, which destroying it may take")
	}
	if got, _ := pulumitest.Plain(t, program.Inputs, "program.resources.password.type"); got != "random:RandomPassword" {
		t.Errorf("the program's resource is %v", got)
	}
	spec, _ := pulumitest.Plain(t, made.Inputs, "spec")
	want := map[string]any{
		"stack": "dev", "serviceAccountName": "web", "destroyOnFinalize": true, "programRef": map[string]any{"name": "shop"},
	}
	if !reflect.DeepEqual(spec, want) {
		t.Errorf("spec is %v, want %v", spec, want)
	}
	if at := engine.Output(t, "at"); at.Value != "team-web/shop" {
		t.Errorf("the Stack is at %v", at.Value)
	}
	if outputs := engine.Output(t, "outputs"); !reflect.DeepEqual(outputs.Value, map[string]any{"host": "10.0.0.3"}) || outputs.Secret {
		t.Errorf("outputs (secret: %v) are %v", outputs.Secret, outputs.Value)
	}
}

// request returns the run that the Stack requests, and the conditions that the provider waits for.
func request(t *testing.T, engine *pulumitest.Engine) (asked string, wait any) {
	t.Helper()
	annotations, _ := pulumitest.Plain(t, engine.Get(t, stackType, "shop-stack").Inputs, "metadata.annotations")
	all := annotations.(map[string]any)
	return all["pulumi.com/reconciliation-request"].(string), all["pulumi.com/waitFor"]
}

func TestAChangedProgramIsWaitedFor(t *testing.T) {
	engine, changed := operator(), operator()
	args := given()
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	args.Program.Resources["password"] = pulumiv1.Resource{Type: "random:RandomPet"}
	if err := run(changed, args); err != nil {
		t.Fatal(err)
	}
	before, wait := request(t, engine)
	after, _ := request(t, changed)
	if before == after {
		t.Errorf("another program is asked for as %q again", before)
	}
	if want := `["jsonpath={.status.observedReconcileRequest}=` + before + `","condition=Ready"]`; wait != want {
		t.Errorf("waits for %v, want %s", wait, want)
	}
}

func TestAStackIsNotWaitedForByChoice(t *testing.T) {
	engine := operator()
	args := given()
	args.NoWait = true
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	if _, wait := request(t, engine); wait != nil {
		t.Errorf("waits for %v", wait)
	}
}

func TestLateValuesReachTheStackAndSecretsOnlyBySecret(t *testing.T) {
	engine := operator()
	args := given()
	args.Spec.Config = map[string]apiextensionsv1.JSON{"size": {Raw: []byte(`3`)}}
	args.Config = pulumi.Map{"instance": pulumi.String("strata").ToStringOutput(), "zones": pulumi.ToStringArray([]string{"b", "c"})}
	args.SecretConfig = pulumi.StringMap{"gcp:credentials": pulumi.String("canary-key")}
	args.Env = pulumi.StringMap{"LEVEL": pulumi.String("debug")}
	args.SecretEnv = pulumi.StringMap{"PULUMI_CONFIG_PASSPHRASE": pulumi.String("canary-phrase")}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	made, secret := engine.Get(t, stackType, "shop-stack"), engine.Get(t, secretType, "shop-secret")
	spec, isSecret := pulumitest.Plain(t, made.Inputs, "spec")
	fields := spec.(map[string]any)
	for field, want := range map[string]any{
		"config": map[string]any{"size": 3.0, "instance": "strata", "zones": []any{"b", "c"}},
		"secretsRef": map[string]any{
			"gcp:credentials": map[string]any{"type": "Secret", "secret": map[string]any{"name": "shop", "key": "config.gcp.credentials"}},
		},
		"envRefs": map[string]any{
			"LEVEL": map[string]any{"type": "Literal", "literal": map[string]any{"value": "debug"}},
			"PULUMI_CONFIG_PASSPHRASE": map[string]any{
				"type": "Secret", "secret": map[string]any{"name": "shop", "key": "env.PULUMI_CONFIG_PASSPHRASE"},
			},
		},
	} {
		if !reflect.DeepEqual(fields[field], want) {
			t.Errorf("%s is %v, want %v", field, fields[field], want)
		}
	}
	if isSecret {
		t.Error("the spec is a secret, which hides it for no reason")
	}
	data, isSecret := pulumitest.Plain(t, secret.Inputs, "stringData")
	want := map[string]any{"config.gcp.credentials": "canary-key", "env.PULUMI_CONFIG_PASSPHRASE": "canary-phrase"}
	if !reflect.DeepEqual(data, want) || !isSecret {
		t.Errorf("the Secret's data (secret: %v) is %v", isSecret, data)
	}
	if !made.DependsOn(secret) {
		t.Error("the Stack would outlive its Secret")
	}
	if asked, _ := request(t, engine); !strings.HasSuffix(asked, "-17") {
		t.Errorf("another Secret would be asked for as %q again", asked)
	}
	if strings.Contains(fmt.Sprint(made.Inputs.Mappable()), "canary") {
		t.Error("the Stack holds a secret in plain text")
	}
}

func TestAPreviewOfAStackPasses(t *testing.T) {
	engine := &pulumitest.Engine{Preview: true}
	args := given()
	args.SecretEnv = pulumi.StringMap{"A": pulumi.String("b")}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
}

func TestBadArgsAreRefusedAllAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*stack.StackArgs)
		want []string
	}{
		"nothing given": {
			func(a *stack.StackArgs) { *a = stack.StackArgs{} },
			[]string{"namespace must", `name "" must`, "spec.stack must", "a program must be given"},
		},
		"a long name": {func(a *stack.StackArgs) { a.Name = pulumi.String(strings.Repeat("a", 43)) }, []string{"1 to 42 characters"}},
		"two programs": {
			func(a *stack.StackArgs) { a.Spec.ProgramRef = &pulumiv1.ProgramReference{Name: "other"} },
			[]string{"program and spec.programRef exclude each other"},
		},
		"values in two places": {
			func(a *stack.StackArgs) {
				a.Config, a.SecretConfig = pulumi.Map{"a": pulumi.String("1")}, pulumi.StringMap{"a": pulumi.String("2")}
				a.Env = pulumi.StringMap{"B": pulumi.String("1")}
				a.Spec.EnvRefs = map[string]pulumiv1.ResourceRef{"B": {}}
			},
			[]string{"config a is given twice", "env B is given twice"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := given()
			test.edit(args)
			err := run(operator(), args)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
		})
	}
}

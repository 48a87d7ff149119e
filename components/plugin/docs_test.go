package plugin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	pschema "github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"golang.org/x/mod/modfile"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/components/cloudsql"
	"github.com/strata-platform/strata/components/database"
	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/components/plugin"
	"github.com/strata-platform/strata/components/statebucket"
	"github.com/strata-platform/strata/internal/pulumitest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/sdks/flux"
	"github.com/strata-platform/strata/test/docstest"
)

const (
	page   = "docs/reference/components.md"
	marker = "<!-- properties -->\n"
)

func spec(t *testing.T) pschema.PackageSpec {
	t.Helper()
	content, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var spec pschema.PackageSpec
	if err := json.Unmarshal(content, &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestTheReferenceListsEveryProperty(t *testing.T) {
	var want strings.Builder
	all := spec(t)
	for _, token := range plugin.Types() {
		r := all.Resources[token]
		fmt.Fprintf(&want, "\n### %s\n\n%s\n\n", token, r.Description)
		table(&want, "property", r.InputProperties, r.RequiredInputs)
		fmt.Fprintln(&want)
		table(&want, "output", r.Properties, nil)
		for _, name := range slices.Sorted(maps.Keys(all.Types)) {
			if nested := all.Types[name]; strings.HasPrefix(name, token) {
				fmt.Fprintf(&want, "\n`%s`: %s\n\n", name, nested.Description)
				table(&want, "property", nested.Properties, nested.Required)
			}
		}
	}
	before, got, found := strings.Cut(docstest.Read(t, page), marker)
	if !found {
		t.Fatalf("%s has no marker %s", page, marker)
	}
	if *plugin.Update {
		if err := os.WriteFile(filepath.Join("..", "..", page), []byte(before+marker+want.String()), 0o644); err != nil { //nolint:gosec // a source file
			t.Fatal(err)
		}
		return
	}
	if got != want.String() {
		t.Errorf("%s differs from the schema: run go test ./components/plugin -run TestThe -update", page)
	}
}

func table(to *strings.Builder, title string, properties map[string]pschema.PropertySpec, required []string) {
	fmt.Fprintf(to, "| %s | type | |\n|---|---|---|\n", title)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		mark := ""
		if slices.Contains(required, name) {
			mark = " (required)"
		}
		fmt.Fprintf(to, "| `%s`%s | %s | %s |\n", name, mark, typeName(properties[name].TypeSpec), strings.ReplaceAll(properties[name].Description, "|", "\\|"))
	}
}

func typeName(of pschema.TypeSpec) string {
	name := of.Type
	switch {
	case of.Ref != "":
		name = "`" + strings.TrimPrefix(of.Ref, "#/types/") + "`"
	case of.Items != nil:
		name = "list of " + strings.TrimPrefix(typeName(*of.Items), "plain ")
	case of.AdditionalProperties != nil:
		name = "map of " + strings.TrimPrefix(typeName(*of.AdditionalProperties), "plain ")
	}
	if of.Plain {
		return "plain " + name
	}
	return name
}

func TestTheTableOfSDKsHasTheVersionsOfTheModule(t *testing.T) {
	content := docstest.Read(t, "go.mod")
	file, err := modfile.Parse("go.mod", []byte(content), nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{"github.com/strata-platform/strata/sdks/flux": "v" + strings.TrimPrefix(flux.Version, "v")}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for plugin, sdk := range map[string]string{
		"`flux`": "github.com/strata-platform/strata/sdks/flux", "`gcp`": "github.com/pulumi/pulumi-gcp/sdk/v7",
		"`kubernetes`": "github.com/pulumi/pulumi-kubernetes/sdk/v4", "`random`": "github.com/pulumi/pulumi-random/sdk/v4",
		"": "github.com/pulumi/pulumi/sdk/v3",
	} {
		if row := strings.Replace(fmt.Sprintf("| %s | `%s` | %s |\n", plugin, sdk, versions[sdk]), "|  |", "| |", 1); !strings.Contains(docstest.Read(t, page), row) {
			t.Errorf("%s has no row %s", page, row)
		}
	}
}

func TestTheImagesHaveTheVersionsOfTheModule(t *testing.T) {
	file, err := modfile.Parse("go.mod", []byte(docstest.Read(t, "go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = strings.TrimPrefix(r.Mod.Version, "v")
	}
	// The image of the operator contains the plugin strata as a program of this module.
	recipes := map[string]string{
		"images/workspace/Containerfile": "resource strata " + plugin.Version + " ", "images/operator/Containerfile": " pulumi-resource-strata ",
	}
	base := "docker.io/pulumi/pulumi:" + versions["github.com/pulumi/pulumi/sdk/v3"] + "-nonroot"
	from := regexp.MustCompile("^FROM " + regexp.QuoteMeta(base+"@${BASE_DIGEST:?missing-see-images/README.md}") + "( AS [a-z]+)?$")
	arguments := regexp.MustCompile("^ARG (BASE_DIGEST(=sha256:[0-9a-f]{64})?|(GCP|KUBERNETES|RANDOM)_SHA256(=[0-9a-f]{64})?)$")
	var kept [][]string
	for file, own := range recipes {
		recipe := docstest.Read(t, file)
		for _, want := range []string{
			own, "base.name=" + base + " ", "base.digest=${BASE_DIGEST}\n",
			"resource gcp " + versions["github.com/pulumi/pulumi-gcp/sdk/v7"] + ` --checksum "$GCP_SHA256"`,
			"resource kubernetes " + versions["github.com/pulumi/pulumi-kubernetes/sdk/v4"] + ` --checksum "$KUBERNETES_SHA256"`,
			"resource random " + versions["github.com/pulumi/pulumi-random/sdk/v4"] + ` --checksum "$RANDOM_SHA256"`,
		} {
			if !strings.Contains(recipe, want) {
				t.Errorf("%s does not contain %q", file, want)
			}
		}
		var given []string
		for line := range strings.SplitSeq(recipe, "\n") {
			switch word, _, _ := strings.Cut(line, " "); {
			case word == "FROM" && (!from.MatchString(line) || len(given) == 0):
				t.Errorf("%s: %q names no image by the argument BASE_DIGEST", file, line)
			case word == "ARG" && !arguments.MatchString(line):
				t.Errorf("%s: %q is no argument for a digest", file, line)
			case word == "ARG":
				given = append(given, line)
			}
		}
		kept = append(kept, slices.Sorted(slices.Values(given)))
	}
	if !slices.Equal(kept[0], kept[1]) {
		t.Errorf("the recipes have other digests: %q and %q", kept[0], kept[1])
	}
	readme := docstest.Read(t, "images/README.md")
	for _, want := range []string{"crane digest " + base + "\n", "inspect " + base + "\n", "/v" + versions["github.com/pulumi/pulumi-gcp/sdk/v7"] + "/"} {
		if !strings.Contains(readme, want) {
			t.Errorf("images/README.md does not contain %q", want)
		}
	}
}

// TestTheReferenceListsTheChildrenOfEachComponent registers each component with the args that create every kind of child.
func TestTheReferenceListsTheChildrenOfEachComponent(t *testing.T) {
	text, no := pulumi.String("text"), false
	programs := map[string]pulumi.RunFunc{
		cloudsql.Type: func(ctx *pulumi.Context) error {
			_, err := cloudsql.NewInstance(ctx, "it", &cloudsql.InstanceArgs{
				Name: text, Project: text, Region: text, DeletionProtection: &no,
				Databases: []cloudsql.Database{{Name: "a"}}, Users: []cloudsql.User{{Name: "a", Password: text}},
			})
			return err
		},
		database.Type: func(ctx *pulumi.Context) error {
			_, err := database.NewDatabase(ctx, "it", &database.DatabaseArgs{Name: text, Instance: text})
			return err
		},
		gke.Type: func(ctx *pulumi.Context) error {
			_, err := gke.NewCluster(ctx, "it", &gke.ClusterArgs{Name: text, Project: text, Location: text, NodeCount: pulumi.Int(1)})
			return err
		},
		identity.Type: func(ctx *pulumi.Context) error {
			_, err := identity.NewIdentity(ctx, "it", &identity.IdentityArgs{
				AccountID: pulumi.String("reports"), Project: text, Roles: []string{"roles/cloudsql.client"}, Key: true,
				KubernetesAccounts: []identity.KubernetesAccount{{WorkloadPool: text, Namespace: "a", Name: "a"}},
			})
			return err
		},
		statebucket.Type: func(ctx *pulumi.Context) error {
			_, err := statebucket.NewBucket(ctx, "it", &statebucket.BucketArgs{
				Name: pulumi.String("acme-dev-strata-web"), Project: text, Location: text, Member: text,
			})
			return err
		},
	}
	if got, want := slices.Sorted(maps.Keys(programs)), plugin.Types(); !slices.Equal(got, want) {
		t.Fatalf("the test has %q, the plugin serves %q", got, want)
	}
	for token, program := range programs {
		engine := &pulumitest.Engine{
			Invoked: map[string]resource.PropertyMap{"gcp:sql/getDatabaseInstance:getDatabaseInstance": {}},
			Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
				"gcp:container/cluster:Cluster": func(args pulumi.MockResourceArgs) resource.PropertyMap {
					auth := args.Inputs["masterAuth"].ObjectValue().Copy()
					auth["clusterCaCertificate"] = resource.NewProperty("Y2E=")
					return resource.PropertyMap{"masterAuth": resource.NewProperty(auth), "endpoint": resource.NewProperty("203.0.113.7")}
				},
			},
		}
		if err := engine.Run("proj", "dev", program); err != nil {
			t.Fatal(err)
		}
		types := map[string]bool{}
		for _, made := range engine.All() {
			if made.Custom {
				types["`"+made.Type+"`"] = true
			}
		}
		row := fmt.Sprintf("| `%s` | %s |\n", token, strings.Join(slices.Sorted(maps.Keys(types)), ", "))
		if !strings.Contains(docstest.Read(t, page), row) {
			t.Errorf("%s has no row %s", page, row)
		}
	}
}

func TestTheProgramInTheReferenceFitsTheSchema(t *testing.T) {
	for _, block := range docstest.Blocks(t, page) {
		if block.Name != "program" {
			continue
		}
		program := &v1.Program{}
		if err := yaml.UnmarshalStrict([]byte(block.Text), program); err != nil {
			t.Fatal(err)
		}
		for name, r := range program.Program.Resources {
			known := spec(t).Resources[r.Type]
			for property := range r.Properties {
				if _, found := known.InputProperties[property]; !found {
					t.Errorf("resource %s has the property %s, which %s does not have", name, property, r.Type)
				}
			}
			for _, property := range known.RequiredInputs {
				if _, found := r.Properties[property]; !found {
					t.Errorf("resource %s has no property %s", name, property)
				}
			}
		}
		return
	}
	t.Errorf("%s has no Program", page)
}

package operator_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// fieldsBegin and fieldsEnd enclose a table of fields below a path, in a reference page.
const fieldsBegin, fieldsEnd = "<!-- fields of %s -->\n", "<!-- end of fields -->\n"

// pages maps each kind to its reference page and to the paths whose fields have a table there.
var pages = map[string]struct {
	crd, page string
	paths     []string
}{
	"Stack":   {"pulumi.com_stacks.yaml", "stack.md", []string{"spec", "status"}},
	"Program": {"pulumi.com_programs.yaml", "program.md", []string{"program", "status"}},
}

// TestEveryFieldIsDocumented compares the tables of fields with the CustomResourceDefinitions; -update rewrites them.
func TestEveryFieldIsDocumented(t *testing.T) {
	root := toolchaintest.Root(t)
	for kind, p := range pages {
		t.Run(kind, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(root, "operator", "config", "crd", "bases", p.crd))
			if err != nil {
				t.Fatal(err)
			}
			var crd apiextensionsv1.CustomResourceDefinition
			if err := yaml.Unmarshal(content, &crd); err != nil {
				t.Fatal(err)
			}
			schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
			path := filepath.Join(root, "docs", "reference", p.page)
			before := page(t, p.page)
			text := before
			for _, part := range p.paths {
				head, rest, found := strings.Cut(text, fmt.Sprintf(fieldsBegin, part))
				_, tail, closed := strings.Cut(rest, fieldsEnd)
				if !found || !closed {
					t.Fatalf("%s has no table of the fields of %s", path, part)
				}
				text = head + fmt.Sprintf(fieldsBegin, part) + table(part, schema.Properties[part]) + fieldsEnd + tail
			}
			switch {
			case text == before:
			case *update:
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s differs from the kind: run go test ./test/operator -run Documented -update", path)
			}
		})
	}
}

// table returns the Markdown table of a schema's fields.
func table(path string, schema apiextensionsv1.JSONSchemaProps) string {
	var text strings.Builder
	text.WriteString("| field | type | meaning |\n|---|---|---|\n")
	rows(&text, path, schema)
	return text.String()
}

func rows(text *strings.Builder, path string, schema apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field, below := schema.Properties[name], path+"."+name
		kind := kindOf(field)
		if slices.Contains(schema.Required, name) {
			kind += ", required"
		}
		meaning := strings.ReplaceAll(strings.Join(strings.Fields(field.Description), " "), "|", "\\|")
		if foreign(below) {
			meaning = strings.TrimSpace(meaning + " As in Kubernetes.")
		}
		fmt.Fprintf(text, "| `%s` | %s | %s |\n", below, kind, meaning)
		if foreign(below) {
			continue
		}
		switch {
		case isReference(field):
		case field.Items != nil && field.Items.Schema != nil:
			rows(text, below+"[]", *field.Items.Schema)
		case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
			if values := *field.AdditionalProperties.Schema; !isReference(values) {
				rows(text, below+".NAME", values)
			}
		default:
			rows(text, below, field)
		}
	}
}

// foreign reports whether the type of a field belongs to Kubernetes.
func foreign(path string) bool {
	for _, suffix := range []string{".metadata", ".podTemplate", ".serviceTemplate.spec", ".conditions", "workspaceTemplate.spec.env", "workspaceTemplate.spec.envFrom", "workspaceTemplate.spec.resources"} {
		if strings.HasSuffix(path, suffix) {
			return true
		}
	}
	return false
}

// isReference reports whether a schema is a reference to a value, which has a table of its own.
func isReference(schema apiextensionsv1.JSONSchemaProps) bool {
	return slices.Equal(slices.Sorted(maps.Keys(schema.Properties)), []string{"env", "filesystem", "literal", "secret", "type"})
}

func kindOf(schema apiextensionsv1.JSONSchemaProps) string {
	switch {
	case isReference(schema):
		return "[reference](#references)"
	case schema.Items != nil && schema.Items.Schema != nil:
		return "list of " + kindOf(*schema.Items.Schema)
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		return "map of " + kindOf(*schema.AdditionalProperties.Schema)
	case len(schema.Enum) > 0:
		var values []string
		for _, value := range schema.Enum {
			var text string
			if json.Unmarshal(value.Raw, &text) != nil {
				text = string(value.Raw)
			}
			values = append(values, "`"+text+"`")
		}
		return strings.Join(values, ", ")
	case schema.Type == "":
		return "any"
	case schema.Format == "date-time":
		return "time"
	}
	return schema.Type
}

// TestEveryConditionReasonAndEventIsDocumented looks for the constants of the API in its reference pages.
func TestEveryConditionReasonAndEventIsDocumented(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(toolchaintest.Root(t), "operator", "api", "v1", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, count := page(t, "stack.md")+page(t, "program.md"), 0
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			name := spec.Names[0].Name
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || !strings.HasSuffix(name, "Reason") && !strings.HasSuffix(name, "Condition") && !strings.HasSuffix(name, "Event") {
				return true
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			count++
			if !strings.Contains(text, "`"+value+"`") {
				t.Errorf("no reference page contains %s, %q", name, value)
			}
			return true
		})
	}
	if count < 15 {
		t.Errorf("found %d constants", count)
	}
}

// page returns the text of a reference page.
func page(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(toolchaintest.Root(t), "docs", "reference", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// example returns the code block of a page that begins with ```yaml and the name.
func example(t *testing.T, pageName, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(page(t, pageName), "\n```yaml "+name+"\n")
	text, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no example %s", pageName, name)
	}
	return text
}

func TestExamplesOfTheReferencePagesWork(t *testing.T) {
	c := startCluster(t)
	address := freeAddress(t)
	startOperator(t, c, "--metrics-addr="+address)
	tm := newTeam(t, c)
	// The name is the one that a hop uses.
	tm.create(t, &corev1.Secret{ObjectMeta: tm.meta(handoff.TenantName), StringData: map[string]string{
		handoff.KeyBackendURL: "file://" + tm.state, handoff.KeyPassphrase: passphrase,
	}})
	tm.apply(t, &v1.Program{}, example(t, "program.md", "program"))
	tm.apply(t, &v1.Stack{}, example(t, "stack.md", "stack"))
	got := tm.await(t, "shop-dev", "Ready", ready)
	settings, password := got.Status.Outputs["settings"], got.Status.Outputs["password"]
	if string(password.Raw) != `"[secret]"` {
		t.Errorf("the secret output is %s", password.Raw)
	}
	configMap := &corev1.ConfigMap{}
	name := strings.Trim(string(settings.Raw), `"`)
	if err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: name}, configMap); err != nil {
		t.Fatal(err)
	}
	if configMap.Data["colour"] != "red" || configMap.Data["sizes"] != "[1,2]" {
		t.Errorf("the ConfigMap contains %v", configMap.Data)
	}
	checkMetrics(t, address)
	if err := tm.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "shop-dev", "gone", gone)
}

// checkMetrics checks that the operator's own metrics are those on the reference page.
func checkMetrics(t *testing.T, address string) {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^# TYPE ((?:stack|program)\w+) `).FindAllStringSubmatch(string(content), -1) {
		served[match[1]] = true
	}
	_, section, _ := strings.Cut(page(t, "stack.md"), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\w+)` ").FindAllStringSubmatch(section, -1) {
		documented[match[1]] = true
	}
	if !maps.Equal(served, documented) {
		t.Errorf("the metrics are %v, the documented ones %v", slices.Sorted(maps.Keys(served)), slices.Sorted(maps.Keys(documented)))
	}
}

// freeAddress returns an unused address of this machine.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

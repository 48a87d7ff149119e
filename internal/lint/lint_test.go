package lint_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/strata-platform/strata/internal/lint"
)

// files maps the paths of a repository's files to their contents.
type files map[string]string

func (f files) tree() fs.FS {
	tree := fstest.MapFS{}
	for name, content := range f {
		tree[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return tree
}

func check(t testing.TB, f files) []lint.Problem {
	t.Helper()
	problems, err := lint.Check(f.tree(), lint.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// asked records the addresses that a build requests. No request leaves the process.
type asked struct{ addresses []string }

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.addresses = append(a.addresses, r.URL.String())
	return nil, http.ErrServerClosed
}

// build builds a folder by kustomize with Flux's options (github.com/fluxcd/pkg/kustomize, Build). It returns the
// build's error and the requests that the build made by HTTP or would have made by git. It must not run in parallel.
func build(t testing.TB, f files, folder string) (fetched []string, err error) {
	t.Helper()
	records := &asked{}
	before := http.DefaultTransport
	http.DefaultTransport = records
	defer func() { http.DefaultTransport = before }()
	// Without git on PATH, kustomize reports every attempt to run it.
	t.Setenv("PATH", "")
	disk := filesys.MakeFsInMemory()
	for name, content := range f {
		if err := disk.WriteFile("/repository/"+name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		// Flux recovers from kustomize's panics, too.
		if broken := recover(); broken != nil {
			fetched, err = records.addresses, fmt.Errorf("build panics: %v", broken)
		}
	}()
	_, err = krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig(),
	}).Run(disk, path.Join("/repository", folder))
	fetched = records.addresses
	if err != nil && strings.Contains(err.Error(), "no 'git' program on path") {
		fetched = append(fetched, "a git repository")
	}
	return fetched, err
}

const (
	address = "http://169.254.169.254/token"
	base    = "resources: [base.yaml]\n"
	patched = "{apiVersion: v1, kind: ConfigMap, metadata: {name: base}, data: {a: b}}"
)

// loads has a kustomization file for every place from which kustomize loads something. %s stands for the loaded value.
var loads = map[string]struct {
	content, field string
	more           files
}{
	"resources":                        {content: "resources: [%q]", field: "resources[0]"},
	"resources in another case":        {content: "Resources: [%q]", field: "resources[0]"},
	"bases":                            {content: "bases: [%q]", field: "bases[0]"},
	"crds":                             {content: base + "crds: [%q]", field: "crds[0]"},
	"configurations":                   {content: base + "configurations: [%q]", field: "configurations[0]"},
	"openapi":                          {content: base + "openapi: {path: %q}", field: "openapi.path"},
	"a file of a ConfigMap":            {content: "configMapGenerator: [{name: a, files: [%q]}]", field: "configMapGenerator[0].files[0]"},
	"a named file of a ConfigMap":      {content: "configMapGenerator: [{name: a, files: ['key=%s']}]", field: "configMapGenerator[0].files[0]"},
	"variables of a ConfigMap":         {content: "configMapGenerator: [{name: a, envs: [%q]}]", field: "configMapGenerator[0].envs[0]"},
	"variables in the old form":        {content: "configMapGenerator: [{name: a, env: %q}]", field: "configMapGenerator[0].env"},
	"a file of a Secret":               {content: "secretGenerator: [{name: a, files: ['key=%s']}]", field: "secretGenerator[0].files[0]"},
	"variables of a Secret":            {content: "secretGenerator: [{name: a, envs: [%q]}]", field: "secretGenerator[0].envs[0]"},
	"variables of a Secret, old":       {content: "secretGenerator: [{name: a, env: %q}]", field: "secretGenerator[0].env"},
	"patches":                          {content: base + "patches: [{path: %q}]", field: "patches[0].path"},
	"strategic merge patches":          {content: base + "patchesStrategicMerge: [%q]", field: "patchesStrategicMerge[0]"},
	"JSON patches":                     {content: base + "patchesJson6902: [{target: {version: v1, kind: ConfigMap, name: base}, path: %q}]", field: "patchesJson6902[0].path"},
	"replacements":                     {content: base + "replacements: [{path: %q}]", field: "replacements[0].path"},
	"generators":                       {content: base + "generators: [%q]", field: "generators[0]"},
	"transformers":                     {content: base + "transformers: [%q]", field: "transformers[0]"},
	"validators":                       {content: base + "validators: [%q]", field: "validators[0]"},
	"a patch that reads as an address": {content: base + "patchesStrategicMerge: ['%s: y']", field: "patchesStrategicMerge[0]"},

	"an inline generator":         {content: base + "generators: ['{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, name: a, files: [\"k=%s\"]}']", field: "generators[0]: ConfigMapGenerator.files"},
	"an inline generator of JSON": {content: base + `generators: ['{"apiVersion":"builtin","kind":"SecretGenerator","metadata":{"name":"a"},"name":"a","Envs":["%s"]}']`, field: "generators[0]: SecretGenerator.Envs"},
	"an inline transformer":       {content: base + "transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: \"%s\"}']", field: "transformers[0]: PatchTransformer.path"},
	"an inline validator":         {content: base + "validators: ['{apiVersion: builtin, kind: ReplacementTransformer, metadata: {name: a}, replacements: [{path: \"%s\"}]}']", field: "validators[0]: ReplacementTransformer.path"},
	"merge patches of a plugin":   {content: base + "transformers: ['{apiVersion: builtin, kind: PatchStrategicMergeTransformer, metadata: {name: a}, paths: [\"%s\"]}']", field: "transformers[0]: PatchStrategicMergeTransformer.paths"},
	"a JSON patch of a plugin":    {content: base + "transformers: ['{apiVersion: builtin, kind: PatchJson6902Transformer, metadata: {name: a}, target: {name: a}, path: \"%s\"}']", field: "transformers[0]: PatchJson6902Transformer.path"},
	"an alias in a plugin":        {content: base + "transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: &a \"%s\"}, path: *a}']", field: "transformers[0]: PatchTransformer.path"},
	"an alias in the file":        {content: "namePrefix: &a %q\nresources: [*a]\n", field: "resources[0]"},
	"a merge key":                 {content: "configMapGenerator: [{<<: {files: [%q]}, name: a}]", field: "configMapGenerator[0].files[0]"},
	"a repeated key":              {content: base + "crds: [base.yaml]\ncrds: [%q]\n", field: "crds[0]"},
	"after a byte order mark":     {content: "\ufeffresources: [%q]\r\n", field: "resources[0]"},
	"with an escaped key":         {content: `"\x72esources": [%q]`, field: "resources[0]"},
	"a component": {
		content: base + "components: [part]", field: "resources[0]",
		more: files{"part/kustomization.yaml": "{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, resources: [%s]}"},
	},
	"a folder below": {content: "resources: [part]", field: "bases[0]", more: files{"part/Kustomization": "bases: [%s]"}},
	"a plugin in a file": {
		content: base + "transformers: [plugin]", field: "PatchTransformer.path",
		more: files{"plugin": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\npath: %s\n"},
	},
	"the second plugin in a file": {
		content: base + "generators: [plugin]", field: "ConfigMapGenerator.files",
		more: files{"plugin": "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, name: a}\n---\n{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: b}, name: b, files: [%s]}\n"},
	},
}

func repository(content, value string, more files) files {
	fill := func(text string) string {
		if strings.Contains(text, "%") {
			return fmt.Sprintf(text, value)
		}
		return text
	}
	all := files{"kustomization.yaml": fill(content), "base.yaml": patched}
	for name, text := range more {
		all[name] = fill(text)
	}
	return all
}

func TestEveryPlaceThatLoadsAnAddressIsRefused(t *testing.T) {
	for name, each := range loads {
		t.Run(name, func(t *testing.T) {
			all := repository(each.content, address, each.more)
			if fetched, err := build(t, all, "."); len(fetched) == 0 {
				t.Errorf("kustomize fetches nothing, so this case tests nothing: %v", err)
			}
			problems := check(t, all)
			if len(problems) != 1 || problems[0].Field != each.field || !strings.HasPrefix(problems[0].Reason, `is the address "http://169.254.169.254/token`) {
				t.Errorf("problems are %q, want one of %s", problems, each.field)
			}
		})
	}
}

func TestTheSamePlacesMayNameFiles(t *testing.T) {
	for name, each := range loads {
		for _, value := range []string{"other.yaml", "./other.yaml", "x/../other@1.yaml"} {
			if problems := check(t, repository(each.content, value, each.more)); len(problems) != 0 {
				t.Errorf("%s: %s has the problems %q", name, value, problems)
			}
		}
	}
}

func TestTheSamePlacesStayInTheRepository(t *testing.T) {
	for name, each := range loads {
		if len(each.more) > 0 && each.more["plugin"] == "" {
			continue // one folder down
		}
		for value, reason := range map[string]string{
			"../other/base.yaml": "leads out of the repository", "x/../../y": "leads out of the repository", "/etc/passwd": "is the absolute path",
		} {
			if name == "a patch that reads as an address" {
				continue // '/etc/passwd: y' is a patch
			}
			problems := check(t, repository(each.content, value, each.more))
			if len(problems) != 1 || problems[0].Field != each.field || !strings.Contains(problems[0].Reason, reason) {
				t.Errorf("%s: problems of %s are %q", name, value, problems)
			}
		}
	}
}

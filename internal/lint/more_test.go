package lint_test

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/strata-platform/strata/internal/lint"
)

func TestEveryFormOfAnAddressIsRefused(t *testing.T) {
	for _, value := range []string{
		"http://host/x", "HTTPS://host/x", "https:host", "http:x", "http:/x", "git::https://host/o/r", "GIT::ssh://host/o/r",
		"ssh://git@host/o/r", "file:///etc/o.git//x", "FILE://r", "github.com/o/r", "GitHub.com:o/r", "git@host:o/r", "a@host:o/r",
		"x@host/o/r", "git::git@host:o/r", "https://host/_git/r", "http://[::1]/x", "https://user:password@host/x?ref=main&timeout=1h",
	} {
		all := files{"kustomization.yaml": fmt.Sprintf("resources: [%q]", value)}
		if problems := check(t, all); len(problems) != 1 {
			t.Errorf("%s: problems are %q, want one", value, problems)
		}
	}
}

// FuzzAddresses checks that kustomize requests only addresses that the linter refuses.
func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{
		"base.yaml", "../base", "http://h/x", "a@b:c/d", "git::github.com/a/b", "ssh://x", "file://x//y", " http://h", "h\nttp://h", "http:x", "x?ref=y",
		"a: 1", "{a: b}", "git::git::a@b:c/d", "gh:a/b", "host.xz/a.git", "a_git/b", "//host/x", "http://h/x: y",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if strings.Contains(value, "=") {
			t.Skip("the key of a file")
		}
		for _, place := range []string{"resources: [%q]", base + "patchesStrategicMerge: [%q]", base + "generators: [%q]", base + "crds: [%q]"} {
			all := repository(place, value, nil)
			if fetched, err := build(t, all, "."); len(fetched) > 0 && len(check(t, all)) == 0 {
				t.Errorf("%s of %q passes and its build fetches %q: %v", place, value, fetched, err)
			}
		}
	})
}

// TestPlacesAreComplete fails if a version of kustomize adds a field that this test does not list.
func TestPlacesAreComplete(t *testing.T) {
	loading := map[string]bool{
		"openapi": true, "resources": true, "components": true, "crds": true, "bases": true, "configMapGenerator": true, "secretGenerator": true,
		"patchesStrategicMerge": true, "patchesJson6902": true, "patches": true, "replacements": true, "configurations": true,
		"generators": true, "transformers": true, "validators": true, "helmGlobals": true, "helmCharts": true, "helmChartInflationGenerator": true,
	}
	others := []string{
		"", "metadata", "namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "commonAnnotations", "images", "imageTags",
		"replicas", "vars", "sortOptions", "generatorOptions", "buildMetadata",
	}
	for field := range reflect.TypeFor[types.Kustomization]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !loading[name] && !slices.Contains(others, name) {
			t.Errorf("kustomize has the new field %s: add it to this test, and to places if it names files", name)
		}
		delete(loading, name)
	}
	for name := range loading {
		t.Errorf("kustomize no longer has the field %s", name)
	}
}

func TestOtherProblemsOfABuild(t *testing.T) {
	plugin := func(version, kind, rest string) string {
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: a}\n%s\n", version, kind, rest)
	}
	for name, each := range map[string]struct {
		files files
		want  string
	}{
		"a chart": {
			files{"kustomization.yaml": "helmCharts: [{name: a, repo: 'https://charts.example.com'}]"},
			"kustomization.yaml: helmCharts[0] is a chart; builds by Flux run no Helm: write a HelmRelease",
		},
		"a chart in the old form": {
			files{"kustomization.yaml": "helmChartInflationGenerator: [{chartName: a, chartRepoUrl: 'https://charts.example.com'}]"},
			"kustomization.yaml: helmChartInflationGenerator[0] is a chart; builds by Flux run no Helm: write a HelmRelease",
		},
		"a chart by a plugin": {
			files{"kustomization.yaml": "generators: [p]", "p": plugin("builtin", "HelmChartInflationGenerator", "repo: 'https://charts.example.com'")},
			`p configures the plugin "HelmChartInflationGenerator" of "builtin"; builds by Flux run only builtin plugins, without Helm`,
		},
		"a program as a plugin": {
			files{"kustomization.yaml": "transformers: [p]", "p": plugin("example.com/v1", "Mine", "argsOneLiner: x")},
			`p configures the plugin "Mine" of "example.com/v1"; builds by Flux run only builtin plugins, without Helm`,
		},
		"a list of plugins": {
			files{"kustomization.yaml": "transformers: [p]", "p": "{apiVersion: v1, kind: List, items: [{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: 'http://h/x'}]}"},
			`p configures the plugin "List" of "v1"; builds by Flux run only builtin plugins, without Helm`,
		},
		"plugins that a folder generates": {
			files{"kustomization.yaml": "generators: [made]", "made/kustomization.yaml": "resources: [x.yaml]"},
			`kustomization.yaml: generators[0] is the folder "made"; name files with the configuration of plugins`,
		},
		"a plugin that cannot be read": {
			files{"kustomization.yaml": "generators: [p]", "p": "a: [\n---\n" + plugin("builtin", "ConfigMapGenerator", "files: ['http://h/x']")},
			"p configures plugins and is not valid YAML: ",
		},
		"aliases that grow": {
			files{"kustomization.yaml": bomb("resources: []\n")},
			"kustomization.yaml contains more than 200000 values when its aliases are expanded",
		},
		"aliases that grow in a manifest": {
			files{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": bomb("kind: ConfigMap\n")},
			"a.yaml contains more than 200000 values when its aliases are expanded",
		},
		"aliases that grow in an inline plugin": {
			files{"kustomization.yaml": fmt.Sprintf("generators: [%q]", bomb("kind: ConfigMapGenerator\n"))},
			"kustomization.yaml: generators[0] is not valid YAML: its aliases expand to too many values",
		},
		"an alias of itself": {
			files{"a.yaml": "a: &a [*a]\n"},
			"a.yaml contains more than 200000 values when its aliases are expanded",
		},
		"a patch that copies": {
			files{"kustomization.yaml": "patches: [{target: {kind: ConfigMap}, patch: '[{\"op\":\"copy\",\"from\":\"/data\",\"path\":\"/data/a\"}]'}]"},
			`kustomization.yaml: patch copies a value`,
		},
		"a patch in YAML that copies": {
			files{"kustomization.yaml": "patchesJson6902:\n- patch: |\n    - &a {op: test}\n    - {<<: *a, op: &c \"c\\u006fpy\"}\n"},
			`kustomization.yaml: patch copies a value`,
		},
		"a patch in a file that copies": {
			files{"kustomization.yaml": "patches: [{path: p}]", "p": "- op: add\n- {op: copy}\n"},
			`p copies a value`,
		},
		"a patch of an inline transformer that copies": {
			files{"kustomization.yaml": "transformers:\n- |-\n  {apiVersion: builtin, kind: PatchJson6902Transformer, metadata: {name: x}, jsonOp: '[{op: copy}]'}\n"},
			`kustomization.yaml: jsonOp copies a value`,
		},
		"a patch of a transformer in a file that copies": {
			files{"kustomization.yaml": "transformers: [t]", "t": "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, patch: '[{op: copy}]'}"},
			`t: patch copies a value`,
		},
		"a patch that copies, in Base64": {
			files{"kustomization.yaml": "patches: [{path: p}]", "p": "- {op: !!binary Y29weQ==, from: /data, path: /data/a}\n"},
			"p copies a value",
		},
		"a patch that copies, seen before under another key": {
			files{"kustomization.yaml": "x: &a '[{op: copy}]'\npatches: [{patch: *a}]"},
			"kustomization.yaml: patch copies a value",
		},
		"an anchored patch, many times": {
			files{"kustomization.yaml": fmt.Sprintf("x: &a %q\npatches: [%s]", "a: ["+strings.Repeat("0,", 10_000)+"]", strings.Repeat("{patch: *a},", 30))},
			"kustomization.yaml makes a build load more than 200000 values",
		},
		"patches of plugins in a file": {
			files{
				"kustomization.yaml": "transformers: [" + strings.TrimSuffix(strings.Repeat("t,", 30), ",") + "]",
				"t":                  fmt.Sprintf("{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, patch: %q}", "a: ["+strings.Repeat("0,", 10_000)+"]"),
			},
			"kustomization.yaml makes a build load more than 200000 values",
		},
		"aliases that grow in a patch": {
			files{"kustomization.yaml": fmt.Sprintf("patches: [{patch: %q}]", bomb("kind: ConfigMap\n"))},
			"kustomization.yaml: patch contains more than 200000 values when its aliases are expanded",
		},
		"aliases that grow in all patches together": {
			files{"kustomization.yaml": "patches:\n" + strings.Repeat(fmt.Sprintf("- patch: %q\n", "a: &a ["+strings.Repeat("0,", 1000)+"]\nb: ["+strings.Repeat("*a,", 50)+"]"), 5)},
			"kustomization.yaml makes a build load more than 200000 values",
		},
		"folders that double": {doubling(40), "kustomization.yaml makes a build load more than 1000 files"},
		"too many objects": {
			files{"a/kustomization.yaml": "resources: [list.yaml]", "a/list.yaml": strings.Repeat("{kind: A, metadata: {name: a}}\n---\n", 501)},
			"a/kustomization.yaml makes a build load more than 500 objects",
		},
		"objects in a list": {
			files{"list.yaml": "{kind: List, items: [" + strings.Repeat("{kind: A},", 501) + "]}"},
			"The repository makes a build load more than 500 objects",
		},
		"many patches of many objects": {
			files{
				"kustomization.yaml": "resources: [list.yaml]\npatches:\n" + strings.Repeat("- {patch: x}\n", 50),
				"list.yaml":          strings.Repeat("{kind: A}\n---\n", 401),
			},
			"kustomization.yaml makes a build apply 50 changes to 401 objects, more than 20000 in all",
		},
		"a large file, many times": {
			files{"kustomization.yaml": "configMapGenerator: [{name: a, files: [" + strings.Repeat("big,", 20) + "]}]", "big": strings.Repeat("x\n", 1<<19)},
			"kustomization.yaml makes a build load more than 16777216 bytes",
		},
		"a file that is too large": {
			files{"a.yaml": strings.Repeat("x\n", 1<<20)},
			"a.yaml has 2097152 bytes; a build reads files of at most 1048576",
		},
		"in a folder that nothing refers to": {
			files{"a/b/Kustomization": "resources: ['http://h/x']"}, `a/b/Kustomization: resources[0] is the address "http://h/x"`,
		},
		"in the second of two files": {
			files{"kustomization.yaml": "resources: []", "kustomization.yml": "resources: ['http://h/x']"}, `kustomization.yml: resources[0] is the address`,
		},
		"beside a field that kustomize does not know": {
			files{"kustomization.yaml": "unknown: true\nresources: ['http://h/x']"}, `kustomization.yaml: resources[0] is the address`,
		},
		"in the first of two documents": {
			files{"kustomization.yaml": "resources: ['http://h/x']\n---\nresources: []\n"}, `kustomization.yaml: resources[0] is the address`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			problems := check(t, each.files)
			if !slices.ContainsFunc(problems, func(p lint.Problem) bool { return strings.HasPrefix(p.String(), each.want) }) {
				t.Errorf("problems are %q, want %q", problems, each.want)
			}
		})
	}
}

// bomb returns YAML whose aliases expand to 10^9 values.
func bomb(before string) string {
	text := before + "l0: &l0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 9; i++ {
		text += fmt.Sprintf("l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i-1), 10), ","))
	}
	return text
}

// doubling returns nested folders. Each builds the folder below it twice, under two name prefixes.
func doubling(depth int) files {
	all, folder := files{}, ""
	for range depth {
		all[folder+"kustomization.yaml"] = "resources: [a, b]"
		all[folder+"a/kustomization.yaml"] = "{namePrefix: a, resources: [../c]}"
		all[folder+"b/kustomization.yaml"] = "{namePrefix: b, resources: [../c]}"
		folder += "c/"
	}
	all[folder+"kustomization.yaml"], all[folder+"base.yaml"] = "resources: [base.yaml]", patched
	return all
}

func TestLinksStayInTheRepository(t *testing.T) {
	for target, refused := range map[string]bool{"b.yaml": false, "../b.yaml": false, "../../b.yaml": true, "/etc/passwd": true, "../a/../../b": true} {
		tree := fstest.MapFS{"a/link": {Data: []byte(target), Mode: fs.ModeSymlink | 0o777}}
		problems, err := lint.Check(tree, lint.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if (len(problems) == 1) != refused {
			t.Errorf("a link to %s: %q", target, problems)
		}
	}
}

func TestOrdinaryCommitsPass(t *testing.T) {
	for name, each := range map[string]files{
		"manifests alone": {"deployment.yaml": patched, "docs/readme.md": "# http://example.com"},
		"an overlay": {
			"base/kustomization.yaml": "resources: [app.yaml]", "base/app.yaml": patched,
			"prod/kustomization.yml": "resources: [../base]\npatches: [{path: patch.yaml}, {patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: base}, data: {a: \"http://c\"}}'}]\n" +
				"configMapGenerator: [{name: a, literals: ['url=https://example.com'], files: [app.properties, x=sub/y]}]\n" +
				"patchesStrategicMerge:\n- |-\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: base}\n  data: {b: 'https://example.com'}\n" +
				"images: [{name: nginx, newName: registry.example.com/nginx}]\ncommonAnnotations: {docs: 'https://example.com'}\n",
			"prod/patch.yaml": patched, "prod/app.properties": "url=https://example.com",
		},
		"an inline transformer":            {"kustomization.yaml": "transformers:\n- |-\n  apiVersion: builtin\n  kind: LabelTransformer\n  metadata: {name: a}\n  labels: {a: b}\n  fieldSpecs: [{path: metadata/labels, create: true}]\n"},
		"a merge key":                      {"kustomization.yaml": "x: &x {name: a, literals: [a=b]}\nconfigMapGenerator: [{<<: *x, name: b}]\n"},
		"invalid YAML, which Flux reports": {"kustomization.yaml": "resources: ["},
		"a template of a chart":            {"chart/templates/a.yaml": "{{- if .Values.a }}\na: {{ .Values.b }}\n{{- end }}\n"},
	} {
		if problems := check(t, each); len(problems) != 0 {
			t.Errorf("%s has the problems %q", name, problems)
		}
	}
}

// FuzzKustomization checks that a file without problems makes a build request nothing.
func FuzzKustomization(f *testing.F) {
	for _, each := range loads {
		f.Add(fmt.Sprintf(each.content, "base.yaml"), each.more["plugin"])
	}
	f.Add("resources: [base.yaml]\ntransformers: ['a: b', \"x\\n---\\ny\"]", "a: 1\n---\nb")
	f.Fuzz(func(t *testing.T, content, plugin string) {
		all := files{"kustomization.yaml": content, "base.yaml": patched, "plugin": plugin}
		if len(check(t, all)) > 0 {
			return
		}
		if fetched, err := build(t, all, "."); len(fetched) > 0 {
			t.Errorf("the file passes and its build fetches %q: %v", fetched, err)
		}
	})
}

package trial_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/strata-platform/strata/internal/lint"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/operator/engine/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxtest.Main(m)
}

func repository(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return tree
}

// try lints and builds like a push.
func try(t *testing.T, files map[string]string, limits trial.Limits) string {
	t.Helper()
	tree := repository(files)
	problems, err := lint.Check(tree, lint.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		t.Fatalf("the files alone are refused: %q", problems)
	}
	folders, err := lint.Folders(tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) == 0 {
		return "not built"
	}
	problem, err := trial.Build(t.Context(), tree, folders, "team-web", limits)
	if err != nil {
		t.Fatal(err)
	}
	if problem == nil {
		return "built"
	}
	return problem.String()
}

const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}"

// doubling returns a kustomization that repeatedly copies the data of an object into a value of that data.
func doubling(selector string) string {
	text := "resources: [a.yaml]\nreplacements:\n"
	for i := range 60 {
		text += fmt.Sprintf("- {source: {kind: ConfigMap, name: a, %s fieldPath: data}, targets: [{select: {kind: ConfigMap, name: a}, fieldPaths: [data.x%d], options: {create: true}}]}\n", selector, i)
	}
	return text
}

func TestWhatABuildBecomes(t *testing.T) {
	const ends = "ends the process that builds it, which may take 512 MB of memory"
	kilobytes := func(n int) string { return strings.Repeat("x", n<<10) }
	many := strings.Builder{}
	for i := range 400 {
		fmt.Fprintf(&many, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d}}\n---\n", i)
	}
	for name, each := range map[string]struct {
		files map[string]string
		want  string
	}{
		"resources alone": {map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": object}, "not built"},
		"resources that are missing, for Flux to say": {
			map[string]string{"kustomization.yaml": "resources: [b.yaml]"}, "not built",
		},
		"an overlay": {
			map[string]string{
				"base/kustomization.yaml": "resources: [a.yaml]", "base/a.yaml": object,
				"prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\npatches: [{path: p.yaml}]\nconfigMapGenerator: [{name: c, files: [x=p.yaml]}]\n", "prod/p.yaml": object,
				"unknown/kustomization.yaml": "fields: of a later kustomize\nresources: [../base]",
			},
			"built",
		},
		"a patch of nothing": {
			map[string]string{"app/kustomization.yaml": "patches: [{path: p.yaml}]"},
			"folder app cannot be built: trouble configuring builtin PatchTransformer",
		},
		"replacements that double an object": {
			map[string]string{"kustomization.yaml": doubling(""), "a.yaml": object}, "folder . " + ends,
		},
		"replacements in the namespace that Flux sets": {
			map[string]string{"kustomization.yaml": doubling("namespace: team-web,"), "a.yaml": object}, "folder . " + ends,
		},
		"replacements beside fields that Flux leaves out": {
			map[string]string{"kustomization.yaml": "unknown: true\n" + doubling(""), "a.yaml": object}, "folder . " + ends,
		},
		"replacements beside a file that the artifact leaves out": {
			map[string]string{"kustomization.yaml": doubling(""), "Kustomization": "resources: []", ".sourceignore": "Kustomization", "a.yaml": object},
			"folder . cannot be built: ",
		},
		"replacements in a component": {
			map[string]string{
				"c/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n" + strings.Replace(doubling(""), "resources: [a.yaml]\n", "", 1),
				"kustomization.yaml":   "resources: [a.yaml]\ncomponents: [c]", "a.yaml": object,
			},
			"folder . " + ends,
		},
		"a folder that is loaded by many which name resources alone": {
			map[string]string{
				"c/kustomization.yaml": "configMapGenerator: [{name: a, files: [f]}]", "c/f": kilobytes(500),
				"d/kustomization.yaml": "resources: [../c]\nnamePrefix: d-",
				"e/kustomization.yaml": "resources: [../c]\nnamePrefix: e-",
				"kustomization.yaml":   "resources: [c, d, e]",
			},
			"built",
		},
		"variables that grow a string": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\nvars: [{name: A, objref: {kind: ConfigMap, name: a, apiVersion: v1}, fieldref: {fieldpath: data.a}}]\nconfigurations: [c]",
				"c":                  "varReference: [{path: data/b, kind: ConfigMap}]",
				"a.yaml":             strings.Replace(object, "{a: b}", fmt.Sprintf("{a: %s, b: %s}", kilobytes(200), strings.Repeat("$(A)", 50_000)), 1),
			},
			"folder . " + ends,
		},
		"a large annotation of many objects": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]\ncommonAnnotations: {a: " + kilobytes(45) + "}", "a.yaml": many.String()},
			"folder . becomes more than 16 MB when it is built, with the folders before it",
		},
		"a large patch of many objects": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches: [{target: {kind: ConfigMap}, path: p}]", "a.yaml": many.String(),
				"p": "- {op: add, path: /data, value: {a: [" + strings.Repeat("{a: 0},", 40_000) + "]}}",
			},
			"folder . ends the process",
		},
		"a file that is missing, in a repository that has more than resources": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]\nnamePrefix: a-", "a.yaml": object, "sub/kustomization.yaml": "crds: [missing]\n"},
			"folder sub cannot be built: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := trial.DefaultLimits()
			limits.Time, limits.Memory = time.Minute, 512<<20 // Tests share the machine.
			if got := try(t, each.files, limits); !strings.HasPrefix(got, each.want) {
				t.Errorf("it is %.300s, want %s", got, each.want)
			}
		})
	}
}

func TestATrialEnds(t *testing.T) {
	limits := trial.DefaultLimits()
	limits.Time = time.Millisecond
	files := map[string]string{"kustomization.yaml": doubling(""), "a.yaml": object}
	if got, want := try(t, files, limits), "folder . takes more than 1ms to build, with the folders before it"; got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}

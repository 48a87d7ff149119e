package trial_test

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxtest.Main(m)
}

func repository(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			tree[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		}
	}
	return tree
}

// try checks and builds files as a push does. It returns "accepted", or the first problem and the step that finds it.
func try(t *testing.T, files map[string]string, path string, limits trial.Limits) string {
	t.Helper()
	tree := repository(files)
	judge, err := trial.Start(t.Context(), t.TempDir(), limits)
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	problems, err := judge.Check(tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		return "check: " + problems[0].String()
	}
	problems, _, err = judge.Build(tree, []trial.Sync{{"path": path, "targetNamespace": "team-web"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		return "build: " + problems[0].String()
	}
	return "accepted"
}

func testLimits() trial.Limits {
	limits := trial.DefaultLimits()
	limits.Memory = 512 << 20
	return limits
}

const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}"

// objects returns a number of ConfigMaps.
func objects(count int) string {
	var all strings.Builder
	for i := range count {
		fmt.Fprintf(&all, "{apiVersion: v1, kind: ConfigMap, metadata: {name: o%d}}\n---\n", i)
	}
	return all.String()
}

// items returns a number of ConfigMaps as a list.
func items(count int) string {
	var all strings.Builder
	for i := range count {
		fmt.Fprintf(&all, "{apiVersion: v1, kind: ConfigMap, metadata: {name: o%d}}, ", i)
	}
	return "[" + all.String() + "]"
}

// keys returns a ConfigMap with a number of keys.
func keys(count int) string {
	var all strings.Builder
	for i := range count {
		fmt.Fprintf(&all, "a%d: , ", i)
	}
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {" + all.String() + "}}"
}

// doubling returns 60 replacements. Each replacement copies the data of an object into a new key of the data.
func doubling(selector string) string {
	text := "resources: [a.yaml]\nreplacements:\n"
	for i := range 60 {
		text += fmt.Sprintf("- {source: {kind: ConfigMap, name: a, %s fieldPath: data}, targets: [{select: {kind: ConfigMap, name: a}, fieldPaths: [data.x%d], options: {create: true}}]}\n", selector, i)
	}
	return text
}

func TestTrial(t *testing.T) {
	kilobytes := func(n int) string { return strings.Repeat("x", n<<10) }
	// The limits of time and of memory are reached in either order.
	const grows = "build: The repository takes more than "
	for name, each := range map[string]struct {
		files map[string]string
		path  string
		want  string
	}{
		"resources": {map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": object}, "", "accepted"},
		"resources that are missing, for Flux to report": {map[string]string{"kustomization.yaml": "resources: [b.yaml]"}, "", "accepted"},
		"a patch that is missing, for Flux to report":    {map[string]string{"kustomization.yaml": "patches: [{path: b.yaml}]"}, "", "accepted"},
		"no kustomization file":                          {map[string]string{"a.yaml": object, "b/a.yaml": strings.Replace(object, "name: a", "name: b", 1), "c.md": "# c"}, "", "accepted"},
		"a folder that is missing, for Flux to report":   {map[string]string{"a.yaml": object}, "./infra", "accepted"},
		"a link, which Flux omits":                       {map[string]string{"a.yaml": object, "b.yaml": "-> a.yaml"}, "", "accepted"},
		"an overlay": {
			map[string]string{
				"base/kustomization.yaml": "resources: [a.yaml]", "base/a.yaml": object,
				"prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\npatches: [{path: p.yaml}]\nconfigMapGenerator: [{name: c, files: [x=p.yaml]}]\n", "prod/p.yaml": object,
			},
			"./prod", "accepted",
		},
		"replacements that double an object": {map[string]string{"kustomization.yaml": doubling(""), "a.yaml": object}, "", grows},
		"replacements in the namespace that Flux sets": {
			map[string]string{"kustomization.yaml": doubling("namespace: team-web,"), "a.yaml": object}, "", grows,
		},
		"replacements beside fields that Flux ignores": {
			map[string]string{"kustomization.yaml": "unknown: true\n" + doubling(""), "a.yaml": object}, "", grows,
		},
		"replacements in the file that remains of two": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]", "kustomization.yml": doubling(""), ".sourceignore": "/kustomization.yaml", "a.yaml": object}, "", grows,
		},
		"replacements in a component": {
			map[string]string{
				"c/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n" + strings.Replace(doubling(""), "resources: [a.yaml]\n", "", 1),
				"kustomization.yaml":   "resources: [a.yaml]\ncomponents: [c]", "a.yaml": object,
			},
			"", grows,
		},
		"replacements in the folder of another sync": {map[string]string{"infra/kustomization.yaml": doubling(""), "infra/a.yaml": object}, "./infra", grows},
		"variables that grow a string": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\nvars: [{name: A, objref: {kind: ConfigMap, name: a, apiVersion: v1}, fieldref: {fieldpath: data.a}}]\nconfigurations: [c]",
				"c":                  "varReference: [{path: data/b, kind: ConfigMap}]",
				"a.yaml":             strings.Replace(object, "{a: b}", fmt.Sprintf("{a: %s, b: %s}", kilobytes(200), strings.Repeat("$(A)", 50_000)), 1),
			},
			"", grows,
		},
		"a large annotation of many objects": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]\ncommonAnnotations: {a: " + kilobytes(45) + "}", "a.yaml": objects(400)}, "", "build: ",
		},
		"a large patch of many objects": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches: [{target: {kind: ConfigMap}, path: p}]", "a.yaml": objects(400),
				"p": "- {op: add, path: /data, value: {a: [" + strings.Repeat("{a: 0},", 40_000) + "]}}",
			},
			"", grows,
		},
		"a string that many aliases repeat": {
			map[string]string{"a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: &a '" + kilobytes(400) + "', " + strings.Repeat("k: *a, ", 40_000) + "}}"}, "", "build: The repository takes more than ",
		},
		"a string that many aliases repeat, in the kustomization file": {
			map[string]string{"kustomization.yaml": "resources: []\nx: [&a '" + kilobytes(400) + "', " + strings.Repeat("*a, ", 50_000) + "]"}, "", "check: ",
		},
		"a document behind a directive": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": object + "\n%YAML 9.9\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: &a [*a]}\n"}, "",
			"build: The repository nests its values too deep to build",
		},
		"objects behind a directive": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": object + "\n%YAML 9.9\n---\n" + objects(600)}, "",
			"build: Folder ./ builds 601 objects, more than the limit of 500",
		},
		"a list whose kind is an alias": {
			map[string]string{"a.yaml": "{metadata: {labels: {a: &k List}}, apiVersion: v1, kind: *k, items: " + items(600) + "}"}, "", "check: The repository makes a build load more than 500 objects",
		},
		"a list by a merge key": {
			map[string]string{"a.yaml": "{apiVersion: v1, kind: List, <<: {items: " + items(600) + "}}"}, "", "build: Folder ./ builds 600 objects",
		},
		"a folder whose kustomization file the artifact omits": {
			map[string]string{"kustomization.yaml": "resources: []", ".sourceignore": "kustomization.yaml", "a.yaml": objects(300), "b/b.yaml": strings.ReplaceAll(objects(300), "name: o", "name: p")}, "",
			"build: Folder ./ builds 600 objects",
		},
		"many keys": {
			map[string]string{"a.yaml": keys(90_000)}, "", "build: The repository takes more than 5s of processor time to build",
		},
		"plugins that many aliases repeat": {
			map[string]string{"kustomization.yaml": "generators: [&a \"" + strings.ReplaceAll("{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: x}, literals: ["+strings.Repeat("a=b,", 500)+"]}", `"`, `\"`) + "\", " + strings.Repeat("*a, ", 100_000) + "]"}, "",
			"check: ",
		},
		"an address by a key that is an alias": {
			map[string]string{"kustomization.yaml": "transformers: [t]", "t": "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a, annotations: {a: &f files}}, *f : ['x=http://host/x']}"}, "",
			`check: t: ConfigMapGenerator.files is the address "http://host/x"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && strings.HasPrefix(each.want, "build: The repository") {
				t.Skip("the build takes seconds, and more memory under the race detector than its limit")
			}
			t.Parallel()
			if got := try(t, each.files, each.path, testLimits()); !strings.HasPrefix(got, each.want) {
				t.Errorf("the result is %.300s, want %s", got, each.want)
			}
		})
	}
}

func TestABuildNamesTheManifestsThatItDoesNotRead(t *testing.T) {
	other := strings.Replace(object, "name: a", "name: b", 1)
	many := map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": object}
	for i := range trial.MostUnlisted + 100 {
		many[fmt.Sprintf("m%d.yaml", i)] = object
	}
	judge, err := trial.Start(t.Context(), t.TempDir(), testLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	for name, each := range map[string]struct {
		files   map[string]string
		path    string
		want    []string
		failure string
	}{
		"every file is listed":                                        {map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": object}, "", nil, ""},
		"a file is not listed":                                        {map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": object, "b.yaml": other}, "", []string{"b.yaml"}, ""},
		"a file with ordinary lines":                                  {map[string]string{"kustomization.yaml": "resources: []", "b.yml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"}, "", []string{"b.yml"}, ""},
		"Flux lists every file itself":                                {map[string]string{"a.yaml": object, "deep/b.yaml": other}, "", nil, ""},
		"a folder that is not listed":                                 {map[string]string{"kustomization.yaml": "resources: [a]", "a/kustomization.yaml": "resources: [a.yaml]", "a/a.yaml": object, "b/b.yaml": other}, "", []string{"b/b.yaml"}, ""},
		"a file outside of the folder":                                {map[string]string{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": object, "b.yaml": other}, "./app", []string{"b.yaml"}, ""},
		"a file of a generator":                                       {map[string]string{"kustomization.yaml": "configMapGenerator: [{name: x, files: [b.yaml]}]", "b.yaml": other}, "", nil, ""},
		"a file that contains no object":                              {map[string]string{"kustomization.yaml": "resources: []", "values.yaml": "image: x\nkind: y\n"}, "", nil, ""},
		"a file that Flux ignores":                                    {map[string]string{"kustomization.yaml": "resources: []", ".sourceignore": "/b.yaml", "b.yaml": other}, "", nil, ""},
		"the files of strata check":                                   {map[string]string{"kustomization.yaml": "resources: []", ".strata-team/teams.json": `{"apiVersion":"strata/v1","kind":"Teams"}`, ".strata-team/schema.json": other}, "", nil, ""},
		"the files of strata check, and Flux lists every file itself": {map[string]string{"a.yaml": object, ".strata-team/teams.json": `{"apiVersion":"strata/v1","kind":"Teams"}`, ".strata-team/schema.json": object}, "", nil, ""},
		"a build that fails":                                          {map[string]string{"kustomization.yaml": "resources: [c.yaml]", "b.yaml": other}, "", nil, "c.yaml"},
		"a document that is not YAML":                                 {map[string]string{"a.yaml": "a: b\n---\nc: d\n---\ne: f\nx: [\n"}, "", nil, "a.yaml"},
		"a second document that is broken":                            {map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": object + "\n---\n" + "e: f\nx: [\n"}, "", nil, "a.yaml is not valid YAML: did not find expected node content (line 4)"},
		"a name with an escape sequence":                              {map[string]string{"kustomization.yaml": "resources: []", "\x1b[2J.yaml": other}, "", []string{"\x1b[2J.yaml"}, ""},
		"more files than the result names":                            {many, "", nil, ""},
	} {
		problems, built, err := judge.Build(repository(each.files), []trial.Sync{{"path": each.path}})
		if err != nil || len(problems) > 0 || len(built) != 1 {
			t.Fatalf("%s: %v, %v, %v", name, problems, built, err)
		}
		got := built[0]
		if len(each.files) > trial.MostUnlisted {
			if len(got.Unlisted) != trial.MostUnlisted {
				t.Errorf("%s: %d files are named", name, len(got.Unlisted))
			}
			continue
		}
		if strings.Contains(got.Failure, "artifact-") || strings.Contains(got.Failure, os.TempDir()) {
			t.Errorf("%s: the failure names a folder of the trial: %s", name, got.Failure)
		}
		if !slices.Equal(got.Unlisted, each.want) || !strings.Contains(got.Failure, each.failure) || (got.Failure == "") != (each.failure == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestATrialChecksManyCommits(t *testing.T) {
	judge, err := trial.Start(t.Context(), t.TempDir(), testLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	for i := range 50 {
		name := fmt.Sprintf("\xff%d.yaml", i) // Git takes names that are not UTF-8.
		tree := repository(map[string]string{"kustomization.yaml": "resources: [http://host/x]", name: object})
		if i%2 == 0 {
			tree = repository(map[string]string{"kustomization.yaml": "resources: []", name: object})
		}
		problems, err := judge.Check(tree)
		if err != nil || len(problems) != i%2 {
			t.Fatalf("commit %d: %v, %v", i, problems, err)
		}
	}
}

func TestATrialEndsAtItsLimitOfProcessorTime(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes more memory than the limit")
	}
	limits := testLimits()
	limits.Processor = time.Second
	files := map[string]string{"a.yaml": keys(90_000)}
	if got, want := try(t, files, "./", limits), "build: The repository takes more than 1s of processor time to build"; got != want {
		t.Errorf("the result is %s, want %s", got, want)
	}
}

package trial_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lint/trial"
)

func TestABuildSubstitutesTheVariablesOfItsSync(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '${region}', b: '${none:=default}', c: '${other}'}\n"
	judge, err := trial.Start(t.Context(), t.TempDir(), testLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	for name, tc := range map[string]struct {
		sync    trial.Sync
		file    string
		want    string
		failure string
	}{
		"a sync without variables changes nothing": {trial.Sync{"targetNamespace": "n"}, manifest, `"a":"${region}"`, ""},
		"a variable of the sync has its value":     {substitute(map[string]any{"region": "eu"}), manifest, `{"a":"eu","b":"default"`, ""},
		"an object can opt out": {
			substitute(map[string]any{"region": "eu"}), strings.Replace(manifest, "{name: a}", "{name: a, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}", 1), `"a":"${region}"`, "",
		},
		"a variable with a wrong name fails the build": {substitute(map[string]any{"1": "x"}), manifest, "", "ConfigMap a: envsubst error: '1' var name is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			problems, built, err := judge.Manifests(repository(map[string]string{"a.yaml": tc.file}), tc.sync)
			if err != nil || len(problems) > 0 || !strings.Contains(built.Failure, tc.failure) || (built.Failure == "") != (tc.failure == "") {
				t.Fatalf("%v, %v, failure %q", problems, err, built.Failure)
			}
			if tc.failure == "" && (len(built.Objects) != 1 || !strings.Contains(string(built.Objects[0].JSON), tc.want)) {
				t.Errorf("built %s", built.Objects)
			}
		})
	}
}

// TestVariablesDoNotGrowABuildBeyondItsLimit has a value of 100 KB that a file of 3 KB repeats 500 times.
func TestVariablesDoNotGrowABuildBeyondItsLimit(t *testing.T) {
	judge, err := trial.Start(t.Context(), t.TempDir(), testLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	file := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '" + strings.Repeat("${v}", 500) + "'}\n"
	problems, built, err := judge.Manifests(repository(map[string]string{"a.yaml": file}), substitute(map[string]any{"v": strings.Repeat("x", 100<<10)}))
	if err != nil || len(problems) != 1 || len(built.Objects) > 0 {
		t.Errorf("%v, %v, %d objects", problems, err, len(built.Objects))
	}
}

func substitute(variables map[string]any) trial.Sync {
	return trial.Sync{"postBuild": map[string]any{"substitute": variables}}
}

package v1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

func TestManifestsSurviveTheTypes(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		object any
	}{
		"Stack":   {"stack.yaml", &v1.Stack{}},
		"Program": {"program.yaml", &v1.Program{}},
	} {
		t.Run(name, func(t *testing.T) {
			manifest, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(manifest, c.object); err != nil {
				t.Fatal(err)
			}
			encoded, err := json.Marshal(c.object)
			if err != nil {
				t.Fatal(err)
			}
			original, err := yaml.YAMLToJSON(manifest)
			if err != nil {
				t.Fatal(err)
			}
			got, want := decode(t, encoded), decode(t, original)
			delete(got, "status")
			if !reflect.DeepEqual(got, want) {
				t.Errorf("after a round trip:\n%s\nwant:\n%s", encoded, original)
			}
		})
	}
}

func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

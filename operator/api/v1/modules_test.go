package v1_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// modules are the modules that a program needs for the types: Kubernetes' own types and their encoding. A client of the API
// compiles no code of other modules.
var modules = []string{
	"github.com/fxamacker/cbor/v2", "github.com/go-logr/logr", "github.com/json-iterator/go", "github.com/modern-go/concurrent",
	"github.com/modern-go/reflect2", "github.com/strata-platform/strata", "github.com/x448/float16", "go.yaml.in/yaml/v2",
	"golang.org/x/net", "golang.org/x/text", "gopkg.in/inf.v0", "k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery",
	"k8s.io/klog/v2", "k8s.io/kube-openapi", "k8s.io/utils", "sigs.k8s.io/json", "sigs.k8s.io/randfill",
	"sigs.k8s.io/structured-merge-diff/v6",
}

func TestTheTypesNeedOnlyTheModulesOfKubernetesTypes(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	found := strings.Fields(string(output))
	slices.Sort(found)
	if found = slices.Compact(found); !slices.Equal(found, modules) {
		t.Errorf("the types need the modules\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(modules, "\n"))
	}
}

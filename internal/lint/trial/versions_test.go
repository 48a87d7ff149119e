package trial_test

import (
	"os"
	"regexp"
	"testing"
)

// TestTrialsUseTheLibrariesOfTheControllers compares the versions that a trial is built from with those of Flux's
// controllers: another version may build other objects.
func TestTrialsUseTheLibrariesOfTheControllers(t *testing.T) {
	for _, module := range []string{
		"github.com/fluxcd/pkg/kustomize", "github.com/fluxcd/pkg/sourceignore", "sigs.k8s.io/kustomize/api", "sigs.k8s.io/kustomize/kyaml",
	} {
		ours, theirs := required(t, "../../../go.mod", module), required(t, "../../../tools/flux/go.mod", module)
		if ours != theirs {
			t.Errorf("%s is %s here and %s in Flux's controllers", module, ours, theirs)
		}
	}
}

func required(t *testing.T, file, module string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` (v\S+)`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s does not require %s", file, module)
	}
	return string(found[1])
}

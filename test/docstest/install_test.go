package docstest_test

import (
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/strata-platform/strata/test/docstest"
)

// TestTheModuleCanBeInstalledByItsVersion checks that go.mod has no directive that `go install PATH@VERSION` refuses.
func TestTheModuleCanBeInstalledByItsVersion(t *testing.T) {
	file, err := modfile.Parse("go.mod", []byte(docstest.Read(t, "go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Replace {
		t.Errorf("go.mod replaces %s: require a version, or change the code", r.Old)
	}
	for _, e := range file.Exclude {
		t.Errorf("go.mod excludes %s: require a later version", e.Mod)
	}
}

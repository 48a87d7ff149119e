package source_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/strata-platform/strata/internal/check/source"
)

// TestAFileThatNoBuildTakesIsNotParsed looks up a field in a file of 2 MB. A parser would need gigabytes for one of 200 MB.
func TestAFileThatNoBuildTakesIsNotParsed(t *testing.T) {
	files := source.Read(fstest.MapFS{"app.yaml": {Data: []byte(strings.Repeat("# a\n", 1<<19) + "kind: ConfigMap\n")}}, []string{"app.yaml"})
	if place := files.Field("app.yaml", "kind"); place != (source.Place{File: "app.yaml", Line: 1, Column: 1}) {
		t.Errorf("the field is at %+v", place)
	}
}

package cataloguecmd

import (
	"slices"
	"testing"

	"github.com/strata-platform/strata/internal/breaking"
)

func TestLintRefusesAChangeThatBreaksAnOrderAndDescribesOthers(t *testing.T) {
	var found Linted
	found.add([]breaking.Change{
		{Entry: "database", Breaking: []string{"spec.size is no longer a field"}},
		{
			Entry: "bucket", Breaking: []string{"spec.place is no longer a field"}, More: 2,
			Broken: []breaking.Order{{Kind: "Bucket", Namespace: "team-web", Name: "files", Reasons: []string{"spec.place is no longer a field"}}},
		},
	})
	problems := []string{"catalogue entry bucket: breaks Bucket team-web/files: spec.place is no longer a field", "catalogue entry bucket: breaks 2 more orders"}
	changes := []string{"catalogue entry database: breaking change: spec.size is no longer a field", "catalogue entry bucket: breaking change: spec.place is no longer a field"}
	if !slices.Equal(found.Problems, problems) || !slices.Equal(found.Breaking, changes) {
		t.Errorf("found %+v", found)
	}
}

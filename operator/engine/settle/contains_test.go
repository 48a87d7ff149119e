package settle

import (
	"strings"
	"testing"
)

func TestStateWithMillionsOfResourcesIsReadInPart(t *testing.T) {
	last := `{"type": "a", "id": "b"}`
	for count, want := range map[int]bool{maxContained - 1: true, maxContained: false} {
		state := `{"version": 3, "checkpoint": {"stack": "x", "latest": {"resources": [` + strings.Repeat("{},", count) + last + `]}}}`
		if got := Contains(t.Context(), []byte(state), "a", "b", ""); got != want {
			t.Errorf("behind %d resources: %t, want %t", count, got, want)
		}
	}
}

func TestAnObjectIsFoundByTheInputsOfItsResource(t *testing.T) {
	const file = `{"checkpoint": {"latest": {"resources": [
		{"urn": "p", "type": "pulumi:providers:gcp", "id": "1", "inputs": {"project": "of-provider"}},
		{"type": "gcp:sql/database:Database", "id": "other", "provider": "p::1", "inputs": {"instance": "i", "name": "d"}}]}}}`
	for id, want := range map[string]bool{
		"other": true,
		"projects/of-provider/instances/i/databases/d":    true,
		"projects/of-environment/instances/i/databases/d": false,
	} {
		if got := Contains(t.Context(), []byte(file), "gcp:sql/database:Database", id, "of-environment"); got != want {
			t.Errorf("%s: %t, want %t", id, got, want)
		}
	}
}

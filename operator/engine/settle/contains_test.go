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

func TestResourcesAreListedUpToTheFirstFault(t *testing.T) {
	const resource = `{"type": "gcp:sql/database:Database", "inputs": {"name": "b"}}`
	list := func(resources string) string { return `{"checkpoint": {"latest": {"resources": [` + resources + `]}}}` }
	for name, c := range map[string]struct {
		file, fault string
		count       int
	}{
		"all":                          {list(resource + "," + resource), "", 2},
		"none of a stack that is new":  {`{"version": 3, "checkpoint": {"stack": "x"}}`, "", 0},
		"none of a stack that is gone": {`{"checkpoint": {"latest": {"resources": null}}}`, "", 0},
		"a part of a file that is cut": {strings.TrimSuffix(list(resource), "]}}}"), "EOF", 1},
		"none of an empty file":        {"", "EOF", 0},
		"none of a list":               {"[]", "in place of the object with the field checkpoint", 0},
		"none of a text":               {`{"checkpoint": {"latest": {"resources": "x"}}}`, "not a list", 0},
		"a part of millions":           {list(strings.Repeat(resource+",", maxContained) + resource), "more than 20000 resources", maxContained},
		"none of an endless nesting":   {list(strings.Repeat("[", 1<<20)), "exceeded max depth", 0},
	} {
		t.Run(name, func(t *testing.T) {
			count := 0
			err := EachNamed(t.Context(), []byte(c.file), func(typ, name, _ string) bool {
				if typ != "gcp:sql/database:Database" || name != "b" {
					t.Fatalf("listed %s %s", typ, name)
				}
				count++
				return true
			})
			if count != c.count {
				t.Errorf("listed %d resources, want %d", count, c.count)
			}
			if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("error %v, want %q", err, c.fault)
			}
		})
	}
}

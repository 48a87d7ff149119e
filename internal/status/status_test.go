package status

import "testing"

func TestRootCause(t *testing.T) {
	ok := func(layer, kind, name string) Item { return Item{Layer: layer, Kind: kind, Name: name, Ready: true} }
	bad := func(layer, kind, name, reason string) Item {
		return Item{Layer: layer, Kind: kind, Name: name, Reason: reason}
	}
	for name, tc := range map[string]struct {
		items []Item
		cause string
	}{
		"none where all is ready":       {[]Item{ok("platform", "Kustomization", "a")}, ""},
		"the lowest layer explains":     {[]Item{bad("platform", "GitRepository", "a", "GitOperationFailed"), bad("team", "Stack", "b", "UpdateFailed")}, "a"},
		"a follower explains nothing":   {[]Item{bad("platform", "Kustomization", "a", "HealthCheckFailed"), bad("sync", "Kustomization", "b", "BuildFailed")}, "b"},
		"only followers: the first one": {[]Item{ok("platform", "Pod", "z"), bad("platform", "Kustomization", "a", "Progressing"), bad("sync", "Deployment", "b", "InProgress")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			report := NewReport(tc.items)
			cause, found := report.RootCause()
			if found != (tc.cause != "") || cause.Name != tc.cause {
				t.Errorf("root cause is %q, want %q", cause.Name, tc.cause)
			}
			if report.Ready != (tc.cause == "") {
				t.Errorf("ready is %v", report.Ready)
			}
		})
	}
}

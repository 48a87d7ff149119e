package engine

import (
	"slices"
	"strings"
	"testing"
)

func TestOptionsReachTheirOperations(t *testing.T) {
	all := Options{Parallel: 2, Message: "-x", ExpectNoChanges: true, Replace: []string{"urn:a"}, ContinueOnError: true, Remove: true}
	for operation, want := range map[Operation]string{
		Up:      "--parallel 2 --message -x --expect-no-changes --replace urn:a --continue-on-error",
		Preview: "--parallel 2 --message -x --expect-no-changes --replace urn:a",
		Refresh: "--parallel 2 --message -x --expect-no-changes",
		Destroy: "--parallel 2 --message -x --continue-on-error --remove",
	} {
		if got := strings.Join(all.arguments(operation), " "); got != want {
			t.Errorf("%s has %s, want %s", operation, got, want)
		}
		if none := (Options{}).arguments(operation); !slices.Equal(none, nil) {
			t.Errorf("%s has %v without options", operation, none)
		}
	}
}

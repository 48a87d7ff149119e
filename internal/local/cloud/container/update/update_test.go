package update

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	container "google.golang.org/api/container/v1beta1"
)

// TestEveryFieldOfAnUpdateIsKnown compares the fields of an update with Google's type: the emulator must apply each
// field or reject it by name.
func TestEveryFieldOfAnUpdateIsKnown(t *testing.T) {
	refused := strings.Fields("additionalPodRangesConfig desiredAdditionalIpRangesConfig desiredEmulatedVersion desiredImage desiredImageProject " +
		"desiredMaster desiredPrivilegedAdmissionConfig removedAdditionalPodRangesConfig")
	special := strings.Fields("desiredImageType desiredMasterVersion desiredNodePoolAutoscaling desiredNodePoolId desiredNodeVersion etag")
	paths := paths()
	update := reflect.TypeFor[container.ClusterUpdate]()
	for field := range update.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		known := 0
		for _, is := range []bool{paths[name] != "", slices.Contains(refused, name), slices.Contains(special, name)} {
			if is {
				known++
			}
		}
		if known != 1 {
			t.Errorf("%s is applied to %q, refused: %t, special: %t", name, paths[name], slices.Contains(refused, name), slices.Contains(special, name))
		}
		if paths[name] != "" && !hasPath(reflect.TypeFor[container.Cluster](), paths[name]) {
			t.Errorf("%s is applied to %s, which a cluster does not have", name, paths[name])
		}
	}
}

// hasPath reports whether a type has the field at a JSON path.
func hasPath(of reflect.Type, path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		found := false
		for field := range of.Fields() {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
				of, found = field.Type, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

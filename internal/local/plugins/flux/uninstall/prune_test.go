package uninstall

import (
	"slices"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLeavesAreSyncsWithoutDependents(t *testing.T) {
	sync := func(name string, needs ...string) syncObject {
		return syncObject{kind: "Kustomization", object: &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}, needs: needs}
	}
	for name, test := range map[string]struct {
		syncs []syncObject
		want  []string
	}{
		"the sync that no other needs":   {[]syncObject{sync("a"), sync("b", "ns/a"), sync("c", "ns/b")}, []string{"ns/c"}},
		"all without dependencies":       {[]syncObject{sync("a"), sync("b")}, []string{"ns/a", "ns/b"}},
		"all in a circle":                {[]syncObject{sync("a", "ns/b"), sync("b", "ns/a")}, []string{"ns/a", "ns/b"}},
		"not those of another namespace": {[]syncObject{sync("a"), sync("b", "other/a")}, []string{"ns/a", "ns/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range leaves(test.syncs) {
				got = append(got, s.key())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("leaves are %q, want %q", got, test.want)
			}
		})
	}
}

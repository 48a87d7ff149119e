package hardening

import (
	"maps"
	"slices"
	"strings"
	"testing"

	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

func TestKustomization(t *testing.T) {
	var k kustypes.Kustomization
	if err := yaml.UnmarshalStrict([]byte(Kustomization("flux-system", 7)), &k); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(k.Resources, []string{"gotk-components.yaml", "gotk-sync.yaml"}) {
		t.Errorf("resources are %q", k.Resources)
	}
	arguments := map[string][]string{}
	for _, p := range k.Patches {
		for _, controller := range []string{"source-controller", "kustomize-controller", "helm-controller", "notification-controller", "flux-system"} {
			if match, _ := (kustypes.NewSelectorRegex(p.Target)); match.MatchName(controller) {
				_, value, _ := strings.Cut(p.Patch, "value: ")
				arguments[controller] = append(arguments[controller], strings.TrimSpace(value))
			}
		}
	}
	want := map[string][]string{
		"kustomize-controller":    {"--no-cross-namespace-refs=true", "--no-remote-bases=true", "--requeue-dependency=1s", "--feature-gates=CancelHealthCheckOnNewRevision=true", "--custom-apply-stage-kinds=admissionregistration.k8s.io/ValidatingAdmissionPolicy", "--default-service-account=default", "--concurrent=7"},
		"helm-controller":         {"--no-cross-namespace-refs=true", "--requeue-dependency=1s", "--default-service-account=default", "--concurrent=7"},
		"source-controller":       {"--concurrent=7"},
		"notification-controller": {"--no-cross-namespace-refs=true"},
		"flux-system":             {"kustomize-controller"},
	}
	if !maps.EqualFunc(arguments, want, slices.Equal) {
		t.Errorf("arguments are %q, want %q", arguments, want)
	}
}

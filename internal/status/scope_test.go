package status

import "testing"

func TestWhatTheFirstSyncBringsStandsUnderTheSync(t *testing.T) {
	for k, want := range map[key]string{
		{"GitRepository", "platform", "platform"}:        LayerPlatform,
		{"Kustomization", "platform", "platform"}:        LayerPlatform,
		{"GitRepository", "platform", "pulumi-operator"}: LayerSync,
		{"Kustomization", "platform", "operator-crds"}:   LayerSync,
		{"ServiceAccount", "platform", "platform"}:       LayerPlatform,
	} {
		if got := (Scope{}).layer(k); got != want {
			t.Errorf("%s %s/%s stands under %q, want %q", k.kind, k.namespace, k.name, got, want)
		}
	}
}

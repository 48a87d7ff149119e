package graph

import (
	"testing"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

func TestTheFirstSyncBelongsToLayer2AndItsSyncsToLayer3(t *testing.T) {
	for k, want := range map[snapshot.Key]string{
		snapshot.NewKey("GitRepository", "platform", "platform"):        status.LayerPlatform,
		snapshot.NewKey("Kustomization", "platform", "platform"):        status.LayerPlatform,
		snapshot.NewKey("GitRepository", "platform", "pulumi-operator"): status.LayerSync,
		snapshot.NewKey("Kustomization", "platform", "operator-crds"):   status.LayerSync,
		snapshot.NewKey("ServiceAccount", "platform", "platform"):       status.LayerPlatform,
	} {
		if got := (Scope{}).layer(k); got != want {
			t.Errorf("%s %s/%s belongs to %q, want %q", k.Kind, k.Namespace, k.Name, got, want)
		}
	}
}

func TestMessagesContainThePlatformsCommands(t *testing.T) {
	here := Scope{
		Call:    func(words string) string { return "STRATA_HOME='/second' bin/strata " + words + " --env prod" },
		Kubectl: "kubectl --kubeconfig /file",
	}
	if got, want := here.Command("logs", "etcd"), "`STRATA_HOME='/second' bin/strata logs etcd --env prod`"; got != want {
		t.Errorf("the call is %s, want %s", got, want)
	}
	if got, want := here.KubectlCommand("get pod %s", "x"), "`kubectl --kubeconfig /file get pod x`"; got != want {
		t.Errorf("the call is %s, want %s", got, want)
	}
	var elsewhere Scope
	if got, want := elsewhere.Command("up")+elsewhere.KubectlCommand("get pods"), "`strata up``kubectl get pods`"; got != want {
		t.Errorf("the calls are %s, want %s", got, want)
	}
}

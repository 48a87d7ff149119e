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
	call := func(words string) string { return "STRATA_HOME='/second' bin/strata " + words }
	here := Scope{Call: call, Flags: "--env prod"}
	if got, want := here.Command("up"), "`STRATA_HOME='/second' bin/strata up --env prod`"; got != want {
		t.Errorf("the call is %s, want %s", got, want)
	}
	if got, want := here.KubectlCommand("get pod %s", "x"), "`kubectl --kubeconfig \"$(STRATA_HOME='/second' bin/strata kubeconfig)\" get pod x`"; got != want {
		t.Errorf("the call is %s, want %s", got, want)
	}
	elsewhere := Scope{Kubectl: "kubectl --kubeconfig /file"}
	if got, want := elsewhere.KubectlCommand("get pods"), "`kubectl --kubeconfig /file get pods`"; got != want {
		t.Errorf("the call is %s, want %s", got, want)
	}
}

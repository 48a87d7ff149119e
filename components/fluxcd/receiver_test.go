package fluxcd

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const passwordType = "random:index/randomPassword:RandomPassword"

func TestNewReceiverListensForAPush(t *testing.T) {
	var outputs sync.Map
	var applied sync.WaitGroup
	got, err := run(t, func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error {
		r, err := NewReceiver(ctx, "web", &ReceiverArgs{
			Namespace: team, Sources: []*Source{fakeSource()}, Keepers: pulumi.StringMap{"since": pulumi.String("2026")},
		}, cluster)
		if err != nil {
			return err
		}
		home, err := corev1.NewNamespace(ctx, "home", nil)
		if err != nil {
			return err
		}
		hub, err := NewReceiver(ctx, "hub", &ReceiverArgs{
			Namespace: team, Name: pulumi.String("push"), Sources: []*Source{fakeSource(), fakeSource()}, Type: "github", Token: pulumi.String(canary),
		}, cluster, pulumi.DeletedWith(home))
		if err != nil {
			return err
		}
		for name, o := range map[string]pulumi.StringOutput{"path": hub.Path, "token": hub.Token, "random": r.Token} {
			// The end of the program waits for no callback on an output that has its value already.
			applied.Add(1)
			o.ApplyT(func(v string) string { outputs.Store(name, v); applied.Done(); return v })
			outputs.Store(name+" is secret", pulumi.IsSecret(o))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	applied.Wait()
	for _, name := range []string{"hub-token", "hub-receiver"} {
		if with := got[name].RegisterRPC.GetDeletedWith(); !strings.HasSuffix(with, "::home") {
			t.Errorf("%s is deleted with %q", name, with)
		}
	}
	for _, name := range []string{"web-receiver", "hub-receiver"} {
		if limit := got[name].RegisterRPC.GetCustomTimeouts().GetDelete(); limit != deleteTimeout {
			t.Errorf("the wait for the end of %s is %q", name, limit)
		}
	}
	assertGraph(t, got, map[string]string{
		"home":         "kubernetes:core/v1:Namespace",
		"web":          receiverType,
		"web-secret":   passwordType + " in web",
		"web-token":    secretType + " in web",
		"web-receiver": "kubernetes:notification.toolkit.fluxcd.io/v1:Receiver in web",
		"hub":          receiverType,
		"hub-token":    secretType + " in hub",
		"hub-receiver": "kubernetes:notification.toolkit.fluxcd.io/v1:Receiver in hub",
	})
	assertDependsOn(t, got["web-token"], "web-secret")
	assertDependsOn(t, got["web-receiver"], "web-token")
	assertSecretOnlyMarked(t, got)
	for _, name := range []string{"web-token", "web-receiver"} {
		assertDeletedInTheBackground(t, got[name])
	}
	if in := plain(got["web-secret"].Inputs); in["length"] != float64(tokenLength) || !reflect.DeepEqual(in["keepers"], any(map[string]any{"since": "2026"})) {
		t.Errorf("the random token is %v", in)
	}
	source := map[string]any{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "name": "web"}
	for name, want := range map[string]map[string]any{
		"web-receiver": {"type": "generic-hmac", "resources": []any{source}, "secretRef": map[string]any{"name": "web-webhook"}},
		"hub-receiver": {
			"type": "github", "resources": []any{source, source}, "secretRef": map[string]any{"name": "push-webhook"}, "events": []any{"ping", "push"},
		},
	} {
		if spec := plain(got[name].Inputs)["spec"]; !reflect.DeepEqual(spec, any(want)) {
			t.Errorf("spec of %s is\n%v, want\n%v", name, spec, want)
		}
	}
	metadata, _ := plain(got["hub-receiver"].Inputs)["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if url := "https://git.example.com/web.git"; annotations[RepositoriesAnnotation] != url+" "+url {
		t.Errorf("the repositories are %v", annotations[RepositoriesAnnotation])
	}
	receiver := notificationv1.Receiver{ObjectMeta: metav1.ObjectMeta{Namespace: string(team), Name: "push"}}
	for name, want := range map[string]any{
		"path": receiver.GetWebhookPath(canary), "token": canary, "path is secret": true, "token is secret": true, "random is secret": true,
	} {
		if value, _ := outputs.Load(name); value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
}

func TestNewReceiverRefuses(t *testing.T) {
	sources := []*Source{fakeSource()}
	for name, test := range map[string]struct {
		args ReceiverArgs
		want string
	}{
		"no source":       {ReceiverArgs{Namespace: team}, "Namespace and Sources must be given"},
		"a nil source":    {ReceiverArgs{Namespace: team, Sources: []*Source{nil}}, "a Source must not be nil"},
		"an unknown type": {ReceiverArgs{Namespace: team, Sources: sources, Type: "gcr"}, `Type "gcr" must be one of acr, bitbucket`},
		"keepers of a token that is given": {
			ReceiverArgs{Namespace: team, Sources: sources, Token: pulumi.String(canary), Keepers: pulumi.StringMap{"a": pulumi.String("1")}}, "Keepers replace a random token",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, func(ctx *pulumi.Context, _ pulumi.ResourceOption) error {
				_, err := NewReceiver(ctx, "web", &test.args)
				return err
			})
			assertRefused(t, err, "create receiver web: ", test.want)
		})
	}
}

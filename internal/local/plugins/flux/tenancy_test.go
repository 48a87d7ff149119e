package flux

import (
	"context"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
)

// testReceiverPath compares the receiver's path that the component computes with the path in notification-controller's
// status.
func testReceiverPath(t *testing.T, c *cluster, s *stack) {
	outputs, err := s.stack.Outputs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	receiver := &notificationv1.Receiver{ObjectMeta: named("team-web", "web")}
	eventually(t, "the receiver listens", func() bool { return c.exists(t, receiver) && receiver.Status.WebhookPath != "" })
	if path := outputs["webhook"]; path.Value != receiver.Status.WebhookPath || !path.Secret || !outputs["token"].Secret {
		t.Errorf("the output is not the receiver's path, or not secret: %v, %v", path.Secret, outputs["token"].Secret)
	}
}

// testTenancy attempts actions that a team's sync must not do.
func testTenancy(t *testing.T, c *cluster, g *gitServer) {
	elsewhere := strings.Replace(g.url, "://", "://"+g.username+":"+g.current()+"@", 1)
	g.push(t, "remote/kustomization.yaml", "resources: ['git::"+elsewhere+"//deploy?ref=main']\n")
	g.push(t, "role/role.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: climbed}\nrules: []\n")
	for name, test := range map[string]struct {
		change func(*kustomizev1.KustomizationSpec)
		want   string
	}{
		"a source of another namespace": {
			func(s *kustomizev1.KustomizationSpec) {
				s.SourceRef.Namespace, s.SourceRef.Name, s.ServiceAccountName = fluxNamespace, fluxNamespace, "web"
			}, "cross-namespace references have been blocked",
		},
		"a base from elsewhere": {
			func(s *kustomizev1.KustomizationSpec) { s.Path, s.ServiceAccountName = "remote", "web" }, "fs-security-constraint",
		},
		"no account": {
			func(*kustomizev1.KustomizationSpec) {}, `User "system:serviceaccount:team-web:default" cannot`,
		},
		"more than the account may": {
			func(s *kustomizev1.KustomizationSpec) { s.Path, s.ServiceAccountName = "role", "web" }, `User "system:serviceaccount:team-web:web" cannot`,
		},
		"the account of the controller": {
			func(s *kustomizev1.KustomizationSpec) { s.Path, s.ServiceAccountName = "role", "kustomize-controller" },
			`User "system:serviceaccount:team-web:kustomize-controller" cannot`,
		},
	} {
		t.Run(name+" is rejected", func(t *testing.T) {
			sync := newSync("try", "deploy")
			sync.Namespace, sync.Spec.SourceRef.Name = "team-web", "web"
			test.change(&sync.Spec)
			if err := c.Create(t.Context(), sync); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), sync) })
			last := ""
			eventually(t, "the sync fails with the expected message", func() bool {
				if !c.exists(t, sync) {
					return false
				}
				if ready := apimeta.FindStatusCondition(sync.Status.Conditions, meta.ReadyCondition); ready != nil && last != ready.Message {
					last = ready.Message
					t.Log(last)
				}
				return strings.Contains(last, test.want)
			})
			if err := c.Delete(t.Context(), sync); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the sync no longer exists", func() bool { return !c.exists(t, sync) })
		})
	}
}

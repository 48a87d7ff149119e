package controller_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
)

func TestProgramCannotUseFilesOfTheOperator(t *testing.T) {
	if err := engine.CanConfine(); err != nil {
		t.Skip(err)
	}
	c := startCluster(t)
	startOperator(t, c)
	user, err := c.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	admin := filepath.Join(t.TempDir(), "admin.kubeconfig")
	if err := os.WriteFile(admin, content, 0o600); err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a,
          contexts: [{name: a, context: {cluster: a, user: a}}],
          clusters: [{name: a, cluster: {server: %q, insecure-skip-tls-verify: true}}],
          users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/cat, args: [%q], interactiveMode: Never}}}]}`,
		c.operator.Host, admin)
	const provider = `
metadata: {name: shop}
program:
  resources:
    admin:
      type: pulumi:providers:kubernetes
      properties: {kubeconfig: %s}
    stolen:
      type: kubernetes:core/v1:Namespace
      properties: {metadata: {name: stolen}}
      options: {provider: "${admin}"}
`
	cases := map[string]struct {
		program string
		want    []string
	}{
		"by reading them": {
			program: fmt.Sprintf("metadata: {name: shop}\nprogram: {outputs: {stolen: {\"fn::readFile\": %q}}}", admin),
			want:    []string{admin, "no such file"},
		},
		"as a provider's kubeconfig":      {program: fmt.Sprintf(provider, admin), want: []string{"stolen (kubernetes:core/v1:Namespace)", "kubeconfig"}},
		"by a command that a plugin runs": {program: fmt.Sprintf(provider, "{fn::toJSON: "+command+"}"), want: []string{"/bin/cat failed"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm := newTeam(t, c)
			tm.apply(t, &v1.Program{}, tc.program)
			tm.apply(t, &v1.Stack{}, stackHead)
			got := tm.await(t, "shop-dev", "failed", func(s *v1.Stack) bool { return s.Status.LastUpdate != nil })
			message := got.Status.LastUpdate.Message
			if got.Status.LastUpdate.State != v1.FailedStackStateMessage {
				t.Errorf("the update %s", got.Status.LastUpdate.State)
			}
			for _, want := range tc.want {
				if !strings.Contains(message, want) {
					t.Errorf("message %q does not hold %q", message, want)
				}
			}
			if err := c.Get(t.Context(), client.ObjectKey{Name: "stolen"}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
				t.Errorf("the admin's rights were used: %v", err)
			}
			if strings.Contains(message, "client-key-data") {
				t.Error("the message holds the content")
			}
		})
	}
}

func TestFileBackendsOfOthersAreRefused(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	elsewhere := filepath.Join(t.TempDir(), "platform")
	other := newTeam(t, c)
	for name, path := range map[string]string{"outside of the root": elsewhere, "of another namespace": other.state} {
		for _, via := range []string{"spec.backend", "PULUMI_BACKEND_URL"} {
			t.Run(name+" by "+via, func(t *testing.T) {
				tm := newTeam(t, c)
				tm.apply(t, &v1.Program{}, "metadata: {name: shop}\nprogram: {outputs: {a: 1}}")
				spec := "backend: file://" + path
				if via != "spec.backend" {
					spec = "envRefs: {PULUMI_BACKEND_URL: {type: Literal, literal: {value: file://" + path + "}}}"
				}
				tm.apply(t, &v1.Stack{}, "metadata: {name: shop-dev}\nspec:\n  stack: dev\n  serviceAccountName: web\n  programRef: {name: shop}\n  "+spec)
				got := tm.await(t, "shop-dev", "stalled", func(s *v1.Stack) bool {
					return condition(s, v1.StalledCondition).Status == metav1.ConditionTrue
				})
				stalled := condition(got, v1.StalledCondition)
				if stalled.Reason != v1.StalledSpecInvalidReason || !strings.Contains(stalled.Message, "use file://"+tm.state) {
					t.Errorf("Stalled for %s: %s, want %s and which folder to use", stalled.Reason, stalled.Message, v1.StalledSpecInvalidReason)
				}
				checkKstatus(t, got, "Failed")
				if got.Status.LastUpdate != nil || got.Status.CurrentUpdate != nil {
					t.Error("an update was begun")
				}
				for _, folder := range []string{path, tm.state} {
					if _, err := os.Stat(folder); !os.IsNotExist(err) {
						t.Errorf("%s was made (%v)", folder, err)
					}
				}
			})
		}
	}
}

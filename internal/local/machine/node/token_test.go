package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/processes"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
	"github.com/strata-platform/strata/internal/local/machine/storage"
	"github.com/strata-platform/strata/test/long"
)

// The volumes of this test have a fake clock. Their pod is a real object that no node runs.
func TestATokenIsRenewedInTimeAndTheKubeconfigFollows(t *testing.T) {
	long.Test(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	const life = 600 // The API server's minimum.
	seconds := int64(life)
	spec := corev1.PodSpec{SchedulerName: "nobody", AutomountServiceAccountToken: new(bool), Containers: []corev1.Container{guest("report")}}
	addVolume(&spec, "account", volume.ServiceAccountPath, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
	}}})
	addVolume(&spec, "elsewhere", "/elsewhere", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds, Audience: "elsewhere"}},
	}}})
	clock := clocktesting.NewFakeClock(time.Now())
	object, podDir := c.create(t, ns, "bearer", spec), t.TempDir()
	volumes := volume.New(environment.Resolver{Client: c.Interface, Pod: func() *corev1.Pod { return object }}, podDir, storage.Folder(t.TempDir()), clock, func(err error) { t.Error(err) })
	volumes.Start(t.Context(), func() {})
	if err := volumes.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(podDir, "volumes", "account")
	token := func() string {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	kubeconfig := filepath.Join(podDir, "guest.kubeconfig")
	if err := processes.WriteKubeconfig(kubeconfig, c.config.Host, dir, ns); err != nil {
		t.Fatal(err)
	}

	first := token()
	if raw, err := os.ReadFile(filepath.Join(podDir, "volumes", "elsewhere", "token")); err != nil || string(raw) == first {
		t.Errorf("the token for elsewhere is that of the account, %v", err)
	}
	// step advances the clock and waits until the node has checked the token.
	step := func(d time.Duration) {
		t.Helper()
		waiting := func() error {
			if !clock.HasWaiters() {
				return errors.New("it does not")
			}
			return nil
		}
		nodetest.Eventually(t, "the node waits for the clock", waiting)
		clock.Step(d)
		nodetest.Eventually(t, "the node has looked and waits again", waiting)
	}
	for range 7 {
		step(time.Minute)
	}
	if token() != first {
		t.Error("the token was renewed before four fifths of its life were over")
	}
	step(time.Minute)
	step(time.Minute)
	second := token()
	if second == first {
		t.Fatal("the token was not renewed when four fifths of its life were over")
	}

	// The kubeconfig has not changed, and works with the second token.
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("system:serviceaccount:%s:default", ns); review.Status.UserInfo.Username != want {
		t.Errorf("the kubeconfig is that of %s, want %s", review.Status.UserInfo.Username, want)
	}
	source, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if config.BearerTokenFile != filepath.Join(dir, "token") || config.BearerToken != second {
		t.Errorf("the kubeconfig does not lead to the second token: %s", source)
	}
	if pod := review.Status.UserInfo.Extra["authentication.kubernetes.io/pod-name"]; len(pod) != 1 || pod[0] != "bearer" {
		t.Errorf("the token is bound to %v", pod)
	}
}

package follow

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/strata-platform/strata/internal/local/machine/network"
)

// deadline bounds every wait.
const deadline = time.Minute

func TestRunReportsEveryKindAndEveryChange(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "x"}
	client := fake.NewClientset(&corev1.Service{ObjectMeta: meta}, &discoveryv1.EndpointSlice{ObjectMeta: meta},
		&corev1.Pod{ObjectMeta: meta}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, &networkingv1.NetworkPolicy{ObjectMeta: meta})
	ctx, cancel := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactory(client, 0)
	states, ended := make(chan network.State, 100), make(chan error, 1)
	synced := false
	go func() { ended <- Run(ctx, factory, func(s network.State) { states <- s }, func() { synced = true }) }()
	await := func(want [5]int) {
		t.Helper()
		timeout := time.After(deadline)
		var got [5]int
		for got != want {
			select {
			case s := <-states:
				got = [5]int{len(s.Services), len(s.EndpointSlices), len(s.Pods), len(s.Namespaces), len(s.Policies)}
			case <-timeout:
				t.Fatalf("the last state has %v objects; want %v", got, want)
			}
		}
	}
	await([5]int{1, 1, 1, 1, 1})
	other := meta
	other.Name = "y"
	if _, err := client.NetworkingV1().NetworkPolicies("shop").Create(ctx, &networkingv1.NetworkPolicy{ObjectMeta: other}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await([5]int{1, 1, 1, 1, 2})
	if err := client.CoreV1().Services("shop").Delete(ctx, "x", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await([5]int{0, 1, 1, 1, 2})
	cancel()
	if err := <-ended; err != nil || !synced {
		t.Errorf("Run returned %v; synced is %t", err, synced)
	}
	factory.Shutdown()
}

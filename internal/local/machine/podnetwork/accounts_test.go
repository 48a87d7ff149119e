package podnetwork

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
)

// lookups returns the function under test with informers that know the pods of a cluster, and with informers that know nothing
// yet. The client records its calls from then on.
func lookups(t *testing.T) (known, behind google.Accounts, client *fake.Clientset) {
	t.Helper()
	object := func(namespace, name string, annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid of " + namespace + "/" + name), Annotations: annotations}
	}
	account := func(namespace, name, email string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: object(namespace, name, map[string]string{"iam.gke.io/gcp-service-account": email})}
	}
	pod := func(namespace, name, account string) *corev1.Pod {
		return &corev1.Pod{
			// The annotation counts on the account only: anybody who may create pods chooses theirs.
			ObjectMeta: object(namespace, name, map[string]string{"iam.gke.io/gcp-service-account": "owner@google"}),
			Spec:       corev1.PodSpec{ServiceAccountName: account},
		}
	}
	client = fake.NewClientset(
		account("team-web", "web", "web@google"), account("team-shop", "web", "shop@google"),
		&corev1.ServiceAccount{ObjectMeta: object("team-web", "default", nil)},
		pod("team-web", "app", "web"), pod("team-shop", "app", "web"), pod("team-web", "plain", "default"), pod("team-web", "orphan", "gone"),
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	known, behind = accounts(client, factory), accounts(client, informers.NewSharedInformerFactory(client, 0))
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	client.ClearActions()
	return known, behind, client
}

func TestAPodHasTheAccountOfItsOwnObject(t *testing.T) {
	known, behind, _ := lookups(t)
	for name, c := range map[string]struct {
		pod           network.Pod
		account, mail string
		fails         bool
	}{
		"its account":                       {network.Pod{Namespace: "team-web", Name: "app", UID: "uid of team-web/app"}, "web", "web@google", false},
		"that of its namespace":             {network.Pod{Namespace: "team-shop", Name: "app", UID: "uid of team-shop/app"}, "web", "shop@google", false},
		"no Google account":                 {network.Pod{Namespace: "team-web", Name: "plain", UID: "uid of team-web/plain"}, "default", "", false},
		"an account that does not exist":    {network.Pod{Namespace: "team-web", Name: "orphan", UID: "uid of team-web/orphan"}, "", "", true},
		"a deleted pod":                     {network.Pod{Namespace: "team-web", Name: "gone", UID: "uid"}, "", "", true},
		"a deleted pod whose name is taken": {network.Pod{Namespace: "team-web", Name: "app", UID: "uid of the former pod"}, "", "", true},
		"another namespace's pod by UID":    {network.Pod{Namespace: "team-web", Name: "app", UID: "uid of team-shop/app"}, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			for informer, find := range map[string]google.Accounts{"knows the pods": known, "knows no pods yet": behind} {
				account, mail, err := find(t.Context(), c.pod)
				if account != c.account || mail != c.mail || (err != nil) != c.fails {
					t.Errorf("the informer %s: the account is %q with %q, %v", informer, account, mail, err)
				}
			}
		})
	}
}

func TestALookupDoesNotLoadTheAPIServer(t *testing.T) {
	known, _, client := lookups(t)
	for range 100 {
		if _, _, err := known(t.Context(), network.Pod{Namespace: "team-web", Name: "app", UID: "uid of team-web/app"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range client.Actions() {
		if call.GetVerb() == "get" {
			t.Fatalf("a lookup of a known pod reads %s", call.GetResource())
		}
	}
}

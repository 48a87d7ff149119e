package hop_test

import (
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/internal/local/clustertest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

func TestTheExampleKeepsFieldsOfOthersAndLeavesNoObjects(t *testing.T) {
	long.Test(t)
	cluster := clustertest.Start(t)
	r, before := cluster.Runner(t), cluster.Objects(t)
	first := cloudtest.Program(oneTeam("web", nil))
	cloudtest.Up(t, r, first)
	cloudtest.Unchanged(t, r, first)
	// A state with the former types of the hop and of the components within it.
	for _, separator := range []string{"::", "$"} {
		cloudtest.Replace(t, r, first, separator+"strata:index:", separator+"strata:components:")
	}
	cloudtest.Unchanged(t, r, first)

	// Other clients add fields to the hop's objects, and to the account that Kubernetes created.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: "default"}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-web"}}
	patch := func(object client.Object, content string) {
		t.Helper()
		if err := cluster.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(content)), client.FieldOwner("somebody")); err != nil {
			t.Fatal(err)
		}
	}
	patch(account, `{"metadata": {"labels": {"team": "kept"}}, "imagePullSecrets": [{"name": "kept"}]}`)
	patch(namespace, `{"metadata": {"annotations": {"somebody": "kept"}}}`)
	renamed := cloudtest.Program(oneTeam("shop", pulumi.StringMap{"pods": pulumi.String("7")}, pulumi.Aliases([]pulumi.Alias{{Name: pulumi.String("web")}})))
	cloudtest.Changes(t, r, renamed, map[string]int{"update": 1})
	for _, object := range []client.Object{account, namespace} {
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
	}
	if len(account.ImagePullSecrets) != 1 || account.Labels["team"] != "kept" || namespace.Annotations["somebody"] != "kept" {
		t.Errorf("the hop removed the fields of other clients: %v, %v, %v", account.ImagePullSecrets, account.Labels, namespace.Annotations)
	}
	if ptr.Deref(account.AutomountServiceAccountToken, true) {
		t.Error("pods without an account of their own get a token")
	}

	if _, err := r.Destroy(t.Context(), renamed, nil); err != nil {
		t.Fatal(err)
	}
	if left := slices.DeleteFunc(cluster.Objects(t), func(object string) bool { return slices.Contains(before, object) }); len(left) > 0 {
		t.Errorf("the destroy left %q", left)
	}
}

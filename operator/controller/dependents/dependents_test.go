package dependents

import (
	"errors"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

func secretNamed(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, ResourceVersion: "1"},
	}
}

// newFake returns the Watcher of a fake cluster, and a channel of the Stacks that
// they wake.
func newFake(t *testing.T) (*Watcher, *fake.FakeMetadataClient, chan types.NamespacedName) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(metav1.AddMetaToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleMetadataClient(scheme)
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
	})
	woken := make(chan types.NamespacedName, 100)
	d := New(client, logr.Discard(), func(stack types.NamespacedName) { woken <- stack })
	t.Cleanup(d.Close)
	return d, client, woken
}

func TestOnlyStacksThatDependOnAChangedObjectAreWoken(t *testing.T) {
	d, client, woken := newFake(t)
	a, b := types.NamespacedName{Namespace: "team", Name: "a"}, types.NamespacedName{Namespace: "team", Name: "b"}
	secrets := Scope{Secrets, "team"}
	d.Add(a, Object{secrets, "one"})
	// The start of the watch wakes the Stacks that were added before it.
	if got := <-woken; got != a {
		t.Fatalf("%v is woken at first, want %v", got, a)
	}
	if d.Blind(a) {
		t.Error("the Stack counts as blind though its dependency is watched")
	}
	d.Add(b, Object{secrets, "two"})
	for _, step := range []struct {
		secret string
		want   types.NamespacedName
	}{{"one", a}, {"two", b}} {
		object := secretNamed(step.secret)
		if err := client.Tracker().Create(Secrets, object, "team"); err != nil {
			t.Fatal(err)
		}
		if got := <-woken; got != step.want {
			t.Errorf("%v is woken by %s, want %v", got, step.secret, step.want)
		}
	}

	// The watch ends when no Stack depends on it any more.
	d.Retain(b, nil)
	d.Retain(a, []Object{{secrets, "one"}})
	if len(d.watches) != 1 {
		t.Errorf("%d watches, want that of the Secrets", len(d.watches))
	}
	d.Retain(a, nil)
	if len(d.watches)+len(d.stacks)+len(d.objects) != 0 {
		t.Errorf("left: %v, %v, %v", d.watches, d.stacks, d.objects)
	}
}

func TestStackPollsDependenciesThatCannotBeWatched(t *testing.T) {
	d, client, _ := newFake(t)
	asked := make(chan struct{}, 1)
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		return true, nil, errors.New("forbidden")
	})
	stack := types.NamespacedName{Namespace: "team", Name: "a"}
	d.Add(stack, Object{Scope{Secrets, "team"}, "one"})
	<-asked
	if !d.Blind(stack) {
		t.Error("the Stack does not count as blind")
	}
	other := types.NamespacedName{Namespace: "team", Name: "b"}
	d.Add(other, Object{Scope{Programs, "team"}, "shop"})
	if d.Blind(other) {
		t.Error("a Stack that depends on a Program only counts as blind: the manager watches these")
	}
}

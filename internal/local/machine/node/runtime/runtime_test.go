package runtime

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// named is a runtime that runs the image of its own name, and fails for the image "broken".
type named string

func (n named) Name() string { return string(n) }

func (named) Executes() bool { return true }

func (n named) Find(_ *corev1.Pod, image string) (Image, error) {
	switch image {
	case string(n):
		return n, nil
	case "broken":
		return nil, errors.New("broken by " + string(n))
	case "declined":
		return nil, Declined{Err: errors.New("declined by " + string(n))}
	}
	return nil, nil
}

func (named) Enter(context.Context, Pod) (netip.Addr, error) { return netip.Addr{}, nil }

func (named) Leave(types.UID) {}

func (named) Forget(string, string, string) {}

func (named) Start(context.Context, Container) (Run, error) { return nil, nil }

func TestFindReturnsTheFirstRuntimeThatRunsAnImage(t *testing.T) {
	list := List{named("a"), named("b"), named("b")}
	for image, want := range map[string]struct{ runtime, err string }{
		"a":      {"a", ""},
		"b":      {"b", ""},
		"broken": {"a", "broken by a"},
		"c":      {"a", "no runtime of this node runs the image c"},
	} {
		got := list.Find(&corev1.Pod{}, image, nil)
		if got.Runtime.Name() != want.runtime || (got.Image == nil) != (want.err != "") || (got.Err == nil) != (want.err == "") {
			t.Errorf("image %s: %+v, want %+v", image, got, want)
		}
		if got.Err != nil && got.Err.Error() != want.err {
			t.Errorf("image %s: the error is %q, want %q", image, got.Err, want.err)
		}
	}
}

func TestFindSkipsRuntimesThatDecline(t *testing.T) {
	list := List{named("a"), named("declined")}
	if got := list.Find(&corev1.Pod{}, "declined", nil); got.Runtime.Name() != "declined" || got.Declined.Error() != "declined by a" {
		t.Errorf("an image that a runtime declines: %+v", got)
	}
	list = List{named("a"), named("b"), named("a")}
	got := list.Find(&corev1.Pod{}, "b", map[string]error{"a": errors.New("no network")})
	if got.Runtime.Name() != "b" || got.Declined == nil || got.Declined.Error() != "no network" {
		t.Errorf("a pod that a runtime declined: %+v", got)
	}
}

func TestNameIsThatOfTheFirstRuntimeInUse(t *testing.T) {
	list := List{named("a"), named("b")}
	for want, used := range map[string][]Runtime{"a": {named("b"), named("a")}, "b": {named("b"), named("b")}, "": nil} {
		if got := list.Name(used); got != want {
			t.Errorf("the name for %v is %q, want %q", used, got, want)
		}
	}
}

package runtime

import (
	"context"
	"errors"
	"testing"
)

// named is a runtime that runs the image of its own name, and fails for the image "broken".
type named string

func (n named) Name() string { return string(n) }

func (named) Executes() bool { return true }

func (n named) Find(_, _, image string) (Image, error) {
	switch image {
	case string(n):
		return n, nil
	case "broken":
		return nil, errors.New("broken by " + string(n))
	}
	return nil, nil
}

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
		r, found, err := list.Find("ns", "account", image)
		if r.Name() != want.runtime || (found == nil) != (want.err != "") || (err == nil) != (want.err == "") {
			t.Errorf("image %s: runtime %s, image %v, error %v, want %+v", image, r.Name(), found, err, want)
		}
		if err != nil && err.Error() != want.err {
			t.Errorf("image %s: the error is %q, want %q", image, err, want.err)
		}
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

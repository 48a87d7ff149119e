package forward

import (
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/ingress"
)

// This package serves every target and may not import the local one, so it has names of its own for what the node writes.
func TestTheNamesOfTheNodeAreKept(t *testing.T) {
	for have, want := range map[string]string{
		PageAnnotation: ingress.PageAnnotation, addressAnnotation: ingress.AddressAnnotation, localClass: ingress.Class,
	} {
		if have != want {
			t.Errorf("this package reads %s, the node writes %s", have, want)
		}
	}
}

package attack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/strata-platform/strata/test/soak"
)

// longAttacks are variants of attacks with a larger amount, which take long.
func longAttacks() []attack {
	var outputs strings.Builder
	outputs.WriteString("  outputs:\n")
	for i := range 20000 {
		fmt.Fprintf(&outputs, "    o%05d: x\n", i)
	}
	return []attack{
		{"many Programs that never end", availability, byRun, whileServed(endless(6 * slots)), "", nil},
		{"a hundred Stacks at once", availability, byKubeconfig, whileServed(crowd(100)), "", nil},
		{"20000 outputs", tooBig, byRun, func(ctx context.Context, f *field) error {
			err := f.mallory.try(ctx, outputs.String(), "")
			if errors.Is(err, errStopped) {
				return nil
			}
			return err
		}, "", statusIsAScreenful},
	}
}

// TestSoakAttacks runs the long attacks in each round, on one platform.
func TestSoakAttacks(t *testing.T) {
	rounds := soak.Rounds(t, 40)
	f := newField(t)
	for round := 1; round <= rounds; round++ {
		t.Run(fmt.Sprintf("round %d of %d", round, rounds), func(t *testing.T) { carryOut(t, f, longAttacks()) })
	}
}

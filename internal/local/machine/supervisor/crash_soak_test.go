//go:build linux

package supervisor_test

import (
	"fmt"
	"testing"

	"github.com/strata-platform/strata/test/soak"
)

// TestSoakAnInterruptedFirstStartContinues interrupts a start at every moment in each round.
func TestSoakAnInterruptedFirstStartContinues(t *testing.T) {
	rounds := soak.Rounds(t, 20)
	for round := 1; round <= rounds; round++ {
		t.Run(fmt.Sprintf("round %d of %d", round, rounds), func(t *testing.T) { interrupt(t, interruptions...) })
	}
}

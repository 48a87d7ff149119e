package operator_test

import (
	"testing"

	"github.com/strata-platform/strata/test/soak"
)

func TestSoakNothingIsLostOrDoubled(t *testing.T) { killInRounds(t, soak.Rounds(t, 5)) }

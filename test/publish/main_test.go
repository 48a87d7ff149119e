package publish

import (
	"os"
	"testing"

	"github.com/strata-platform/strata/internal/lint/trial"
)

func TestMain(m *testing.M) {
	// The Git server checks pushes in a process of its own, which is this program again.
	trial.Main()
	os.Exit(m.Run())
}

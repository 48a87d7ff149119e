package gitserver_test

import (
	"testing"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxtest.Main(m)
}

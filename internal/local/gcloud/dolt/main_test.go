package dolt_test

import (
	"os"
	"testing"

	"github.com/strata-platform/strata/operator/engine/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandboxtest.Enter()
	os.Exit(m.Run())
}

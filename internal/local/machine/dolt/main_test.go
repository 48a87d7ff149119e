package dolt_test

import (
	"testing"

	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m) }

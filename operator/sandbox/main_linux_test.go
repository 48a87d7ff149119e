package sandbox_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

// attemptVariable names the environment variable that selects an attempt. If the
// variable is set, the test binary makes that attempt instead of running tests.
const attemptVariable = "SANDBOX_ATTEMPT"

func TestMain(m *testing.M) {
	if name := os.Getenv(attemptVariable); name != "" {
		if err := attempts[name](os.Args[1:]); err != nil {
			fmt.Println("refused:", err)
			os.Exit(1)
		}
		fmt.Println("done")
		return
	}
	sandboxtest.Enter()
	os.Exit(m.Run())
}

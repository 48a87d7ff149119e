package sandboxtest

import (
	"fmt"
	"os"

	"github.com/strata-platform/strata/operator/sandbox"
)

// Enter returns if the test binary can confine commands, or if a user namespace would
// not help. Otherwise Enter runs the same binary in a user namespace, as an ordinary
// user must, and exits with that binary's code. TestMain calls Enter before it starts
// anything.
func Enter() {
	code, ran, err := sandbox.Enter()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if ran {
		os.Exit(code)
	}
}

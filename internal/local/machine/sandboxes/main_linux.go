package sandboxes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/helper"
)

// helperVariable marks the helper process. Its value is helperValue.
const (
	helperVariable = "STRATA_SANDBOXES_HELPER"
	helperValue    = "1"
)

// helperSocket is the helper's descriptor of the connection to Strata.
const helperSocket = 3

// called records that this program calls Main. Another program would start itself as its own helper, which runs everything
// again.
var called atomic.Bool

// Main runs the helper process and exits, if this process is the helper of [Start], and returns otherwise. A program that calls
// Start, and TestMain of a test that does, calls Main before anything else.
func Main() {
	called.Store(true)
	if os.Getenv(helperVariable) != helperValue || os.Getpid() != 1 {
		return
	}
	err := helper.Serve(os.NewFile(helperSocket, "strata"))
	if !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "sandboxes:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

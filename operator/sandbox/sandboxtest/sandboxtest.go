// Package sandboxtest lets tests confine commands as an ordinary user, as the platform does.
package sandboxtest

import (
	"os"
	"testing"
)

// Main is the TestMain of a package whose tests confine commands.
func Main(m *testing.M) {
	Enter()
	os.Exit(m.Run())
}

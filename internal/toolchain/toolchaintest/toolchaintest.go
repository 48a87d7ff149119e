// Package toolchaintest provides tests with the tools that the repository pins.
package toolchaintest

import (
	"testing"

	"github.com/strata-platform/strata/internal/toolchain"
)

// Path returns the path of a tool. It builds the tool if it is missing. Under -short it skips the test.
func Path(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("needs the tool %s", name)
	}
	tools, err := toolchain.Open(Root(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := tools.Ensure(t.Context(), func(e toolchain.Event) { t.Log(e) }, name); err != nil {
		t.Fatal(err)
	}
	path, err := tools.Path(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Root returns the root of the repository that contains the test.
func Root(t testing.TB) string {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

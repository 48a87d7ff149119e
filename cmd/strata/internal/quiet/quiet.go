// Package quiet keeps linked libraries from querying the terminal when strata starts.
//
// The library bubbletea, which Pulumi's SDK links for its prompts, asks the terminal for its background colour in an init
// function. The terminal's answer, or its silence for up to five seconds, would delay every command, and an answer that
// comes late would appear as typed text. The library does not ask a terminal of type dumb. So the init function of this package
// sets TERM to dumb, and Restore restores it.
//
// Go initializes packages whose imports are initialized in the order of their paths (Go specification, "Program
// initialization"). This package imports only os, and bubbletea imports packages of the standard library with later paths, so
// this package comes first.
package quiet

import "os"

const variable = "TERM"

// term is the user's value of TERM, if set is true.
var term, set = os.LookupEnv(variable)

//nolint:gochecknoinits // The library asks in its init function, before main begins.
func init() { os.Setenv(variable, "dumb") }

// Restore restores the variable TERM. The main function calls it first.
func Restore() {
	if !set {
		os.Unsetenv(variable)
		return
	}
	os.Setenv(variable, term)
}

// Package render prints the results of strata's commands as text for people: statuses, teams, and the end of a call.
package render

import (
	"fmt"
	"io"

	"github.com/strata-platform/strata/internal/terminal"
)

// longestLine is the maximum number of characters in a line about an existing resource.
const longestLine = 500

// Limits of a printed error, which may contain a team's text or the whole output of a program.
const (
	mostErrorLines   = 50
	longestErrorLine = 2000
)

// Error returns the message of an error, escaped and shortened for a terminal.
func Error(err error) string {
	return terminal.Lines(err.Error(), mostErrorLines, longestErrorLine)
}

// Up prints the end of `strata up`: lines that describe each layer, and the commands to try next.
func Up(w io.Writer, layers, next []string) {
	fmt.Fprintln(w, "\nLayers")
	for _, line := range layers {
		fmt.Fprintln(w, "  "+terminal.Middle(terminal.Escape(line), longestLine))
	}
	fmt.Fprintln(w, "\nTry next")
	for _, line := range next {
		fmt.Fprintln(w, "  "+line)
	}
}

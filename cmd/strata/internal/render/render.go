// Package render prints the results of strata's commands as text for people: statuses, teams, and the end of a call.
package render

import (
	"fmt"
	"io"

	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/internal/workloads"
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

// Up prints the end of `strata up`: lines that describe each layer, the pods that do not run, the commands to try next, and the
// teams' pages.
func Up(w io.Writer, layers, next []string, found workloads.List) {
	section(w, "Layers", bounded(layers))
	var pods []string
	for _, pod := range found.Simulated {
		pods = append(pods, fmt.Sprintf("%s/%s: %s", pod.Namespace, pod.Name, pod.Reason))
	}
	section(w, "Simulated pods, which do not run", bounded(pods))
	section(w, "Try next", next)
	var pages []string
	for _, page := range found.Pages {
		pages = append(pages, fmt.Sprintf("%s leads to %s", page.URL, page.Target))
	}
	section(w, "Pages", bounded(pages))
}

// mostLines is the maximum number of lines about existing resources in a section.
const mostLines = 30

// bounded returns the first lines about existing resources, escaped and shortened, and the number of the others.
func bounded(lines []string) []string {
	var shown []string
	for _, line := range lines[:min(mostLines, len(lines))] {
		shown = append(shown, terminal.Middle(terminal.Escape(line), longestLine))
	}
	if more := len(lines) - mostLines; more > 0 {
		shown = append(shown, fmt.Sprintf("… and %d more", more))
	}
	return shown
}

// section prints a title and the lines below it, or nothing without lines.
func section(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+title)
	for _, line := range lines {
		fmt.Fprintln(w, "  "+line)
	}
}

package layers

import (
	"errors"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// colors matches the engine's color directives, such as <{%fg 1%}>.
var colors = regexp.MustCompile(`<\{%[^%]*%\}>`)

// wrapping matches what the Go language host and lists of one error put before what a program says.
var wrapping = regexp.MustCompile(`^(an unhandled error occurred: )?(program failed: )?(1 error occurred: )?(\* )?`)

// diagnostic makes one line of the engine's message about a resource; nothing of one that says nothing.
func diagnostic(e *apitype.DiagnosticEvent) string {
	message := wrapping.ReplaceAllString(oneLine(colors.ReplaceAllString(e.Message, "")), "")
	// The engine closes every failure with a message that says no more than that it failed.
	if message == "update failed" || message == "preview failed" || message == "destroy failed" {
		return ""
	}
	if e.URN == "" {
		return message
	}
	return resourceName(e.URN) + ": " + message
}

// resourceName is a resource's type and name, from its URN.
func resourceName(urn string) string {
	parts := strings.Split(urn, "::")
	if len(parts) < 4 {
		return urn
	}
	types := strings.Split(parts[2], "$")
	return types[len(types)-1] + " " + parts[3]
}

// brief is the cause within an error of the Automation API, whose own text is pages of captured output.
func brief(err error) error {
	text := err.Error()
	if _, stderr, ok := strings.Cut(text, "stderr: "); ok {
		text = stderr
	}
	if i := strings.LastIndex(text, "error: "); i >= 0 {
		text = text[i+len("error: "):]
	}
	return errors.New(oneLine(text))
}

// oneLine joins the lines of a message and drops what a Go program's runtime adds.
func oneLine(s string) string {
	var kept []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "exit status") {
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, " ")
}

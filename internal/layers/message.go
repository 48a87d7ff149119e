package layers

import (
	"errors"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// colors matches the engine's color directives, such as <{%fg 1%}>.
var colors = regexp.MustCompile(`<\{%[^%]*%\}>`)

// wrapping matches the prefixes that the Go language host and error lists add to a program's message.
var wrapping = regexp.MustCompile(`^(an unhandled error occurred: )?(program failed: )?(1 error occurred: )?(\* )?`)

// diagnostic returns one line for the engine's message about a resource, or "" if the message has no content.
func diagnostic(e *apitype.DiagnosticEvent) string {
	message := wrapping.ReplaceAllString(oneLine(colors.ReplaceAllString(e.Message, "")), "")
	// The engine ends every failure with a message that only says that the operation failed.
	if message == "update failed" || message == "preview failed" || message == "destroy failed" {
		return ""
	}
	if e.URN == "" {
		return message
	}
	return resourceName(e.URN) + ": " + message
}

// resourceName returns a resource's type and name from its URN.
func resourceName(urn string) string {
	parts := strings.Split(urn, "::")
	if len(parts) < 4 {
		return urn
	}
	types := strings.Split(parts[2], "$")
	return types[len(types)-1] + " " + parts[3]
}

// brief returns the cause of an Automation API error. The error's own text has pages of captured output.
func brief(err error) error {
	text := err.Error()
	if _, stderr, ok := strings.Cut(text, "stderr: "); ok && strings.TrimSpace(stderr) != "" {
		text = stderr
	}
	if i := strings.LastIndex(text, "error: "); i >= 0 {
		text = text[i+len("error: "):]
	}
	return errors.New(oneLine(text))
}

// oneLine joins the lines of a message and removes the lines that a Go program's runtime adds.
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

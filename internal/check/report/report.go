// Package report writes the findings of a check for people, programs and forges.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/strata-platform/strata/internal/check"
	"github.com/strata-platform/strata/internal/terminal"
)

// longest is the maximum number of characters of a line of a finding.
const longest = 2000

// Text writes a line for each finding, in the form that compilers use and editors understand, and a line that says how to
// mend it.
func Text(w io.Writer, result *check.Report) error {
	var text strings.Builder
	for _, each := range result.Findings {
		at := fmt.Sprintf("%s:%d:%d: ", terminal.Line(each.File, 300), each.Line, each.Column)
		fmt.Fprintf(&text, "%s%s [%s]\n    %s\n", at, terminal.Line(each.Message, longest), each.Rule, terminal.Line(each.Fix, longest))
	}
	for _, note := range result.Notes {
		fmt.Fprintf(&text, "note: %s\n", terminal.Line(note, longest))
	}
	if len(result.Findings) == 0 {
		text.WriteString("no findings")
		if result.Team != "" {
			text.WriteString(" for team " + result.Team)
		}
		fmt.Fprintf(&text, " in %d objects\n", result.Objects)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// data and property escape values of GitHub's workflow commands. A value would otherwise end the command, or begin another.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// GitHub writes a workflow command for each finding, which GitHub shows beside the line of a pull request.
func GitHub(w io.Writer, result *check.Report) error {
	var text strings.Builder
	for _, each := range result.Findings {
		fmt.Fprintf(&text, "::error file=%s,line=%d,col=%d,title=%s::%s\n", property.Replace(terminal.Escape(each.File)), each.Line, each.Column,
			property.Replace("strata check: "+each.Rule), data.Replace(terminal.Line(each.Message+" ("+each.Fix+")", longest)))
	}
	for _, note := range result.Notes {
		fmt.Fprintf(&text, "::notice title=strata check::%s\n", data.Replace(terminal.Line(note, longest)))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

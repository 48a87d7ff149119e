package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/check"
	"github.com/strata-platform/strata/internal/check/report"
)

// hostile is a finding whose texts try to end a line, begin a command, color a terminal, and reverse the order of letters.
var hostile = &check.Report{Team: "web", Findings: []check.Finding{{
	File: "a\n::error file=x,line=1::owned,%0A: \u202e\x1b[31m.yaml", Line: 3, Column: 5, Rule: check.RulePolicy,
	Message: "100%\r\n::set-output name=a::b\x1b[2J\u202e", Fix: "correct it",
}}}

func TestHostileTextsStayOneLine(t *testing.T) {
	var text, github bytes.Buffer
	if err := report.Text(&text, hostile); err != nil {
		t.Fatal(err)
	}
	if err := report.GitHub(&github, hostile); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); lines != 2 {
		t.Errorf("the text has %d lines, want 2: %q", lines, text.String())
	}
	got := github.String()
	if strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "::error file=") {
		t.Errorf("got %q, want one command", got)
	}
	properties, message, _ := strings.Cut(strings.TrimPrefix(got, "::error "), "::")
	if fields := strings.Split(properties, ","); len(fields) != 4 || fields[1] != "line=3" || fields[2] != "col=5" {
		t.Errorf("the properties are %q", properties)
	}
	if !strings.HasPrefix(message, "100%25") {
		t.Errorf("the message is %q", message)
	}
	for _, each := range []string{"\x1b", "\u202e", "\r"} {
		if strings.Contains(text.String()+got, each) {
			t.Errorf("%q is in the output", each)
		}
	}
}

func TestSARIFHasARuleForEachResult(t *testing.T) {
	var buffer bytes.Buffer
	if err := report.SARIF(&buffer, hostile); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(buffer.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 || len(log.Runs[0].Tool.Driver.Rules) != len(check.Rules) {
		t.Fatalf("got %s", buffer.String())
	}
	result := log.Runs[0].Results[0]
	if rule := log.Runs[0].Tool.Driver.Rules[result.RuleIndex].ID; rule != result.RuleID {
		t.Errorf("rule %s has the index of %s", result.RuleID, rule)
	}
	at := result.Locations[0].PhysicalLocation
	if at.Region.StartLine != 3 || at.Region.StartColumn != 5 || strings.ContainsAny(at.ArtifactLocation.URI, " \n\x1b") {
		t.Errorf("the location is %+v", at)
	}
}

func TestNoFindingsAreAList(t *testing.T) {
	var buffer bytes.Buffer
	if err := report.SARIF(&buffer, &check.Report{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(buffer.String(), `"results": []`) {
		t.Errorf("got %s", buffer.String())
	}
}

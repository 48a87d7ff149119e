package report

import (
	"encoding/json"
	"io"
	"maps"
	"net/url"
	"slices"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/check"
	"github.com/strata-platform/strata/internal/terminal"
)

// The parts of the Static Analysis Results Interchange Format 2.1.0 that a check needs
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	}
)

// SARIF writes the findings as a SARIF log. Its URIs are relative to the root of the repository.
func SARIF(w io.Writer, result *check.Report) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{Name: "strata check", Version: buildinfo.Version}},
		// The YAML parser counts columns in characters.
		ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
	}
	index := map[string]int{}
	for i, id := range slices.Sorted(maps.Keys(check.Rules)) {
		index[id] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{id, sarifText{check.Rules[id]}})
	}
	for _, each := range result.Findings {
		run.Results = append(run.Results, sarifResult{
			RuleID: each.Rule, RuleIndex: index[each.Rule], Level: "error",
			Message: sarifText{terminal.Line(each.Message+" ("+each.Fix+")", longest)},
			Locations: []sarifLocation{{sarifPhysical{
				Artifact: sarifArtifact{(&url.URL{Path: each.File}).String()}, Region: sarifRegion{each.Line, each.Column},
			}}},
		})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

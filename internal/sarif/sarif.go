// Package sarif writes findings in the Static Analysis Results Interchange Format 2.1.0
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html), which forges and editors read.
package sarif

import (
	"encoding/json"
	"io"
	"maps"
	"net/url"
	"slices"

	"github.com/strata-platform/strata/internal/buildinfo"
)

// Finding is a violation of a rule. Its place is a place in a file of a repository, or something with a name outside of all files.
type Finding struct {
	// Rule is the ID of a rule of the log, and Message the finding in one line.
	Rule, Message string
	// File is the path of a file relative to the root of its repository, with slashes. Line and Column count from 1.
	File         string
	Line, Column int
	// Name is the name of a place that is in no file. It is used if File is empty.
	Name string
}

// The parts of the format that Strata needs.
type (
	log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}
	run struct {
		Tool       tool     `json:"tool"`
		ColumnKind string   `json:"columnKind"`
		Results    []result `json:"results"`
	}
	tool struct {
		Driver driver `json:"driver"`
	}
	driver struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Rules   []rule `json:"rules"`
	}
	rule struct {
		ID    string `json:"id"`
		Short text   `json:"shortDescription"`
	}
	text struct {
		Text string `json:"text"`
	}
	result struct {
		RuleID    string     `json:"ruleId"`
		RuleIndex int        `json:"ruleIndex"`
		Level     string     `json:"level"`
		Message   text       `json:"message"`
		Locations []location `json:"locations"`
	}
	location struct {
		Physical *physical `json:"physicalLocation,omitempty"`
		Logical  []logical `json:"logicalLocations,omitempty"`
	}
	logical struct {
		Name string `json:"fullyQualifiedName"`
	}
	physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   region   `json:"region"`
	}
	artifact struct {
		URI string `json:"uri"`
	}
	region struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	}
)

// Write writes the findings of a tool as a log. rules maps the IDs of all rules to their descriptions.
func Write(w io.Writer, name string, rules map[string]string, findings []Finding) error {
	one := run{
		Tool: tool{driver{Name: name, Version: buildinfo.Version, Rules: []rule{}}},
		// The YAML parser counts columns in characters.
		ColumnKind: "unicodeCodePoints", Results: []result{},
	}
	index := map[string]int{}
	for i, id := range slices.Sorted(maps.Keys(rules)) {
		index[id] = i
		one.Tool.Driver.Rules = append(one.Tool.Driver.Rules, rule{id, text{rules[id]}})
	}
	for _, each := range findings {
		at := location{Logical: []logical{{each.Name}}}
		if each.File != "" {
			at = location{Physical: &physical{artifact{(&url.URL{Path: each.File}).String()}, region{each.Line, each.Column}}}
		}
		one.Results = append(one.Results, result{
			RuleID: each.Rule, RuleIndex: index[each.Rule], Level: "error", Message: text{each.Message}, Locations: []location{at},
		})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(log{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []run{one}})
}

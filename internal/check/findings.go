package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rules are the IDs of the kinds of findings, with a sentence that describes each.
var Rules = map[string]string{
	RuleBuild:     "Flux builds the folder without errors.",
	RuleUnlisted:  "A kustomization.yaml lists every manifest.",
	RuleLoad:      "A build reads only files of the repository, within the limits of the platform.",
	RuleSchema:    "Each object has the fields and values of its kind.",
	RuleKind:      "The cluster knows the kind of each object.",
	RuleForbidden: "The team's account may apply each object.",
	RulePolicy:    "The admission policies accept each object.",
	RuleProgram:   "Each Program is well formed, and its references lead to a resource, a variable or a config key.",
	RuleTypes:     "The resources of each Program have the properties of their types.",
	RuleStack:     "The operator can apply each Stack.",
	RuleTwice:     "Each object belongs to the folder of one account.",
	RuleOwner:     "Each database and each user belongs to one Stack.",
}

// IDs of the kinds of findings.
const (
	RuleBuild     = "build"
	RuleUnlisted  = "unlisted"
	RuleLoad      = "load"
	RuleSchema    = "schema"
	RuleKind      = "kind"
	RuleForbidden = "forbidden"
	RulePolicy    = "policy"
	RuleProgram   = "program"
	RuleTypes     = "types"
	RuleStack     = "stack"
	RuleTwice     = "twice"
	RuleOwner     = "owner"
)

// Finding is a part of a repository that the platform would refuse or ignore.
type Finding struct {
	// File is the path of the file in the repository. Line and Column begin at one.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Rule is one of Rules.
	Rule string `json:"rule"`
	// Object is kind and name of the object, empty for a whole file.
	Object string `json:"object,omitempty"`
	// Message is the refusal in the words of the platform, on one line, and Fix says what to do.
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// Report is the result of a check.
type Report struct {
	// Team is the name of the team, empty if the check knows none.
	Team string `json:"team,omitempty"`
	// Findings are sorted by place. At most MostFindings.
	Findings []Finding `json:"findings"`
	// Notes say which parts the check left out, and why.
	Notes []string `json:"notes,omitempty"`
	// Objects is the number of objects that Flux would apply.
	Objects int `json:"objects"`
}

// MostFindings bounds the findings of one check.
const MostFindings = 500

// report sorts the findings. Several policies refuse the same field for one reason: the first counts, as in the cluster.
func (r *run) report() *Report {
	same := func(a, b Finding) bool {
		return a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Rule == b.Rule && a.Object == b.Object && a.Rule == RulePolicy || a == b
	}
	slices.SortStableFunc(r.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Object, b.Object), strings.Compare(a.Rule, b.Rule))
	})
	findings := slices.CompactFunc(r.findings, same)
	if len(findings) > MostFindings {
		r.notes = append(r.notes, fmt.Sprintf("%d more findings are left out", len(findings)-MostFindings))
		findings = findings[:MostFindings]
	}
	if findings == nil {
		findings = []Finding{}
	}
	slices.Sort(r.notes)
	return &Report{Team: r.Team, Findings: findings, Notes: slices.Compact(r.notes), Objects: r.objects}
}

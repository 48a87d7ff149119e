package teams

import (
	"fmt"
	"slices"
	"strings"
)

func (t Team) problems(at string) []error {
	var problems []error
	switch reason, isReserved := reserved[t.Name]; {
	case t.Name == "":
		problems = append(problems, fmt.Errorf("%s.name is missing", at))
	case isReserved:
		problems = append(problems, fmt.Errorf("%s.name %q is reserved: %s", at, t.Name, reason))
	case strings.HasPrefix(t.Name, reservedPrefix):
		problems = append(problems, fmt.Errorf("%s.name %q is reserved: the names of Cloud SQL's own database users begin with %s", at, t.Name, reservedPrefix))
	case strings.HasPrefix(t.Name, catalogueTeams):
		problems = append(problems, fmt.Errorf("%s.name %q is reserved: the names of the teams that the catalogue's orders run as begin with %s", at, t.Name, catalogueTeams))
	case strings.HasSuffix(t.Name, readerSuffix):
		problems = append(problems, fmt.Errorf("%s.name %q is reserved: it is the Git account that reads the repository of team %s",
			at, t.Name, strings.TrimSuffix(t.Name, readerSuffix)))
	case len(t.Name) > maxName:
		problems = append(problems, fmt.Errorf("%s.name %q has %d characters: at most %d fit into the ID of a Google account",
			at, t.Name, len(t.Name), maxName))
	case !namePattern.MatchString(t.Name):
		problems = append(problems, fmt.Errorf("%s.name %q must be lower-case letters, digits and hyphens, begin with a letter and not end with a hyphen",
			at, t.Name))
	}
	if t.Branch != "" && (!branchPattern.MatchString(t.Branch) || strings.Contains(t.Branch, "..")) {
		problems = append(problems, fmt.Errorf("%s.branch %q is not the name of a branch", at, t.Branch))
	}
	if t.Path != "" && !insideRepository(t.Path) {
		problems = append(problems, fmt.Errorf("%s.path %q must be relative to the repository's root and stay inside it, such as ./deploy", at, t.Path))
	}
	return slices.Concat(problems, t.sourceProblems(at), t.grantProblems(at), t.Notify.problems(at))
}

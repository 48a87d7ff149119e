package teams

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Which changes of a team's Stacks wait for an approval.
const (
	// ApprovalData is for the deletion and the replacement of resources that hold data.
	ApprovalData = "data"
	// ApprovalAlways is for every change, and ApprovalNever for none.
	ApprovalAlways = "always"
	ApprovalNever  = "never"
)

const (
	// approvalTeam stands for the team's own accounts in Approval.By.
	approvalTeam = "team"
	// groupPrefix begins the name of a group in Approval.By.
	groupPrefix = "group:"
	// systemPrefix begins the names that Kubernetes gives to accounts, to its own components and to groups of them.
	systemPrefix = "system:"
	// maxApprovers and maxApprover bound Approval.By and the length of an entry.
	maxApprovers, maxApprover = 100, 256
)

// Approval says which changes of a team's Stacks wait for an approval, and who may give it.
type Approval struct {
	// When is ApprovalData, ApprovalAlways or ApprovalNever; empty means ApprovalData.
	When string `json:"when,omitempty"`
	// By lists those who may approve besides the administrators of the cluster: names of users, group:NAME, or team for the team's own
	// accounts. With team, whoever can write the team's repository can approve.
	By []string `json:"by,omitempty"`
}

// Set reports whether the file sets anything.
func (a Approval) Set() bool { return a.When != "" || len(a.By) > 0 }

// Users returns the users in By.
func (a Approval) Users() []string {
	return slices.DeleteFunc(slices.Clone(a.By), func(by string) bool { return by == approvalTeam || strings.HasPrefix(by, groupPrefix) })
}

// Groups returns the names of the groups in By.
func (a Approval) Groups() []string {
	var groups []string
	for _, by := range a.By {
		if group, is := strings.CutPrefix(by, groupPrefix); is {
			groups = append(groups, group)
		}
	}
	return groups
}

// Team reports whether the team's own accounts may approve.
func (a Approval) Team() bool { return slices.Contains(a.By, approvalTeam) }

func (a Approval) problems(at string) []error {
	var problems []error
	refuse := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf(at+".approval"+format, args...))
	}
	if a.When != "" && a.When != ApprovalData && a.When != ApprovalAlways && a.When != ApprovalNever {
		refuse(".when is %q: it must be %s, %s or %s", a.When, ApprovalData, ApprovalAlways, ApprovalNever)
	}
	if len(a.By) > maxApprovers {
		refuse(".by has %d entries, at most %d are possible: use a group", len(a.By), maxApprovers)
	}
	for i, by := range a.By {
		name := strings.TrimPrefix(by, groupPrefix)
		switch {
		case name == "" || len(name) > maxApprover || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
			refuse(".by[%d] %q must be the name of a user, %sNAME or %s, of at most %d characters without spaces", i, by, groupPrefix, approvalTeam, maxApprover)
		case strings.HasPrefix(name, systemPrefix):
			refuse(".by[%d] %q is a name of Kubernetes' own: name people; %s stands for the team's accounts", i, by, approvalTeam)
		case slices.Contains(a.By[:i], by):
			refuse(".by[%d] %q is given twice", i, by)
		}
	}
	return problems
}

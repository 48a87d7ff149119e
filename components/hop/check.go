package hop

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/strata-platform/strata/components/internal/inputs"
	"github.com/strata-platform/strata/handoff"
)

// check returns all problems of a hop in one error.
func (a *HopArgs) check() error {
	var problems []string
	for _, field := range []struct {
		name  string
		value pulumi.StringInput
	}{
		{"namespace", pulumi.String(a.Namespace)}, {"account", pulumi.String(a.Account)},
		{"operator's namespace", a.Operator.Namespace}, {"operator's account", a.Operator.Account}, {"operator's role", pulumi.String(a.Operator.Role)},
		{"source's URL", a.Source.URL}, {"source's path", a.Source.Path},
	} {
		if inputs.Missing(field.value) {
			problems = append(problems, "the "+field.name+" must be given")
		}
	}
	for _, field := range []struct{ name, value string }{{"namespace", a.Namespace}, {"account", a.Account}} {
		// Both become labels. Neither may contain an underscore, because an underscore ends the team's part of a
		// database's name.
		if faults := validation.IsDNS1123Label(field.value); field.value != "" && len(faults) > 0 {
			problems = append(problems, fmt.Sprintf("the %s %q is not a DNS label: %s", field.name, field.value, faults[0]))
		}
	}
	if a.Operator.Role == administrator {
		problems = append(problems, administratorProblem("the operator"))
	}
	if a.PlanRole == administrator {
		problems = append(problems, administratorProblem("the account "+PlanAccount))
	}
	if a.Approvers.Role == administrator {
		problems = append(problems, administratorProblem("an approver"))
	}
	problems = append(problems, accountProblems("the account", Account{Name: a.Account, Roles: a.Roles})...)
	problems = append(problems, a.furtherAccountProblems()...)
	problems = append(problems, a.limitProblems()...)
	problems = append(problems, a.Source.problems()...)
	problems = append(problems, a.notifyProblems()...)
	if a.Policy != nil {
		problems = append(problems, a.Policy.problems(a.accountNames())...)
	}
	problems = append(problems, contextProblems(a.Context)...)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// administrator is the ClusterRole that no tenant gets, not even in a namespace: its holder can grant itself any
// permission.
const administrator = "cluster-admin"

func administratorProblem(who string) string {
	return who + " must not have role cluster-admin: its holder can grant itself any permission"
}

func accountProblems(who string, account Account) []string {
	var problems []string
	if account.Name == "default" {
		problems = append(problems, who+` must not be "default": every pod that names no account would have its permissions`)
	}
	if account.Name == PlanAccount {
		problems = append(problems, who+` must not be "`+PlanAccount+`": the previews of unreviewed commits run as this account`)
	}
	if len(account.Roles) == 0 {
		problems = append(problems, who+"'s roles must be given")
	}
	if slices.Contains(account.Roles, administrator) {
		problems = append(problems, administratorProblem(who))
	}
	return problems
}

func (a *HopArgs) furtherAccountProblems() []string {
	var problems []string
	taken := map[string]bool{a.Account: true}
	for i, account := range a.Accounts {
		who := fmt.Sprintf("account %d", i+1)
		if account.Name != "" {
			who = "account " + account.Name
		} else {
			problems = append(problems, who+"'s name must be given")
		}
		if taken[account.Name] {
			problems = append(problems, who+" is given twice")
		}
		taken[account.Name] = true
		problems = append(problems, accountProblems(who, account)...)
	}
	return problems
}

func (a *HopArgs) limitProblems() []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(a.Quota)) {
		given := inputs.Text(a.Quota[name])
		if _, err := resource.ParseQuantity(given); err != nil && (given != "" || inputs.Missing(a.Quota[name])) {
			problems = append(problems, fmt.Sprintf("the quota of %s is %q, which is not a quantity, such as 500m or 8Gi", name, given))
		}
	}
	for _, each := range a.PrivateRanges {
		given := inputs.Text(each)
		if _, err := checkPrivate(given); err != nil && (given != "" || inputs.Missing(each)) {
			problems = append(problems, err.Error())
		}
	}
	return problems
}

// accountNames returns the names of the accounts that the hop creates.
func (a *HopArgs) accountNames() []string {
	names := []string{a.Account}
	for _, account := range a.Accounts {
		names = append(names, account.Name)
	}
	return names
}

func contextProblems(context handoff.Tenant) []string {
	var problems []string
	for _, field := range []struct {
		name  string
		value pulumi.StringInput
	}{
		{"backend URL", context.BackendURL}, {"passphrase", context.Passphrase},
		{"project", context.Project}, {"region", context.Region}, {"instance", context.Instance},
	} {
		if inputs.Missing(field.value) {
			problems = append(problems, "the context's "+field.name+" must be given")
		}
	}
	// A team without a key has empty credentials.
	if context.GoogleCredentials == nil {
		problems = append(problems, "the context's Google credentials must be given")
	}
	return problems
}

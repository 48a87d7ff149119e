package teams

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Permissions of an account in a team's namespace.
const (
	// MayWorkloads allows Deployments, Services, Secrets and the like.
	MayWorkloads = "workloads"
	// MayStacks allows Stacks and Programs, and the ConfigMaps and Secrets that a Program creates. Stacks run as an
	// account with this permission.
	MayStacks = "stacks"
	// MaySources allows Flux's GitRepositories, OCIRepositories and Buckets.
	MaySources = "sources"
)

// DefaultMay returns the permissions of a team's own account when the file sets none.
func DefaultMay() []string { return []string{MayWorkloads, MayStacks} }

// DefaultAllow returns the types of resources that a team's Programs may declare when the file sets none: a database and
// its user on the shared instance, random values, and the ConfigMaps and Secrets that pass them to the team's pods.
func DefaultAllow() []string {
	return []string{
		"gcp:sql/database:Database", "gcp:sql/user:User", "random:*", "kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:Secret",
	}
}

const (
	// DefaultRunTimeout limits a run of a team's Stacks when the file sets no limit.
	DefaultRunTimeout = "15m"

	// shortestRunTimeout and longestRunTimeout are the bounds of the limit in the file.
	shortestRunTimeout = time.Minute
	longestRunTimeout  = time.Hour
)

// Quota limits the resources of a team's namespace. Each field is a Kubernetes quantity; empty means the platform's
// default.
type Quota struct {
	// CPU and Memory limit the sum of the pods' requests. MemoryLimit limits the sum of their memory limits.
	CPU         string `json:"cpu,omitempty"`
	Memory      string `json:"memory,omitempty"`
	MemoryLimit string `json:"memoryLimit,omitempty"`
	// Pods limits the number of pods.
	Pods string `json:"pods,omitempty"`
	// Storage limits the sum of the requests of PersistentVolumeClaims. Volumes limits the number of claims.
	Storage string `json:"storage,omitempty"`
	Volumes string `json:"volumes,omitempty"`
}

// Hard returns the non-empty fields by the resource names of a ResourceQuota.
func (q Quota) Hard() map[string]string {
	hard := map[string]string{}
	for _, field := range q.fields() {
		if field.value != "" {
			hard[field.resource] = field.value
		}
	}
	return hard
}

type quotaField struct{ name, resource, value string }

func (q Quota) fields() []quotaField {
	return []quotaField{
		{"cpu", "requests.cpu", q.CPU}, {"memory", "requests.memory", q.Memory}, {"memoryLimit", "limits.memory", q.MemoryLimit},
		{"pods", "pods", q.Pods}, {"storage", "requests.storage", q.Storage}, {"volumes", "persistentvolumeclaims", q.Volumes},
	}
}

// Account is an additional account in a team's namespace.
type Account struct {
	// Name is the name of the account and of its sync. Required. It must differ from the team's name and be unique within
	// the team.
	Name string `json:"name"`
	// May lists the account's permissions: MayWorkloads, MayStacks, MaySources. Required.
	May []string `json:"may"`
	// Path is the folder of the team's repository that Flux applies under this account; empty means none.
	Path string `json:"path,omitempty"`
}

// RunLimit returns RunTimeout as a duration; zero if RunTimeout is empty or not a duration.
func (t Team) RunLimit() time.Duration {
	limit, err := time.ParseDuration(t.RunTimeout)
	if err != nil {
		return 0
	}
	return limit
}

// StackAccounts returns the accounts that the team's Stacks may run as.
func (t Team) StackAccounts() []string {
	var accounts []string
	if slices.Contains(t.May, MayStacks) {
		accounts = append(accounts, t.ServiceAccount())
	}
	for _, account := range t.Accounts {
		if slices.Contains(account.May, MayStacks) {
			accounts = append(accounts, account.Name)
		}
	}
	return accounts
}

// MayDeclare reports whether the team's Programs may declare a type of a module of a package, such as gcp and sql.
func (t Team) MayDeclare(pkg, module string) bool {
	return slices.ContainsFunc(t.Allow, func(pattern string) bool {
		parts := strings.SplitN(pattern, ":", 3)
		if parts[0] != pkg || len(parts) < 2 {
			return false
		}
		of, _, _ := strings.Cut(parts[1], "/")
		return of == "*" || of == module
	})
}

var (
	// typePattern matches a Pulumi type, package:module:Name or package:Name, or a prefix of types that ends in "*" after
	// a colon or a slash.
	typePattern = regexp.MustCompile(`^[a-z][a-z0-9-]*:(\*|[A-Z][A-Za-z0-9]*|[A-Za-z0-9._/-]+:(\*|[A-Z][A-Za-z0-9]*)|[A-Za-z0-9._/-]+/\*)$`)
	// foreignTypes matches types that would let a Program read another stack, or use its own credentials.
	foreignTypes = regexp.MustCompile(`^pulumi:`)
)

// grantProblems returns the problems of the fields that grant permissions.
func (t Team) grantProblems(at string) []error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(at+format, args...)) }
	for i, pattern := range t.Allow {
		switch {
		case foreignTypes.MatchString(pattern):
			refuse(".allow[%d] %q would let a Program read other stacks or use credentials of its own", i, pattern)
		case !typePattern.MatchString(pattern):
			refuse(`.allow[%d] %q is neither a resource type, such as gcp:sql/user:User, nor a prefix of types, such as gcp:sql/*`, i, pattern)
		}
	}
	for _, field := range t.Quota.fields() {
		if field.value == "" {
			continue
		}
		if quantity, err := resource.ParseQuantity(field.value); err != nil || quantity.Sign() < 0 {
			refuse(".quota.%s %q is not a quantity, such as 4 or 8Gi", field.name, field.value)
		}
	}
	if limit := t.RunLimit(); t.RunTimeout != "" && (limit < shortestRunTimeout || limit > longestRunTimeout) {
		refuse(".runTimeout %q is not a duration from 1m to 1h, such as %s", t.RunTimeout, DefaultRunTimeout)
	}
	problems = append(problems, t.Approval.problems(at)...)
	for i, source := range t.Sources {
		if !isRepository(source) {
			refuse(".sources[%d] is not the address of a repository without a login, such as https://git.example.com/shared.git", i)
		}
	}
	problems = append(problems, mayProblems(at, t.May)...)
	taken := map[string]bool{t.Name: true}
	for i, account := range t.Accounts {
		here := fmt.Sprintf("%s.accounts[%d]", at, i)
		problems = append(problems, account.problems(here)...)
		if account.Name != "" && taken[account.Name] {
			problems = append(problems, fmt.Errorf("%s.name %q is the name of another account of the team: choose another name", here, account.Name))
		}
		taken[account.Name] = true
	}
	return problems
}

func (a Account) problems(at string) []error {
	var problems []error
	if a.Name == reservedAccount || a.Name == planAccount {
		problems = append(problems, fmt.Errorf("%s.name %q is reserved: %s", at, a.Name, reserved[a.Name]))
	} else if !namePattern.MatchString(a.Name) || len(a.Name) > maxName {
		problems = append(problems, fmt.Errorf("%s.name %q must be at most %d lower-case letters, digits and hyphens, begin with a letter and not end with a hyphen",
			at, a.Name, maxName))
	}
	if len(a.May) == 0 {
		problems = append(problems, fmt.Errorf("%s.may is missing: it lists %s, %s and %s", at, MayWorkloads, MayStacks, MaySources))
	}
	if a.Path != "" && !insideRepository(a.Path) {
		problems = append(problems, fmt.Errorf("%s.path %q must be relative to the repository's root and stay inside it, such as ./infra", at, a.Path))
	}
	return append(problems, mayProblems(at, a.May)...)
}

func mayProblems(at string, may []string) []error {
	var problems []error
	for i, each := range may {
		if each != MayWorkloads && each != MayStacks && each != MaySources {
			problems = append(problems, fmt.Errorf("%s.may[%d] is %q: it must be %s, %s or %s", at, i, each, MayWorkloads, MayStacks, MaySources))
		}
	}
	return problems
}

func insideRepository(path string) bool {
	if strings.HasPrefix(path, "/") || strings.Contains(path, "\\") || strings.ContainsFunc(path, unicode.IsControl) {
		return false
	}
	return !slices.Contains(strings.Split(path, "/"), "..")
}

func isRepository(address string) bool {
	parsed, err := url.Parse(address)
	// ssh would parse a host or user that begins with a hyphen as an option.
	if err != nil || parsed.Host == "" || strings.HasPrefix(parsed.Host, "-") || strings.HasPrefix(parsed.User.Username(), "-") || strings.ContainsAny(address, " \t\n*") {
		return false
	}
	_, hasPassword := parsed.User.Password()
	switch parsed.Scheme {
	case "https", "http", "oci":
		return parsed.User == nil
	case "ssh":
		return !hasPassword
	}
	return false
}

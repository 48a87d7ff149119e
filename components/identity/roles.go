package identity

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// minReason is the minimum number of words of a reason that overrides a refusal: one word is a habit, a sentence is a
// decision.
const minReason = 4

// basicRoles grant permissions on every service of a project.
var basicRoles = []string{"roles/owner", "roles/editor"}

// grantingTable lists Google's roles that grant roles or impersonate accounts. Its first lines give the criteria and the
// source.
//
//go:embed granting.txt
var grantingTable string

// granting maps each role of the table to a permission that is the reason for its refusal.
var granting = sync.OnceValue(func() map[string]string {
	roles := map[string]string{}
	for line := range strings.Lines(grantingTable) {
		if role, permission, found := strings.Cut(strings.TrimSpace(line), " "); found && role != "#" {
			roles[role] = permission
		}
	}
	return roles
})

// The rules below refuse by name those roles that the table cannot contain: roles newer than the table, and roles that
// start a workload under another account without a permission that reveals it.

// grantingServices are the services whose roles control identities and policies. Of these services only read-only roles
// are accepted.
var grantingServices = []string{
	"accesscontextmanager", "billing", "deploymentmanager", "iam", "iap", "orgpolicy", "policyanalyzer",
	"privilegedaccessmanager", "resourcemanager", "serviceusage",
}

// grantingRoles set the policy of the objects that they manage, or start a workload under another account, although their
// names do not say so.
var grantingRoles = map[string]string{
	"roles/cloudbuild.builds.builder":      "it runs builds as another account",
	"roles/cloudbuild.builds.editor":       "it runs builds as another account",
	"roles/cloudfunctions.developer":       "it runs functions as another account",
	"roles/composer.worker":                "it runs workflows as another account",
	"roles/compute.instanceAdmin.v1":       "it runs machines as another account",
	"roles/dataflow.developer":             "it runs jobs as another account",
	"roles/dataproc.editor":                "it runs jobs as another account",
	"roles/run.developer":                  "it runs services as another account",
	"roles/storage.legacyBucketOwner":      "it sets the bucket's IAM policy",
	"roles/storage.legacyObjectOwner":      "it sets the object's access list",
	"roles/container.developer":            "it reads every Secret of every cluster",
	"roles/container.editor":               "it reads every Secret of every cluster",
	"roles/container.hostServiceAgentUser": "it acts for Google's own service account",
}

// harmlessAdmins are the administrator roles that neither set an IAM policy nor act as another account. The name of every
// other administrator role is enough for a refusal: most of these roles hold a setIamPolicy permission.
var harmlessAdmins = []string{"roles/cloudsql.admin"}

// refusal returns the reason why a role needs an override, or "" if it needs none.
func refusal(role string) string {
	if slices.Contains(basicRoles, role) {
		return "it grants permissions on every service of the project"
	}
	name, predefined := strings.CutPrefix(role, "roles/")
	if !predefined {
		// A custom role is a list of permissions that the caller wrote; its name says nothing about them.
		return ""
	}
	if reason, found := grantingRoles[role]; found {
		return reason
	}
	if permission, found := granting()[role]; found {
		return fmt.Sprintf("it holds %s, which lets an account set IAM policy, or act as another account", permission)
	}
	service, _, _ := strings.Cut(name, ".")
	lower := strings.ToLower(name)
	reads := strings.HasSuffix(lower, "viewer") || strings.HasSuffix(lower, "reviewer") || strings.HasSuffix(lower, ".browser")
	switch {
	case slices.Contains(grantingServices, service) && !reads:
		return "it lets an account set IAM policy, or act as another account"
	case strings.Contains(lower, "serviceagent"):
		return "only Google's own service accounts need it"
	case (strings.Contains(lower, "admin") || strings.HasSuffix(lower, "owner")) && !slices.Contains(harmlessAdmins, role):
		return "administrator roles set the IAM policy of the resources that they administer"
	}
	return ""
}

// CheckRoles returns a phrase for each role that NewIdentity would refuse, so that a program can refuse it before it
// creates anything. Overrides has the form of IdentityArgs.Overrides.
func CheckRoles(roles []string, overrides map[string]string) []string {
	var problems []string
	for i, role := range roles {
		switch {
		case !wellFormed(role):
			problems = append(problems, fmt.Sprintf("role %q is not of the form roles/<name> or projects/<project>/roles/<name>", role))
			continue
		case slices.Contains(roles[:i], role):
			problems = append(problems, fmt.Sprintf("role %s is given twice", role))
			continue
		}
		reason := refusal(role)
		if reason == "" {
			continue
		}
		words, overridden := overrides[role]
		switch {
		case !overridden:
			problems = append(problems, fmt.Sprintf("role %s is refused because %s: choose a narrower role, or override the refusal with a reason", role, reason))
		case len(strings.Fields(words)) < minReason:
			problems = append(problems, fmt.Sprintf("the reason %q to override role %s is too short: explain in at least %d words why the identity needs it", words, role, minReason))
		}
	}
	for _, role := range slices.Sorted(maps.Keys(overrides)) {
		if !slices.Contains(roles, role) || refusal(role) == "" {
			problems = append(problems, fmt.Sprintf("the override of role %s overrides nothing: remove it", role))
		}
	}
	return problems
}

func wellFormed(role string) bool {
	parts := strings.Split(role, "/")
	switch {
	case slices.Contains(parts, ""):
		return false
	case parts[0] == "roles":
		return len(parts) == 2
	case parts[0] == "projects" || parts[0] == "organizations":
		return len(parts) == 4 && parts[2] == "roles"
	}
	return false
}

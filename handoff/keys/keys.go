// Package keys contains the names in a team's context: those of its Secret and ConfigMap, and their keys. Package handoff
// fills the context, and the operator, which does not link Pulumi's SDK, reads it by these names.
package keys

// OperatorNamespace contains the operator that runs the teams' Stacks, and OperatorAccount is its account there.
const (
	OperatorNamespace = "pulumi-kubernetes-operator"
	OperatorAccount   = "pulumi-operator"
)

// TenantName is the name of the Secret and of the ConfigMap that hold a team's context in the team's namespace.
const TenantName = "strata-context"

// PlanName is the name of the Secret in the operator's namespace that names the Google account with which the operator answers the
// look-ups of plans, under the keys GoogleAccount, GoogleAudience and GoogleProject. It holds no secret.
const PlanName = "strata-plan"

// Keys of the Secret PlanName, besides GoogleProject.
const (
	GoogleAccount  = "GOOGLE_ACCOUNT"
	GoogleAudience = "GOOGLE_AUDIENCE"
)

// Keys of the Secret: environment variables of a team's Stacks.
const (
	BackendURL = "PULUMI_BACKEND_URL"
	Passphrase = "PULUMI_CONFIG_PASSPHRASE"
	// FormerPassphrase is in the Secret only while the passphrase is rotated. The operator reads it, and no run sees it.
	FormerPassphrase  = "PULUMI_CONFIG_PASSPHRASE_FORMER"
	GoogleCredentials = "GOOGLE_CREDENTIALS"
	GoogleProject     = "GOOGLE_PROJECT"
	GoogleRegion      = "GOOGLE_REGION"
)

// Keys of the ConfigMap: values that a team's Programs may use as configuration.
const (
	// Version holds the version of the context.
	Version  = "handoffVersion"
	Project  = "project"
	Region   = "region"
	Instance = "instance"
)

// Secret returns the keys of the Secret that are variables of each Stack.
func Secret() []string {
	return []string{BackendURL, Passphrase, GoogleCredentials, GoogleProject, GoogleRegion}
}

// Config returns the keys of the ConfigMap that are configuration.
func Config() []string { return []string{Instance, Project, Region} }

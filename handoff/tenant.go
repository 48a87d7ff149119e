package handoff

import (
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// TenantName is the name of the Secret and of the ConfigMap, in a team's namespace, that are the team's context.
const TenantName = "strata-context"

// Keys of the Secret: the environment in which a team's Stacks run.
const (
	KeyBackendURL        = "PULUMI_BACKEND_URL"
	KeyPassphrase        = "PULUMI_CONFIG_PASSPHRASE"
	KeyGoogleCredentials = "GOOGLE_CREDENTIALS"
	KeyGoogleProject     = "GOOGLE_PROJECT"
	KeyGoogleRegion      = "GOOGLE_REGION"
)

// TenantVersion is the version of the context that a team gets from layer 2. It rises with every change that a Program
// which reads the context would misread.
const TenantVersion = "1"

// Keys of the ConfigMap: what a team's Programs may take as configuration.
const (
	// KeyVersion holds TenantVersion.
	KeyVersion  = "handoffVersion"
	KeyProject  = "project"
	KeyRegion   = "region"
	KeyInstance = "instance"
)

// Tenant is the context that a team gets from layer 2.
type Tenant struct {
	// BackendURL is where the state of the team's Stacks is kept.
	BackendURL pulumi.StringInput
	// Passphrase encrypts the secrets in that state.
	Passphrase pulumi.StringInput
	// GoogleCredentials is the key file of the team's Google service account; empty where the team needs none.
	GoogleCredentials pulumi.StringInput
	// Project and Region are where the team's cloud resources go.
	Project, Region pulumi.StringInput
	// Instance is the Cloud SQL instance on which the team makes its databases.
	Instance pulumi.StringInput
}

// SecretData is the content of the context's Secret, all of it marked secret.
func (t Tenant) SecretData() pulumi.StringMapOutput {
	return pulumi.ToSecret(t.environment().ToStringMapOutput()).(pulumi.StringMapOutput)
}

func (t Tenant) environment() pulumi.StringMap {
	return pulumi.StringMap{
		KeyBackendURL:        t.BackendURL,
		KeyPassphrase:        t.Passphrase,
		KeyGoogleCredentials: t.GoogleCredentials,
		KeyGoogleProject:     t.Project,
		KeyGoogleRegion:      t.Region,
	}
}

// SecretKeys are the keys of the context's Secret, sorted.
func SecretKeys() []string { return slices.Sorted(maps.Keys(Tenant{}.environment())) }

// ConfigKeys are the keys of the context's ConfigMap, sorted.
func ConfigKeys() []string { return slices.Sorted(maps.Keys(Tenant{}.ConfigData())) }

// ConfigData is the content of the context's ConfigMap.
func (t Tenant) ConfigData() pulumi.StringMap {
	return pulumi.StringMap{
		KeyVersion: pulumi.String(TenantVersion), KeyProject: t.Project, KeyRegion: t.Region, KeyInstance: t.Instance,
	}
}

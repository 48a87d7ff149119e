package handoff

import (
	"encoding/base64"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff/keys"
)

// TenantName is the name of the Secret and of the ConfigMap that hold a team's context in the team's namespace.
const TenantName = keys.TenantName

// Names of the operator, of its account, and of the Secret for the look-ups of plans in its namespace, with the Secret's own keys.
const (
	OperatorNamespace = keys.OperatorNamespace
	OperatorAccount   = keys.OperatorAccount
	PlanName          = keys.PlanName
	KeyGoogleAccount  = keys.GoogleAccount
	KeyGoogleAudience = keys.GoogleAudience
)

// Keys of the Secret: environment variables of a team's Stacks.
const (
	KeyBackendURL        = keys.BackendURL
	KeyPassphrase        = keys.Passphrase
	KeyFormerPassphrase  = keys.FormerPassphrase
	KeyGoogleCredentials = keys.GoogleCredentials
	KeyGoogleProject     = keys.GoogleProject
	KeyGoogleRegion      = keys.GoogleRegion
)

// TenantVersion is the version of the context that layer 2 hands to a team. It increases with every change that a Program
// which reads the context would misread.
const TenantVersion = "1"

// Keys of the ConfigMap: values that a team's Programs may use as configuration.
const (
	// KeyVersion holds TenantVersion.
	KeyVersion  = keys.Version
	KeyProject  = keys.Project
	KeyRegion   = keys.Region
	KeyInstance = keys.Instance
)

// Tenant is the context that layer 2 hands to a team.
type Tenant struct {
	// BackendURL is the backend for the state of the team's Stacks.
	BackendURL pulumi.StringInput
	// Passphrase encrypts the secrets in that state.
	Passphrase pulumi.StringInput
	// FormerPassphrase encrypted those secrets before a rotation that has not finished; nil without one.
	FormerPassphrase pulumi.StringInput
	// GoogleCredentials is the key file of the team's Google service account; empty if the team needs no key.
	GoogleCredentials pulumi.StringInput
	// Project and Region are the location of the team's cloud resources.
	Project, Region pulumi.StringInput
	// Instance is the Cloud SQL instance for the team's databases.
	Instance pulumi.StringInput
}

// SecretData returns the content of the context's Secret, all of it marked as secret.
func (t Tenant) SecretData() pulumi.StringMapOutput {
	return pulumi.ToSecret(t.environment().ToStringMapOutput()).(pulumi.StringMapOutput)
}

// FormerData returns the part of the Secret's content that exists only during a rotation, encoded as in the field data; nil without
// one. In stringData it would stay:
// the API server records the owner of a key of data, and not that of a key of stringData.
func (t Tenant) FormerData() pulumi.StringMapInput {
	if t.FormerPassphrase == nil {
		return nil
	}
	encoded := t.FormerPassphrase.ToStringOutput().ApplyT(func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) })
	return pulumi.ToSecret(pulumi.StringMap{KeyFormerPassphrase: encoded.(pulumi.StringOutput)}.ToStringMapOutput()).(pulumi.StringMapOutput)
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

// SecretKeys returns the keys of the context's Secret that are variables of each Stack, sorted.
func SecretKeys() []string { return slices.Sorted(maps.Keys(Tenant{}.environment())) }

// SettingNamespace is the namespace of the config keys that a team's Stacks get from the context's ConfigMap, so that they
// collide with no name in a Program: a config key without a namespace hides a resource of the same name. A Program refers to
// one as ${platform:instance}.
const SettingNamespace = "platform"

// SettingKeys returns the keys of the context's ConfigMap that a team's Stacks get as config, sorted.
func SettingKeys() []string { return []string{KeyInstance} }

// ConfigKeys returns the keys of the context's ConfigMap, sorted.
func ConfigKeys() []string { return slices.Sorted(maps.Keys(Tenant{}.ConfigData())) }

// ConfigData returns the content of the context's ConfigMap.
func (t Tenant) ConfigData() pulumi.StringMap {
	return pulumi.StringMap{
		KeyVersion: pulumi.String(TenantVersion), KeyProject: t.Project, KeyRegion: t.Region, KeyInstance: t.Instance,
	}
}

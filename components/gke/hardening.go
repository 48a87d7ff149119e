package gke

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
)

// imageType is Google's own system for nodes. Its file system is read-only, and it updates together with GKE.
const imageType = "COS_CONTAINERD"

var (
	topics = regexp.MustCompile(`^projects/[^/]+/topics/[^/]+$`)
	keys   = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)
	groups = regexp.MustCompile(`^gke-security-groups@[a-z0-9.-]+\.[a-z]+$`)
)

// DefaultLogging returns the components that log to Cloud Logging when ClusterArgs.Logging is empty.
func DefaultLogging() []string { return []string{"SYSTEM_COMPONENTS", "WORKLOADS"} }

// Loggers returns the components that can log to Cloud Logging.
func Loggers() []string {
	return []string{"SYSTEM_COMPONENTS", "WORKLOADS", "APISERVER", "CONTROLLER_MANAGER", "SCHEDULER"}
}

// CheckLogging returns a phrase for each value of ClusterArgs.Logging that NewCluster would refuse.
func CheckLogging(components []string) []string {
	var problems []string
	for _, component := range components {
		if !slices.Contains(Loggers(), component) {
			problems = append(problems, fmt.Sprintf("logging component %q is not one of %s", component, strings.Join(Loggers(), ", ")))
		}
	}
	if len(components) > 0 && !slices.Contains(components, "SYSTEM_COMPONENTS") {
		problems = append(problems, "logging lacks SYSTEM_COMPONENTS, without which Google Cloud accepts no other component")
	}
	return problems
}

// CheckNotificationTopic returns what is wrong with a value of ClusterArgs.NotificationTopic in a cluster of the project, or
// "".
func CheckNotificationTopic(topic, project string) string {
	if topic != "" && (!topics.MatchString(topic) || project != "" && !strings.HasPrefix(topic, "projects/"+project+"/")) {
		return fmt.Sprintf("notification topic %q is not a topic of the cluster's project, such as projects/%s/topics/gke", topic, cmp.Or(project, "acme-dev"))
	}
	return ""
}

// CheckSecretsKey returns what is wrong with a value of ClusterArgs.SecretsKey, or "".
func CheckSecretsKey(key string) string {
	if key != "" && !keys.MatchString(key) {
		return fmt.Sprintf("secrets key %q is not the name of a key, such as projects/acme-keys/locations/europe-west1/keyRings/gke/cryptoKeys/secrets", key)
	}
	return ""
}

// CheckSecurityGroup returns what is wrong with a value of ClusterArgs.SecurityGroup, or "".
func CheckSecurityGroup(group string) string {
	if group != "" && !groups.MatchString(group) {
		return fmt.Sprintf("security group %q is not gke-security-groups@ and a domain, the only name that GKE accepts", group)
	}
	return ""
}

// hardeningProblems returns a phrase for each invalid plain value of the settings in this file.
func (a *ClusterArgs) hardeningProblems() []string {
	var logging []string
	for _, component := range a.Logging {
		if given := inputs.Text(component); given != "" {
			logging = append(logging, given)
		} else if inputs.Missing(component) {
			return []string{"a logging component is empty"}
		} else {
			return nil // Google Cloud checks computed values
		}
	}
	var problems []string
	for _, problem := range a.Maintenance.Problems() {
		problems = append(problems, "maintenance: "+problem)
	}
	problems = append(problems, CheckLogging(logging)...)
	for _, problem := range []string{
		CheckNotificationTopic(inputs.Text(a.NotificationTopic), inputs.Text(a.Project)),
		CheckSecretsKey(inputs.Text(a.SecretsKey)), CheckSecurityGroup(inputs.Text(a.SecurityGroup)),
	} {
		if problem != "" {
			problems = append(problems, problem)
		}
	}
	return problems
}

// harden sets what a review of the cluster's security asks for. The provider can change all of it in place.
func (a *ClusterArgs) harden(args *container.ClusterArgs) {
	args.EnableLegacyAbac = pulumi.Bool(false)
	args.MaintenancePolicy = a.Maintenance.policy()
	logging := pulumi.ToStringArray(DefaultLogging())
	if len(a.Logging) > 0 {
		logging = a.Logging
	}
	args.LoggingConfig = &container.ClusterLoggingConfigArgs{EnableComponents: logging}
	args.EnableIntranodeVisibility = inputs.OptionalBool(a.IntranodeVisibility)
	// The provider leaves notifications on if the program only drops them.
	args.NotificationConfig = &container.ClusterNotificationConfigArgs{Pubsub: &container.ClusterNotificationConfigPubsubArgs{
		Enabled: pulumi.Bool(!inputs.Missing(a.NotificationTopic)), Topic: inputs.Optional(a.NotificationTopic),
	}}
	if !inputs.Missing(a.SecretsKey) {
		args.DatabaseEncryption = &container.ClusterDatabaseEncryptionArgs{State: pulumi.String("ENCRYPTED"), KeyName: inputs.Optional(a.SecretsKey)}
	}
	if !inputs.Missing(a.SecurityGroup) {
		args.AuthenticatorGroupsConfig = &container.ClusterAuthenticatorGroupsConfigArgs{SecurityGroup: a.SecurityGroup}
	}
	if a.BinaryAuthorization {
		args.BinaryAuthorization = &container.ClusterBinaryAuthorizationArgs{EvaluationMode: pulumi.String("PROJECT_SINGLETON_POLICY_ENFORCE")}
	}
}

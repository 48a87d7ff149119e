// Package check rejects settings of clusters that Google Cloud would reject.
package check

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// Settings returns an error for invalid values of settings that a creation and an update can set. An empty location skips the
// comparison with the location of keys.
func Settings(project string, wanted *container.Cluster) error {
	if identity := wanted.WorkloadIdentityConfig; identity != nil && identity.WorkloadPool != "" && identity.WorkloadPool != project+".svc.id.goog" {
		return api.InvalidArgument("Workload pool %q is not valid: the only one of this project is %q.", identity.WorkloadPool, project+".svc.id.goog")
	}
	if channel := wanted.ReleaseChannel; channel != nil && !slices.Contains([]string{"", "UNSPECIFIED", "RAPID", "REGULAR", "STABLE", "EXTENDED"}, channel.Channel) {
		return api.InvalidArgument("Invalid value at 'release_channel.channel', %q", channel.Channel)
	}
	for _, check := range []error{
		checkMaintenance(wanted.MaintenancePolicy), checkNotifications(project, wanted.NotificationConfig), checkLogging(wanted.LoggingConfig),
		checkEncryption(wanted), checkSecurityGroup(wanted.AuthenticatorGroupsConfig), checkAuthorizedNetworks(wanted.MasterAuthorizedNetworksConfig),
	} {
		if check != nil {
			return check
		}
	}
	if binary := wanted.BinaryAuthorization; binary != nil {
		modes := []string{"", "EVALUATION_MODE_UNSPECIFIED", "DISABLED", "PROJECT_SINGLETON_POLICY_ENFORCE", "POLICY_BINDINGS", "POLICY_BINDINGS_AND_PROJECT_SINGLETON_POLICY_ENFORCE"}
		if !slices.Contains(modes, binary.EvaluationMode) {
			return api.InvalidArgument("Invalid value at 'binary_authorization.evaluation_mode', %q", binary.EvaluationMode)
		}
	}
	return nil
}

// The limits of a maintenance policy.
const (
	maxExclusions         = 20
	maxUpgradeExclusions  = 3
	leastWindow           = 4 * time.Hour
	leastMaintenanceHours = 48 * time.Hour // in any 32 days, which contain each day of the week four times
)

// checkMaintenance returns an error for a maintenance policy that leaves too little time, or none.
func checkMaintenance(policy *container.MaintenancePolicy) error {
	if policy == nil || policy.Window == nil {
		return nil
	}
	if recurring := policy.Window.RecurringWindow; recurring != nil {
		if recurring.Window == nil {
			return api.InvalidArgument("\"maintenance_policy.window.recurring_window.window\" is required.")
		}
		if policy.Window.DailyMaintenanceWindow != nil {
			return api.InvalidArgument("Only one of \"daily_maintenance_window\" and \"recurring_window\" can be set.")
		}
		length, err := lengthOf("recurring_window", *recurring.Window)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(recurring.Recurrence, "FREQ=") {
			return api.InvalidArgument("Invalid value at 'maintenance_policy.window.recurring_window.recurrence', %q", recurring.Recurrence)
		}
		if each, known := perWeek(recurring.Recurrence); known && (length < leastWindow || 4*each*length < leastMaintenanceHours) {
			return api.InvalidArgument("The maintenance window must allow at least 48 hours of maintenance in 32 days, in parts of at least 4 hours.")
		}
	}
	upgrades := 0
	for name, window := range policy.Window.MaintenanceExclusions {
		if _, err := lengthOf("maintenance_exclusions."+name, window); err != nil {
			return err
		}
		scope := "NO_UPGRADES"
		if window.MaintenanceExclusionOptions != nil {
			api.SetDefault(&window.MaintenanceExclusionOptions.Scope, scope)
			scope = window.MaintenanceExclusionOptions.Scope
		}
		if !slices.Contains([]string{"NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"}, scope) {
			return api.InvalidArgument("Invalid value at 'maintenance_exclusions.%s.maintenance_exclusion_options.scope', %q", name, scope)
		}
		if scope == "NO_UPGRADES" {
			upgrades++
		}
	}
	if len(policy.Window.MaintenanceExclusions) > maxExclusions || upgrades > maxUpgradeExclusions {
		return api.InvalidArgument("A cluster can have %d maintenance exclusions, %d of them with the scope NO_UPGRADES.", maxExclusions, maxUpgradeExclusions)
	}
	return nil
}

// lengthOf returns the length of a window.
func lengthOf(field string, window container.TimeWindow) (time.Duration, error) {
	start, noStart := time.Parse(time.RFC3339, window.StartTime)
	end, noEnd := time.Parse(time.RFC3339, window.EndTime)
	if noStart != nil || noEnd != nil || !start.Before(end) {
		return 0, api.InvalidArgument("Invalid value at 'maintenance_policy.window.%s': start time %q must be before end time %q.", field, window.StartTime, window.EndTime)
	}
	return end.Sub(start), nil
}

// perWeek returns how often a rule recurs in a week. It knows the plain daily and weekly rules only.
func perWeek(rule string) (times time.Duration, known bool) {
	if rule == "FREQ=DAILY" {
		return 7, true
	}
	days, weekly := strings.CutPrefix(rule, "FREQ=WEEKLY;BYDAY=")
	return time.Duration(len(strings.Split(days, ","))), weekly && !strings.Contains(days, ";")
}

// checkNotifications returns an error unless the topic of the notifications is one of the project. The emulator sends none.
func checkNotifications(project string, config *container.NotificationConfig) error {
	if config == nil || config.Pubsub == nil || !config.Pubsub.Enabled {
		return nil
	}
	name, ok := strings.CutPrefix(config.Pubsub.Topic, "projects/"+project+"/topics/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return api.InvalidArgument("Topic %q must be of the form projects/%s/topics/{topic}, in the project of the cluster.", config.Pubsub.Topic, project)
	}
	if config.Pubsub.Filter != nil {
		for _, event := range config.Pubsub.Filter.EventType {
			if !slices.Contains([]string{"UPGRADE_AVAILABLE_EVENT", "UPGRADE_EVENT", "SECURITY_BULLETIN_EVENT", "UPGRADE_INFO_EVENT"}, event) {
				return api.InvalidArgument("Invalid value at 'notification_config.pubsub.filter.event_type', %q", event)
			}
		}
	}
	return nil
}

// checkLogging returns an error for an unknown component, and for components without those of the system.
func checkLogging(config *container.LoggingConfig) error {
	if config == nil || config.ComponentConfig == nil {
		return nil
	}
	components := config.ComponentConfig.EnableComponents
	for _, each := range components {
		known := []string{"SYSTEM_COMPONENTS", "WORKLOADS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER", "KCP_SSHD", "KCP_CONNECTION", "KCP_HPA"}
		if !slices.Contains(known, each) {
			return api.InvalidArgument("Invalid value at 'logging_config.component_config.enable_components', %q", each)
		}
	}
	if len(components) > 0 && !slices.Contains(components, "SYSTEM_COMPONENTS") {
		return api.InvalidArgument("\"logging_config.component_config.enable_components\" must contain SYSTEM_COMPONENTS if it contains any other.")
	}
	return nil
}

var kmsKeys = regexp.MustCompile(`^projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+$`)

// checkEncryption returns an error unless the key of the Secrets' encryption is in the region of the cluster. The emulator
// does not use the key.
func checkEncryption(wanted *container.Cluster) error {
	config := wanted.DatabaseEncryption
	if config == nil || config.State == "" || config.State == "DECRYPTED" {
		return nil
	}
	if !slices.Contains([]string{"ENCRYPTED", "ALL_OBJECTS_ENCRYPTION_ENABLED"}, config.State) {
		return api.InvalidArgument("Invalid value at 'database_encryption.state', %q", config.State)
	}
	key := kmsKeys.FindStringSubmatch(config.KeyName)
	if key == nil {
		return api.InvalidArgument("Key %q must be of the form projects/{project}/locations/{location}/keyRings/{ring}/cryptoKeys/{key}.", config.KeyName)
	}
	if region, _, _ := api.ParseLocation(wanted.Location); wanted.Location != "" && key[1] != region {
		return api.InvalidArgument("Key %q must be in the region of the cluster, %s.", config.KeyName, region)
	}
	return nil
}

func checkSecurityGroup(config *container.AuthenticatorGroupsConfig) error {
	if config == nil || !config.Enabled && config.SecurityGroup == "" {
		return nil
	}
	if domain, ok := strings.CutPrefix(config.SecurityGroup, "gke-security-groups@"); !ok || !strings.Contains(domain, ".") {
		return api.InvalidArgument("Security group %q must be of the form gke-security-groups@{domain}.", config.SecurityGroup)
	}
	return nil
}

func checkAuthorizedNetworks(config *container.MasterAuthorizedNetworksConfig) error {
	if config == nil {
		return nil
	}
	for _, block := range config.CidrBlocks {
		if prefix, err := netip.ParsePrefix(block.CidrBlock); err != nil || prefix != prefix.Masked() {
			return api.InvalidArgument("Invalid value at 'master_authorized_networks_config.cidr_blocks', %q", block.CidrBlock)
		}
	}
	return nil
}

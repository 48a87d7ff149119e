package gke

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// DefaultMaintenanceStart is the start of the maintenance window if Maintenance.Start is empty.
	DefaultMaintenanceStart = "03:00"
	// DefaultMaintenanceHours is the length of the maintenance window if Maintenance.Hours is zero. Google Cloud counts
	// no shorter window.
	DefaultMaintenanceHours = 4

	// anyDay is a day in the past, from which the window recurs. It must never change, because Google Cloud stores it.
	anyDay = "2026-01-01T"
	// leastMaintenance is the time that Google Cloud requires in any 32 days. They contain each day of the week at least
	// four times.
	leastMaintenance = 48
)

// The scopes of a MaintenanceExclusion.
const (
	// NoUpgrades excludes upgrades of the control plane and of the nodes. Google Cloud limits its length.
	NoUpgrades = "NO_UPGRADES"
	// NoMinorUpgrades lets patches through, for the control plane and for the nodes.
	NoMinorUpgrades = "NO_MINOR_UPGRADES"
	// NoMinorOrNodeUpgrades lets patches of the control plane through only.
	NoMinorOrNodeUpgrades = "NO_MINOR_OR_NODE_UPGRADES"
)

var (
	clock          = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)
	exclusionNames = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// Maintenance says when Google Cloud may upgrade the cluster and its nodes by itself. It is plain, because the shape of the
// policy depends on it. Its zero value is a daily window of four hours. Repairs, and fixes of critical vulnerabilities, may
// come at any time.
type Maintenance struct {
	// Start is the start of the window in UTC, such as 03:00; empty means DefaultMaintenanceStart.
	Start string `pulumi:"start,optional"`
	// Hours is the length of the window, 4 to 24; zero means DefaultMaintenanceHours.
	Hours int `pulumi:"hours,optional"`
	// Days are the days on which the window opens, of MO, TU, WE, TH, FR, SA and SU; none means every day. Google Cloud
	// requires 48 hours in any 32 days: three days of four hours, or one day of twelve.
	Days []string `pulumi:"days,optional"`
	// Exclusions are times without upgrades. An exclusion that was made by other means is removed.
	Exclusions []MaintenanceExclusion `pulumi:"exclusions,optional"`
}

// MaintenanceExclusion is a time without upgrades.
type MaintenanceExclusion struct {
	// Name is a name of lower-case letters, digits and hyphens, unique in the cluster. Required.
	Name string `pulumi:"name"`
	// Start is the first moment without upgrades, in the form of RFC 3339, such as 2026-12-20T00:00:00Z. Required.
	Start string `pulumi:"start"`
	// End is the end of the exclusion, in the same form. Required.
	End string `pulumi:"end"`
	// Scope is NO_UPGRADES, NO_MINOR_UPGRADES or NO_MINOR_OR_NODE_UPGRADES; empty means NO_UPGRADES.
	Scope string `pulumi:"scope,optional"`
}

// Problems returns a phrase for each value that NewCluster would refuse, so that a program can refuse it before it creates
// any resource. Each phrase begins with the field: start, hours, days or exclusions. A nil Maintenance has none.
func (m *Maintenance) Problems() []string {
	if m == nil {
		return nil
	}
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	week := []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}
	for _, day := range m.Days {
		refuse(!slices.Contains(week, day), "days contains %q, which is not one of %s", day, strings.Join(week, ", "))
	}
	refuse(m.Start != "" && !clock.MatchString(m.Start), "start %q is not a time of day, such as 03:00", m.Start)
	hours, days := cmp.Or(m.Hours, DefaultMaintenanceHours), len(slices.Compact(slices.Sorted(slices.Values(m.Days))))
	refuse(hours < DefaultMaintenanceHours || hours > 24, "hours is %d: 4 to 24 are possible", hours)
	refuse(days > 0 && hours*days*4 < leastMaintenance, "days are too few: %d of a week with %d hours each are below the %d hours in 32 days that Google Cloud requires",
		days, hours, leastMaintenance)
	names := map[string]bool{}
	for _, e := range m.Exclusions {
		problems = append(problems, e.problems()...)
		refuse(names[e.Name], "exclusions contain %s twice", e.Name)
		names[e.Name] = true
	}
	return problems
}

func (e MaintenanceExclusion) problems() []string {
	var problems []string
	if !exclusionNames.MatchString(e.Name) {
		problems = append(problems, fmt.Sprintf("exclusions contain %q, which is not a name of lower-case letters, digits and hyphens", e.Name))
	}
	start, noStart := time.Parse(time.RFC3339, e.Start)
	end, noEnd := time.Parse(time.RFC3339, e.End)
	if noStart != nil || noEnd != nil || !start.Before(end) {
		problems = append(problems, fmt.Sprintf("exclusions contain %s from %q to %q, which needs two times such as 2026-12-20T00:00:00Z, the earlier one first",
			e.Name, e.Start, e.End))
	}
	if scopes := []string{NoUpgrades, NoMinorUpgrades, NoMinorOrNodeUpgrades}; e.Scope != "" && !slices.Contains(scopes, e.Scope) {
		problems = append(problems, fmt.Sprintf("exclusions contain %s with scope %q, which is not one of %s", e.Name, e.Scope, strings.Join(scopes, ", ")))
	}
	return problems
}

// policy returns the policy in the provider's form.
func (m *Maintenance) policy() *container.ClusterMaintenancePolicyArgs {
	if m == nil {
		m = &Maintenance{}
	}
	start, hours := cmp.Or(m.Start, DefaultMaintenanceStart), cmp.Or(m.Hours, DefaultMaintenanceHours)
	recurrence := "FREQ=DAILY"
	if len(m.Days) > 0 {
		recurrence = "FREQ=WEEKLY;BYDAY=" + strings.Join(m.Days, ",")
	}
	opens, err := time.Parse(time.RFC3339, anyDay+start+":00Z")
	if err != nil {
		panic(err) // Problems has refused it
	}
	policy := &container.ClusterMaintenancePolicyArgs{RecurringWindow: &container.ClusterMaintenancePolicyRecurringWindowArgs{
		StartTime: pulumi.String(opens.Format(time.RFC3339)), Recurrence: pulumi.String(recurrence),
		EndTime: pulumi.String(opens.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)),
	}}
	var exclusions container.ClusterMaintenancePolicyMaintenanceExclusionArray
	for _, e := range m.Exclusions {
		exclusions = append(exclusions, &container.ClusterMaintenancePolicyMaintenanceExclusionArgs{
			ExclusionName: pulumi.String(e.Name), StartTime: pulumi.String(e.Start), EndTime: pulumi.String(e.End),
			ExclusionOptions: &container.ClusterMaintenancePolicyMaintenanceExclusionExclusionOptionsArgs{
				Scope: pulumi.String(cmp.Or(e.Scope, NoUpgrades)),
			},
		})
	}
	if exclusions != nil {
		policy.MaintenanceExclusions = exclusions
	}
	return policy
}

package container

import (
	"maps"
	"slices"

	"google.golang.org/api/container/v1"
)

// maintenancePolicy is the maintenance policy of a cluster in Pulumi's form.
type maintenancePolicy struct {
	DailyMaintenanceWindow *container.DailyMaintenanceWindow `json:"dailyMaintenanceWindow,omitempty"`
	MaintenanceExclusions  []maintenanceExclusion            `json:"maintenanceExclusions,omitempty"`
	RecurringWindow        *recurringWindow                  `json:"recurringWindow,omitempty"`
}

type maintenanceExclusion struct {
	EndTime          string                                 `json:"endTime"`
	ExclusionName    string                                 `json:"exclusionName"`
	ExclusionOptions *container.MaintenanceExclusionOptions `json:"exclusionOptions,omitempty"`
	StartTime        string                                 `json:"startTime"`
}

type recurringWindow struct {
	EndTime    string `json:"endTime"`
	Recurrence string `json:"recurrence"`
	StartTime  string `json:"startTime"`
}

// api returns the policy in the API's form.
func (m *maintenancePolicy) api() *container.MaintenancePolicy {
	if m == nil {
		return nil
	}
	window := &container.MaintenanceWindow{DailyMaintenanceWindow: m.DailyMaintenanceWindow}
	for _, e := range m.MaintenanceExclusions {
		if window.MaintenanceExclusions == nil {
			window.MaintenanceExclusions = map[string]container.TimeWindow{}
		}
		window.MaintenanceExclusions[e.ExclusionName] = container.TimeWindow{
			StartTime: e.StartTime, EndTime: e.EndTime, MaintenanceExclusionOptions: e.ExclusionOptions,
		}
	}
	if r := m.RecurringWindow; r != nil {
		window.RecurringWindow = &container.RecurringTimeWindow{
			Recurrence: r.Recurrence, Window: &container.TimeWindow{StartTime: r.StartTime, EndTime: r.EndTime},
		}
	}
	return &container.MaintenancePolicy{Window: window}
}

// maintenanceOf converts a policy from the API's form to Pulumi's. It returns nil for a policy without windows and
// exclusions, which the API returns for clusters without a policy.
func maintenanceOf(p *container.MaintenancePolicy) *maintenancePolicy {
	if p == nil || p.Window == nil {
		return nil
	}
	out := &maintenancePolicy{DailyMaintenanceWindow: p.Window.DailyMaintenanceWindow}
	for _, name := range slices.Sorted(maps.Keys(p.Window.MaintenanceExclusions)) {
		w := p.Window.MaintenanceExclusions[name]
		out.MaintenanceExclusions = append(out.MaintenanceExclusions, maintenanceExclusion{
			EndTime: w.EndTime, ExclusionName: name, ExclusionOptions: w.MaintenanceExclusionOptions, StartTime: w.StartTime,
		})
	}
	if r := p.Window.RecurringWindow; r != nil && r.Window != nil {
		out.RecurringWindow = &recurringWindow{EndTime: r.Window.EndTime, Recurrence: r.Recurrence, StartTime: r.Window.StartTime}
	}
	if out.DailyMaintenanceWindow == nil && out.RecurringWindow == nil && out.MaintenanceExclusions == nil {
		return nil
	}
	return out
}

package sql

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

type lookupInstanceArgs struct {
	Name    string `json:"name"`
	Project string `json:"project"`
}

type lookupInstanceResult struct {
	instanceState
	ID       string           `json:"id"`
	Settings []map[string]any `json:"settings"`
}

// GetDatabaseInstance returns the function that looks up an instance by its name.
func GetDatabaseInstance(p *core.Provider) frame.Function {
	g := provider{p}
	return frame.Function{
		Args:   sql.LookupDatabaseInstanceArgs{},
		Result: sql.LookupDatabaseInstanceResult{},
		Call: frame.Call(func(ctx context.Context, args lookupInstanceArgs) (lookupInstanceResult, error) {
			project, err := g.Project(args.Project)
			if err != nil {
				return lookupInstanceResult{}, err
			}
			state, err := g.liveInstance(ctx, project, args.Name)
			if err != nil {
				return lookupInstanceResult{}, fmt.Errorf("instance %q: %w", args.Name, err)
			}
			return lookupInstanceResult{
				instanceState: state,
				ID:            fmt.Sprintf("projects/%s/instances/%s", project, args.Name),
				Settings:      []map[string]any{state.Settings.lookup()},
			}, nil
		}),
	}
}

// lookup returns the settings in the form of the function's result, in which an object is a list with one element.
func (s *instanceSettings) lookup() map[string]any {
	m := map[string]any{
		"activationPolicy": s.ActivationPolicy, "availabilityType": s.AvailabilityType, "collation": s.Collation,
		"connectorEnforcement": s.ConnectorEnforcement, "databaseFlags": s.DatabaseFlags,
		"deletionProtectionEnabled": s.DeletionProtectionEnabled, "diskAutoresizeLimit": s.DiskAutoresizeLimit,
		"diskAutoresize": s.DiskAutoresize != nil && *s.DiskAutoresize, "diskSize": s.DiskSize, "diskType": s.DiskType,
		"edition": s.Edition, "pricingPlan": s.PricingPlan, "tier": s.Tier, "timeZone": s.TimeZone,
		"userLabels": s.UserLabels, "version": s.Version,
	}
	if s.IPConfiguration != nil {
		m["ipConfigurations"] = []any{s.IPConfiguration}
	}
	if s.BackupConfiguration != nil {
		m["backupConfigurations"] = []any{s.BackupConfiguration}
	}
	return m
}

type lookupDatabaseArgs struct {
	Instance string `json:"instance"`
	Name     string `json:"name"`
	Project  string `json:"project"`
}

type lookupDatabaseResult struct {
	databaseState
	ID string `json:"id"`
}

// GetDatabase returns the function that looks up a database by its name.
func GetDatabase(p *core.Provider) frame.Function {
	g := provider{p}
	return frame.Function{
		Args:   sql.LookupDatabaseArgs{},
		Result: sql.LookupDatabaseResult{},
		Call: frame.Call(func(ctx context.Context, args lookupDatabaseArgs) (lookupDatabaseResult, error) {
			project, err := g.Project(args.Project)
			if err != nil {
				return lookupDatabaseResult{}, err
			}
			state, err := g.liveDatabase(ctx, project, args.Instance, args.Name)
			if err != nil {
				return lookupDatabaseResult{}, fmt.Errorf("database %q of instance %q: %w", args.Name, args.Instance, err)
			}
			return lookupDatabaseResult{state, databaseID(state)}, nil
		}),
	}
}

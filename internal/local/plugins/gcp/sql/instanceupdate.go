package sql

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/api/sqladmin/v1beta4"
)

// updateInstance first makes the changes that need a call of their own, then replaces the settings. It starts a stopped
// instance before the other changes.
func (g provider) updateInstance(ctx context.Context, r instanceRequest) (instanceState, error) {
	project, name, a, old := r.State.Project, r.State.Name, r.Args, r.Old
	patch := func(what string, change *sqladmin.DatabaseInstance) error {
		err := g.sqlCall(ctx, project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
			return svc.Instances.Patch(project, name, change).Context(ctx).Do()
		})
		if err != nil {
			return fmt.Errorf("change the %s: %w", what, err)
		}
		return nil
	}
	if a.Settings == nil || old.Settings == nil {
		return instanceState{}, errors.New("settings are missing: an instance needs at least settings.tier")
	}
	if a.Settings.ActivationPolicy != old.Settings.ActivationPolicy && a.Settings.ActivationPolicy == "ALWAYS" {
		if err := patch("activation policy", &sqladmin.DatabaseInstance{Settings: &sqladmin.Settings{ActivationPolicy: "ALWAYS"}}); err != nil {
			return instanceState{}, err
		}
	}
	if a.DatabaseVersion != old.DatabaseVersion {
		if err := patch("version to "+a.DatabaseVersion, &sqladmin.DatabaseInstance{DatabaseVersion: a.DatabaseVersion}); err != nil {
			return instanceState{}, err
		}
	}
	if a.RootPassword != old.RootPassword {
		err := g.sqlCall(ctx, project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
			root := &sqladmin.User{Name: rootUser, Instance: name, Password: a.RootPassword}
			return svc.Users.Update(project, name, root).Host(anyHost).Name(root.Name).Context(ctx).Do()
		})
		if err != nil {
			return instanceState{}, fmt.Errorf("change the root password: %w", err)
		}
	}
	if a.MaintenanceVersion != old.MaintenanceVersion {
		if err := patch("maintenance version", &sqladmin.DatabaseInstance{MaintenanceVersion: a.MaintenanceVersion}); err != nil {
			return instanceState{}, err
		}
	}
	if s := a.Settings; s.Edition != old.Settings.Edition {
		change := &sqladmin.Settings{Edition: s.Edition, Tier: s.Tier, DataCacheConfig: s.DataCacheConfig}
		if err := patch("edition", &sqladmin.DatabaseInstance{Settings: change}); err != nil {
			return instanceState{}, err
		}
	}
	if err := g.updateSettings(ctx, r); err != nil {
		return instanceState{}, err
	}
	return g.liveInstance(ctx, project, name)
}

// updateSettings replaces all settings, so that it also removes those that the program no longer sets.
func (g provider) updateSettings(ctx context.Context, r instanceRequest) error {
	live, err := g.liveInstance(ctx, r.State.Project, r.State.Name)
	if err != nil {
		return err
	}
	settings := r.Args.Settings.api()
	settings.SettingsVersion = live.Settings.Version
	settings.Collation = "" // the API accepts a collation only for new instances
	err = g.sqlCall(ctx, r.State.Project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
		return svc.Instances.Update(r.State.Project, r.State.Name, &sqladmin.DatabaseInstance{Settings: settings}).Context(ctx).Do()
	})
	if err != nil {
		return fmt.Errorf("change the settings: %w", err)
	}
	return nil
}

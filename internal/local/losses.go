package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/teardown"
)

// Complete adds to the plan of down the databases that down deletes, and the parts of the home that stay.
func (p *Platform) Complete(ctx context.Context, plan *teardown.Plan, _ []apitype.ResourceV3, purge bool) error {
	running, err := p.client.Status(ctx)
	if err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
		return err
	}
	if !purge && p.Home.Exists() {
		plan.Stays = p.Home.Dir() + " stays, with the repositories and the logs: --purge removes it, too."
	}
	var unread []string
	plan.Lost, unread, err = p.databases(ctx, running)
	if len(unread) > 0 {
		plan.Unknown = "Databases may also be lost that these unreadable state files name: " + strings.Join(unread, "; ") + "."
	}
	return err
}

// Instance describes an instance by its name and address.
func (p *Platform) Instance(ctx context.Context, name string) (string, error) {
	running, err := p.client.Status(ctx)
	if err != nil {
		return "", err
	}
	address, err := p.instanceAddress(ctx, running, name)
	return fmt.Sprintf("%s (MySQL on %s)", name, address), err
}

// systemDatabases exist in each instance and hold no user data.
var systemDatabases = []string{"information_schema", "mysql", "performance_schema", "sys"}

// sql returns a client of the emulated Cloud SQL API, authenticated as the engineer.
func (p *Platform) sql(ctx context.Context, running supervisor.Status) (*sqladmin.Service, error) {
	options, err := cloudClient{running.GoogleURL, p.Home.EngineerCredentials()}.options(ctx, "GOOGLE_SQL_CUSTOM_ENDPOINT")
	if err != nil {
		return nil, err
	}
	return sqladmin.NewService(ctx, options...)
}

// instanceAddress returns the address of an instance.
func (p *Platform) instanceAddress(ctx context.Context, running supervisor.Status, name string) (string, error) {
	service, err := p.sql(ctx, running)
	if err != nil {
		return "", err
	}
	instance, err := service.Instances.Get(home.Project, name).Context(ctx).Do()
	if err != nil {
		return "", fmt.Errorf("find the address of Cloud SQL instance %s: %w", name, err)
	}
	if len(instance.IpAddresses) == 0 {
		return "no address", nil
	}
	return net.JoinHostPort(instance.IpAddresses[0].IpAddress, mysqlPort), nil
}

// mysqlPort is the port of every instance.
const mysqlPort = "3306"

// databases returns texts that name the platform's databases. It reads them from the emulated Cloud SQL or, without a
// supervisor, from the state of the teams' Stacks. unread has an error message for each state file that it could not
// read.
func (p *Platform) databases(ctx context.Context, running supervisor.Status) (found, unread []string, err error) {
	if running.GoogleURL == "" {
		return p.databasesOfState()
	}
	service, err := p.sql(ctx, running)
	if err != nil {
		return nil, nil, err
	}
	instances, err := service.Instances.List(home.Project).Context(ctx).Do()
	if err != nil {
		return nil, nil, fmt.Errorf("list the database instances: %w", err)
	}
	for _, instance := range instances.Items {
		list, err := service.Databases.List(home.Project, instance.Name).Context(ctx).Do()
		if err != nil {
			return nil, nil, fmt.Errorf("list the databases of %s: %w", instance.Name, err)
		}
		for _, database := range list.Items {
			if !slices.Contains(systemDatabases, database.Name) {
				found = append(found, databaseText(database.Name, instance.Name))
			}
		}
	}
	slices.Sort(found)
	return found, nil, nil
}

// databaseText returns the text for a database in the plan of down.
func databaseText(name, instance string) string {
	return "database " + name + " of instance " + instance
}

// databasesOfState reads the state files of the teams' Stacks, in the layout of Pulumi's file backend. unread has an
// error message for each file that it could not read.
func (p *Platform) databasesOfState() (found, unread []string, err error) {
	files, err := filepath.Glob(filepath.Join(p.Home.TenantStates(), "*", ".pulumi", "stacks", "*", "*.json"))
	if err != nil {
		return nil, nil, err
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			unread = append(unread, err.Error())
			continue
		}
		var state struct {
			Checkpoint struct {
				Latest struct {
					Resources []struct {
						Type   string         `json:"type"`
						Inputs map[string]any `json:"inputs"`
					} `json:"resources"`
				} `json:"latest"`
			} `json:"checkpoint"`
		}
		if err := json.Unmarshal(raw, &state); err != nil {
			unread = append(unread, fmt.Sprintf("%s: %v", path, err))
			continue
		}
		for _, resource := range state.Checkpoint.Latest.Resources {
			if resource.Type == "gcp:sql/database:Database" {
				found = append(found, databaseText(fmt.Sprint(resource.Inputs["name"]), fmt.Sprint(resource.Inputs["instance"])))
			}
		}
	}
	slices.Sort(found)
	return found, unread, nil
}

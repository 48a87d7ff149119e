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

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/teardown"
	"github.com/strata-platform/strata/platform"
)

// Plan returns what Down would do, based on the existing resources. It changes nothing and starts nothing. For a
// stopped cluster, it reads the teams' state.
func (p *Platform) Plan(ctx context.Context, purge bool) (teardown.Plan, error) {
	running, err := p.client.Status(ctx)
	if err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
		return teardown.Plan{}, err
	}
	var plan teardown.Plan
	what := map[string]string{}
	if running.Cluster == supervisor.ClusterRunning {
		err = p.planCluster(ctx, what)
	} else if _, statErr := os.Stat(p.Home.AdminKubeconfig()); statErr == nil {
		plan.Unknown = "The cluster does not run. `" + p.Home.Call("local start") + "` starts it, then the plan shows its Stacks."
		what[stacksStep], what[namespacesStep] = "those of the cluster, which is started for it", "those of the teams, the platform and the operator"
		err = nil
	} else {
		what[stacksStep], what[namespacesStep], err = "no cluster", "no cluster", nil
	}
	if err == nil {
		var unread []string
		plan.Lost, unread, err = p.databases(ctx, running)
		if len(unread) > 0 {
			plan.Unknown = strings.TrimSpace(plan.Unknown + " Databases of these may be lost, too, which cannot be read: " + strings.Join(unread, "; ") + ".")
		}
	}
	for layer, step := range map[string]string{PlatformLayer: platformStep, BootstrapLayer: bootstrapStep} {
		if err == nil {
			what[step], err = p.planLayer(ctx, layer)
		}
	}
	what[stopStep] = "nothing runs"
	if running.Pid != 0 {
		what[stopStep] = fmt.Sprintf("the supervisor (pid %d) and %d processes", running.Pid, len(running.Processes))
	}
	for _, step := range p.downSteps(purge) {
		plan.Steps = append(plan.Steps, teardown.Step{Name: step.name, What: what[step.name]})
	}
	if !purge && p.Home.Exists() {
		plan.Stays = p.Home.Dir() + " stays, with the repositories and the logs: --purge removes it, too."
	}
	return plan, err
}

func (p *Platform) planCluster(ctx context.Context, what map[string]string) error {
	c, err := p.teardown(ctx)
	if err != nil {
		return err
	}
	all, err := c.Stacks(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, s := range all {
		name := s.String()
		if s.Keeps {
			name += " (what it made stays: destroyOnFinalize is not set)"
		}
		names = append(names, name)
	}
	what[stacksStep] = teardown.Counted("Stack", names)
	namespaces, err := c.Namespaces(ctx)
	what[namespacesStep] = teardown.Counted("namespace", namespaces)
	return err
}

func (p *Platform) planLayer(ctx context.Context, layer string) (string, error) {
	if !p.Made(layer) {
		return "never made", nil
	}
	// Reading a file backend needs only its location.
	runner := layers.Runner{Stack: p.Environment, WorkDir: p.Home.Layer, Env: map[string]string{"PULUMI_BACKEND_URL": p.layerBackend()}}
	project := map[string]string{BootstrapLayer: bootstrap.Project, PlatformLayer: platform.Project}[layer]
	count, err := runner.Resources(ctx, layers.Layer{Name: layer, Project: project})
	return fmt.Sprintf("%d resources", count), err
}

// systemDatabases exist in each instance and hold no user data.
var systemDatabases = []string{"information_schema", "mysql", "performance_schema", "sys"}

// sql returns a client of the emulated Cloud SQL API, authenticated as the engineer.
func (p *Platform) sql(ctx context.Context, running supervisor.Status) (*sqladmin.Service, error) {
	options, err := lost{running.GoogleURL, p.Home.EngineerCredentials()}.client(ctx, "GOOGLE_SQL_CUSTOM_ENDPOINT")
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

const mysqlPort = "3306"

// databases returns the names of the platform's databases. It reads them from the emulated Cloud SQL or, if that does
// not run, from the state of the teams' Stacks. unread lists the state files that it could not read.
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

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/settle"
)

// Complete adds to the plan of down the databases that down deletes, and the parts of the home that stay.
func (p *Platform) Complete(ctx context.Context, plan *lifecycle.Plan, _ []apitype.ResourceV3, purge bool) error {
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
		plan.Unknown = "Databases may also be lost that these unreadable state files and folders name: " + strings.Join(unread, "; ") + "."
	}
	return err
}

// systemDatabases exist in each instance and hold no user data.
var systemDatabases = []string{"information_schema", "mysql", "performance_schema", "sys"}

// databases returns texts that name the platform's databases. It reads them from the emulated Cloud SQL or, without a
// supervisor, from the state of the teams' Stacks. unread has an error message for each state file that it could not
// read.
func (p *Platform) databases(ctx context.Context, running supervisor.Status) (found, unread []string, err error) {
	if running.GoogleURL == "" {
		return p.databasesOfState(ctx)
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
	return terminal.Line("database "+name+" of instance "+instance, longestDatabase)
}

const (
	// longestDatabase is the maximum length of the text for one database or unreadable file, in characters.
	longestDatabase = 300

	// mostDatabases and mostUnread bound how many databases and unreadable files the plan lists.
	mostDatabases, mostUnread = 1000, 20
)

// databasesOfState reads the state files in the teams' folders of file backends. A team's run can write there, so the
// results are escaped for a terminal and bounded. unread has an error message for each file and folder that it could not
// read.
func (p *Platform) databasesOfState(ctx context.Context) (found, unread []string, err error) {
	states := p.Home.TenantStates()
	namespaces, err := os.ReadDir(states)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("find the state of the teams' Stacks: %w", err)
	}
	note := func(path string, err error) {
		if err != nil {
			unread = append(unread, terminal.Line(fmt.Sprintf("%s: %v", path, err), longestDatabase))
		}
	}
	for _, namespace := range namespaces {
		dir := filepath.Join(states, namespace.Name())
		note(dir, backend.EachState(ctx, dir, backend.MaxState, func(file string, state []byte, err error) bool {
			if err == nil {
				err = settle.EachResource(ctx, state, func(kind string, inputs map[string]any) bool {
					if kind == "gcp:sql/database:Database" {
						found = append(found, databaseText(fmt.Sprint(inputs["name"]), fmt.Sprint(inputs["instance"])))
					}
					return true
				})
			}
			note(filepath.Join(dir, filepath.FromSlash(file)), err)
			return true
		}))
	}
	slices.Sort(found)
	return atMost(found, mostDatabases, "databases"), atMost(unread, mostUnread, "of them"), ctx.Err()
}

// atMost returns the first texts of a list. If the list is longer, a last text counts the others.
func atMost(list []string, most int, noun string) []string {
	if more := len(list) - most; more > 0 {
		return append(list[:most], fmt.Sprintf("… and %d more %s", more, noun))
	}
	return list
}

// Package losses names the data that `strata down` deletes.
package losses

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/strata-platform/strata/internal/local/cloudclient"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/settle"
)

// systemDatabases exist in each instance and hold no user data.
var systemDatabases = []string{"information_schema", "mysql", "performance_schema", "sys"}

// Databases returns texts that name the databases of a home's platform. It reads them from the emulated Cloud SQL at
// googleURL or, if googleURL is empty because no supervisor runs, from the states of the teams' Stacks. unread has an
// error message for each state file that it could not read.
func Databases(ctx context.Context, h home.Home, googleURL string) (found, unread []string, err error) {
	if googleURL == "" {
		return ofStates(ctx, h.TenantStates())
	}
	service, err := cloudclient.Client{URL: googleURL, Credentials: h.EngineerCredentials()}.SQL(ctx)
	if err != nil {
		return nil, nil, err
	}
	instances, err := service.Instances.List(h.Project()).Context(ctx).Do()
	if err != nil {
		return nil, nil, fmt.Errorf("list the database instances: %w", err)
	}
	for _, instance := range instances.Items {
		list, err := service.Databases.List(h.Project(), instance.Name).Context(ctx).Do()
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

// ofStates reads the state files in the teams' folders of file backends, which lie in states. A team's run can write
// there, so the results are escaped for a terminal and bounded. unread has an error message for each file and folder that
// it could not read.
func ofStates(ctx context.Context, states string) (found, unread []string, err error) {
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
				err = settle.EachNamed(ctx, state, func(kind, name, instance string) bool {
					if kind == project.DatabaseType {
						found = append(found, databaseText(name, instance))
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

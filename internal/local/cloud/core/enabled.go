package core

import (
	"net/http"
	"slices"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// ServiceStates holds the APIs that a project has ever enabled or disabled, and whether they are enabled.
const ServiceStates store.Table = "serviceStates" // <project>/<service>

// requireEnabled returns an error if the API of a call is disabled in the project.
func (c *Core) requireEnabled(tx *bbolt.Tx, svc *api.Service, about *api.Project) error {
	if about == nil || svc.AlwaysEnabled {
		return nil
	}
	enabled, err := c.IsEnabled(tx, about, svc.Name)
	if err != nil || enabled {
		return err
	}
	number := strconv.FormatInt(about.Number, 10)
	visit := "https://console.developers.google.com/apis/api/" + svc.Name + "/overview?project=" + number
	refusal := api.NewError(http.StatusForbidden, "PERMISSION_DENIED", "accessNotConfigured",
		"%s has not been used in project %s before or it is disabled. Enable it by visiting %s then retry. "+
			"If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry.",
		svc.Title, number, visit)
	return refusal.WithInfo("SERVICE_DISABLED", "googleapis.com", map[string]string{
		"service": svc.Name, "serviceTitle": svc.Title, "consumer": "projects/" + number, "containerInfo": number, "activationUrl": visit,
	})
}

// IsEnabled reports whether an API is enabled in a project. In a new project, the emulated APIs are enabled.
func (c *Core) IsEnabled(tx *bbolt.Tx, about *api.Project, name string) (bool, error) {
	state, err := store.Get[bool](tx, ServiceStates, about.ID+"/"+name)
	if err != nil || state != nil {
		return state != nil && *state, err
	}
	return slices.ContainsFunc(c.Services(), func(svc *api.Service) bool { return svc.Name == name && svc.Title != "" }), nil
}

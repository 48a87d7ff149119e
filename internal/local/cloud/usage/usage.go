// Package usage emulates the Service Usage API: which APIs a project has enabled.
package usage

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/serviceusage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// doneOperation is the name of every operation, because all operations are done when the call returns.
const doneOperation = "operations/noop.DONE_OPERATION"

// service handles the calls.
type service struct{ *core.Core }

// Register adds the Service Usage API to the emulator.
func Register(c *core.Core) {
	s := &service{c}
	const (
		all = "v1/projects/{project}/services"
		one = all + "/{service}"
	)
	c.Register(&api.Service{
		Name:          "serviceusage.googleapis.com",
		Title:         "Service Usage API",
		Prefix:        "serviceusage",
		Scopes:        []string{"https://www.googleapis.com/auth/service.management"},
		ReadScopes:    []string{"https://www.googleapis.com/auth/cloud-platform.read-only"},
		AlwaysEnabled: true, // a project that disabled it could not enable it again
		Denied: func(_ api.Principal, permission string, on api.Resource) *api.Error {
			return api.PermissionDenied("Permission denied on %s: %s is required.", on.Name, permission).WithInfo(
				"AUTH_PERMISSION_DENIED", "serviceusage.googleapis.com", map[string]string{"permission": permission, "resource": on.Name})
		},
		Routes: []api.Route{
			{Method: "POST", Pattern: all + ":batchEnable", Permission: "serviceusage.services.enable", Handle: s.batchEnableServices},
			{Method: "GET", Pattern: all + ":batchGet", Permission: "serviceusage.services.get", Handle: s.batchGetServices},
			{Method: "GET", Pattern: all, Permission: "serviceusage.services.list", Handle: s.listServices},
			{Method: "POST", Pattern: one + ":enable", Permission: "serviceusage.services.enable", Handle: s.enableService},
			{Method: "POST", Pattern: one + ":disable", Permission: "serviceusage.services.disable", Handle: s.disableService},
			{Method: "GET", Pattern: one, Permission: "serviceusage.services.get", Handle: s.getService},
			// Every operation is done when its call returns, so this call reveals nothing and requires no permission.
			{Method: "GET", Pattern: "v1/operations/{operation}", Handle: getDoneOperation},
		},
	})
}

// serviceNames matches the names of APIs, emulated or not.
var serviceNames = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.googleapis\.com$`)

// emulatedNames returns the names of the emulated APIs.
func (s *service) emulatedNames() []string {
	names := make([]string, 0, len(s.Services()))
	for _, svc := range s.Services() {
		if svc.Title != "" {
			names = append(names, svc.Name)
		}
	}
	return names
}

// apiState describes an API in a project. Projects can enable APIs that are not emulated, without effect.
func (s *service) apiState(tx *bbolt.Tx, about *api.Project, name string) (*serviceusage.GoogleApiServiceusageV1Service, error) {
	if !serviceNames.MatchString(name) {
		return nil, api.PermissionDenied("Not found or permission denied for service(s): %s.", name).WithInfo(
			"SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED", "serviceusage.googleapis.com", map[string]string{"services": name})
	}
	enabled, err := s.IsEnabled(tx, about, name)
	if err != nil {
		return nil, err
	}
	parent := "projects/" + strconv.FormatInt(about.Number, 10)
	described := &serviceusage.GoogleApiServiceusageV1Service{
		Name:   parent + "/services/" + name,
		Parent: parent,
		State:  "DISABLED",
		Config: &serviceusage.GoogleApiServiceusageV1ServiceConfig{Name: name},
	}
	if enabled {
		described.State = "ENABLED"
	}
	for _, svc := range s.Services() {
		if svc.Name == name {
			described.Config.Title = svc.Title
		}
	}
	return described, nil
}

// apiStates describes several APIs.
func (s *service) apiStates(tx *bbolt.Tx, about *api.Project, names []string) ([]*serviceusage.GoogleApiServiceusageV1Service, error) {
	var all []*serviceusage.GoogleApiServiceusageV1Service
	for _, name := range names {
		described, err := s.apiState(tx, about, name)
		if err != nil {
			return nil, err
		}
		all = append(all, described)
	}
	return all, nil
}

func (s *service) getService(c *api.Call) (any, error) {
	var found *serviceusage.GoogleApiServiceusageV1Service
	err := s.Store.View(func(tx *bbolt.Tx) (err error) {
		found, err = s.apiState(tx, c.Project, c.Vars["service"])
		return err
	})
	return found, err
}

// listServices lists the emulated APIs, and those that the project has ever enabled. Google lists all of its APIs.
func (s *service) listServices(c *api.Call) (any, error) {
	wanted := strings.ReplaceAll(c.Request.URL.Query().Get("filter"), " ", "")
	if wanted != "" && wanted != "state:ENABLED" && wanted != "state:DISABLED" {
		return nil, api.InvalidArgument("The filter %q is not supported: use state:ENABLED or state:DISABLED.", wanted)
	}
	var all []*serviceusage.GoogleApiServiceusageV1Service
	err := s.Store.View(func(tx *bbolt.Tx) error {
		names := s.emulatedNames()
		err := store.Each(tx, core.ServiceStates, c.Project.ID+"/", func(key string, _ *bool) error {
			names = append(names, strings.TrimPrefix(key, c.Project.ID+"/"))
			return nil
		})
		if err != nil {
			return err
		}
		slices.Sort(names)
		all, err = s.apiStates(tx, c.Project, slices.Compact(names))
		return err
	})
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(d *serviceusage.GoogleApiServiceusageV1Service) bool {
		return wanted != "" && wanted != "state:"+d.State
	})
	answer := &serviceusage.ListServicesResponse{}
	name := func(d *serviceusage.GoogleApiServiceusageV1Service) string { return d.Name }
	answer.Services, answer.NextPageToken, err = api.Page(c, all, name, 50, 200)
	return answer, err
}

func (s *service) batchGetServices(c *api.Call) (any, error) {
	asked := c.Request.URL.Query()["names"]
	if len(asked) > 30 {
		return nil, api.InvalidArgument("At most 30 services can be read at once.")
	}
	parents := []string{"projects/" + c.Project.ID + "/services/", "projects/" + strconv.FormatInt(c.Project.Number, 10) + "/services/"}
	var names []string
	for _, name := range asked {
		at := slices.IndexFunc(parents, func(parent string) bool { return strings.HasPrefix(name, parent) })
		if at < 0 {
			return nil, api.InvalidArgument("%q is no service of the project %s: use %sSERVICE.", name, c.Project.ID, parents[0])
		}
		names = append(names, strings.TrimPrefix(name, parents[at]))
	}
	answer := &serviceusage.BatchGetServicesResponse{}
	err := s.Store.View(func(tx *bbolt.Tx) (err error) {
		answer.Services, err = s.apiStates(tx, c.Project, names)
		return err
	})
	return answer, err
}

func (s *service) enableService(c *api.Call) (any, error) {
	var request serviceusage.EnableServiceRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	changed, err := s.setServices(c.Project, true, c.Vars["service"])
	if err != nil {
		return nil, err
	}
	return doneWith("EnableServiceResponse", "service", changed[0]), nil
}

func (s *service) disableService(c *api.Call) (any, error) {
	var request serviceusage.DisableServiceRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	changed, err := s.setServices(c.Project, false, c.Vars["service"])
	if err != nil {
		return nil, err
	}
	return doneWith("DisableServiceResponse", "service", changed[0]), nil
}

func (s *service) batchEnableServices(c *api.Call) (any, error) {
	var request serviceusage.BatchEnableServicesRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	if n := len(request.ServiceIds); n == 0 || n > 20 {
		return nil, api.InvalidArgument("Invalid value at 'service_ids': 1 to 20 services can be enabled at once, not %d.", n)
	}
	changed, err := s.setServices(c.Project, true, request.ServiceIds...)
	if err != nil {
		return nil, err
	}
	return doneWith("BatchEnableServicesResponse", "services", changed), nil
}

// setServices enables or disables APIs in one transaction, and describes them.
func (s *service) setServices(about *api.Project, enabled bool, names ...string) ([]*serviceusage.GoogleApiServiceusageV1Service, error) {
	var changed []*serviceusage.GoogleApiServiceusageV1Service
	err := s.Store.Update(func(tx *bbolt.Tx) (err error) {
		for _, name := range names {
			if err := store.Put(tx, core.ServiceStates, about.ID+"/"+name, enabled); err != nil {
				return err
			}
		}
		changed, err = s.apiStates(tx, about, names)
		return err
	})
	return changed, err
}

// doneWith returns the finished operation of a change. The field of its response contains the changed APIs.
func doneWith(kind, field string, changed any) any {
	return map[string]any{"name": doneOperation, "done": true, "response": map[string]any{
		"@type": "type.googleapis.com/google.api.serviceusage.v1." + kind,
		field:   changed,
	}}
}

func getDoneOperation(c *api.Call) (any, error) {
	if name := "operations/" + c.Vars["operation"]; name != doneOperation {
		return nil, api.NotFound("Operation %s not found.", name)
	}
	return &serviceusage.Operation{Name: doneOperation, Done: true, Response: googleapi.RawMessage(`{}`)}, nil
}

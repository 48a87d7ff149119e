package cloud

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/serviceusage/v1"
)

// doneOperation is the name of every operation: all are done when the emulator answers.
const doneOperation = "operations/noop.DONE_OPERATION"

type usageService struct{ *Core }

// registerUsage adds the Service Usage API to the emulator.
func registerUsage(c *Core) {
	s := &usageService{c}
	const (
		all = "v1/projects/{project}/services"
		one = all + "/{service}"
	)
	c.register(&service{
		name:          "serviceusage.googleapis.com",
		title:         "Service Usage API",
		prefix:        "serviceusage",
		scopes:        []string{"https://www.googleapis.com/auth/service.management"},
		readScopes:    []string{"https://www.googleapis.com/auth/cloud-platform.read-only"},
		alwaysEnabled: true, // a project that disabled it could not enable it again
		denied: func(_ principal, permission string, on resource) *apiError {
			return permissionDenied("Permission denied on %s: %s is required.", on.name, permission).withInfo(
				"AUTH_PERMISSION_DENIED", "serviceusage.googleapis.com", map[string]string{"permission": permission, "resource": on.name})
		},
		routes: []route{
			{method: "POST", pattern: all + ":batchEnable", permission: "serviceusage.services.enable", handle: s.batchEnableServices},
			{method: "GET", pattern: all + ":batchGet", permission: "serviceusage.services.get", handle: s.batchGetServices},
			{method: "GET", pattern: all, permission: "serviceusage.services.list", handle: s.listServices},
			{method: "POST", pattern: one + ":enable", permission: "serviceusage.services.enable", handle: s.enableService},
			{method: "POST", pattern: one + ":disable", permission: "serviceusage.services.disable", handle: s.disableService},
			{method: "GET", pattern: one, permission: "serviceusage.services.get", handle: s.getService},
			// Every operation is done when the emulator answers, so the call reveals nothing and needs no permission.
			{method: "GET", pattern: "v1/operations/{operation}", handle: getDoneOperation},
		},
	})
}

// serviceNames matches the names of APIs, emulated or not.
var serviceNames = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.googleapis\.com$`)

// emulatedNames returns the names of the emulated APIs.
func (s *usageService) emulatedNames() []string {
	names := make([]string, 0, len(s.services()))
	for _, svc := range s.services() {
		if svc.title != "" {
			names = append(names, svc.name)
		}
	}
	return names
}

// apiState describes an API in a project. Projects can enable APIs that are not emulated, without effect.
func (s *usageService) apiState(tx *bbolt.Tx, about *project, name string) (*serviceusage.GoogleApiServiceusageV1Service, error) {
	if !serviceNames.MatchString(name) {
		return nil, permissionDenied("Not found or permission denied for service(s): %s.", name).withInfo(
			"SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED", "serviceusage.googleapis.com", map[string]string{"services": name})
	}
	enabled, err := s.isEnabled(tx, about, name)
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
	for _, svc := range s.services() {
		if svc.name == name {
			described.Config.Title = svc.title
		}
	}
	return described, nil
}

// apiStates describes several APIs.
func (s *usageService) apiStates(tx *bbolt.Tx, about *project, names []string) ([]*serviceusage.GoogleApiServiceusageV1Service, error) {
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

func (s *usageService) getService(c *call) (any, error) {
	var found *serviceusage.GoogleApiServiceusageV1Service
	err := s.store.view(func(tx *bbolt.Tx) (err error) {
		found, err = s.apiState(tx, c.project, c.vars["service"])
		return err
	})
	return found, err
}

// listServices answers with the emulated APIs and those that the project ever enabled. Google lists all of its APIs.
func (s *usageService) listServices(c *call) (any, error) {
	wanted := strings.ReplaceAll(c.request.URL.Query().Get("filter"), " ", "")
	if wanted != "" && wanted != "state:ENABLED" && wanted != "state:DISABLED" {
		return nil, invalidArgument("The filter %q is not supported: use state:ENABLED or state:DISABLED.", wanted)
	}
	var all []*serviceusage.GoogleApiServiceusageV1Service
	err := s.store.view(func(tx *bbolt.Tx) error {
		names := s.emulatedNames()
		err := each(tx, serviceStates, c.project.ID+"/", func(key string, _ *bool) error {
			names = append(names, strings.TrimPrefix(key, c.project.ID+"/"))
			return nil
		})
		if err != nil {
			return err
		}
		slices.Sort(names)
		all, err = s.apiStates(tx, c.project, slices.Compact(names))
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
	answer.Services, answer.NextPageToken, err = page(c, all, name, 50, 200)
	return answer, err
}

func (s *usageService) batchGetServices(c *call) (any, error) {
	asked := c.request.URL.Query()["names"]
	if len(asked) > 30 {
		return nil, invalidArgument("At most 30 services can be read at once.")
	}
	parents := []string{"projects/" + c.project.ID + "/services/", "projects/" + strconv.FormatInt(c.project.Number, 10) + "/services/"}
	var names []string
	for _, name := range asked {
		at := slices.IndexFunc(parents, func(parent string) bool { return strings.HasPrefix(name, parent) })
		if at < 0 {
			return nil, invalidArgument("%q is no service of the project %s: use %sSERVICE.", name, c.project.ID, parents[0])
		}
		names = append(names, strings.TrimPrefix(name, parents[at]))
	}
	answer := &serviceusage.BatchGetServicesResponse{}
	err := s.store.view(func(tx *bbolt.Tx) (err error) {
		answer.Services, err = s.apiStates(tx, c.project, names)
		return err
	})
	return answer, err
}

func (s *usageService) enableService(c *call) (any, error) {
	var request serviceusage.EnableServiceRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	changed, err := s.setServices(c.project, true, c.vars["service"])
	if err != nil {
		return nil, err
	}
	return doneWith("EnableServiceResponse", "service", changed[0]), nil
}

func (s *usageService) disableService(c *call) (any, error) {
	var request serviceusage.DisableServiceRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	changed, err := s.setServices(c.project, false, c.vars["service"])
	if err != nil {
		return nil, err
	}
	return doneWith("DisableServiceResponse", "service", changed[0]), nil
}

func (s *usageService) batchEnableServices(c *call) (any, error) {
	var request serviceusage.BatchEnableServicesRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	if n := len(request.ServiceIds); n == 0 || n > 20 {
		return nil, invalidArgument("Invalid value at 'service_ids': 1 to 20 services can be enabled at once, not %d.", n)
	}
	changed, err := s.setServices(c.project, true, request.ServiceIds...)
	if err != nil {
		return nil, err
	}
	return doneWith("BatchEnableServicesResponse", "services", changed), nil
}

// setServices enables or disables APIs in one transaction, and describes them.
func (s *usageService) setServices(about *project, enabled bool, names ...string) ([]*serviceusage.GoogleApiServiceusageV1Service, error) {
	var changed []*serviceusage.GoogleApiServiceusageV1Service
	err := s.store.update(func(tx *bbolt.Tx) (err error) {
		for _, name := range names {
			if err := put(tx, serviceStates, about.ID+"/"+name, enabled); err != nil {
				return err
			}
		}
		changed, err = s.apiStates(tx, about, names)
		return err
	})
	return changed, err
}

// doneWith returns the finished operation of a change. A field of its response holds the changed APIs.
func doneWith(kind, field string, changed any) any {
	return map[string]any{"name": doneOperation, "done": true, "response": map[string]any{
		"@type": "type.googleapis.com/google.api.serviceusage.v1." + kind,
		field:   changed,
	}}
}

func getDoneOperation(c *call) (any, error) {
	if name := "operations/" + c.vars["operation"]; name != doneOperation {
		return nil, notFound("Operation %s not found.", name)
	}
	return &serviceusage.Operation{Name: doneOperation, Done: true, Response: googleapi.RawMessage(`{}`)}, nil
}

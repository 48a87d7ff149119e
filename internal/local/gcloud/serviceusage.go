package gcloud

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/serviceusage/v1"
)

// doneOperation is the name of an operation that had nothing to wait for.
const doneOperation = "operations/noop.DONE_OPERATION"

func (s *Server) serviceUsageService() *service {
	const (
		all = "v1/projects/{project}/services"
		one = all + "/{service}"
	)
	return &service{
		name:   "serviceusage.googleapis.com",
		title:  "Service Usage API",
		prefix: "serviceusage",
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
			// Every operation is done when it is answered, so there is nothing to read and nothing to protect.
			{method: "GET", pattern: "v1/operations/{operation}", handle: getDoneOperation},
		},
	}
}

// requireEnabled refuses the calls about a project that has the API disabled.
func (s *Server) requireEnabled(tx *bbolt.Tx, svc *service, about *project) error {
	if about == nil || svc.prefix == "serviceusage" {
		return nil
	}
	disabled, err := get[bool](tx, disabledServices, about.ID+"/"+svc.name)
	if err != nil || disabled == nil {
		return err
	}
	number := strconv.FormatInt(about.Number, 10)
	visit := "https://console.developers.google.com/apis/api/" + svc.name + "/overview?project=" + number
	refusal := newError(http.StatusForbidden, "PERMISSION_DENIED", "accessNotConfigured",
		"%s has not been used in project %s before or it is disabled. Enable it by visiting %s then retry. "+
			"If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry.",
		svc.title, number, visit)
	return refusal.withInfo("SERVICE_DISABLED", "googleapis.com", map[string]string{
		"service": svc.name, "serviceTitle": svc.title, "consumer": "projects/" + number, "containerInfo": number, "activationUrl": visit,
	})
}

func (s *Server) known(name string) bool {
	for _, svc := range s.services {
		if svc.name == name {
			return true
		}
	}
	return false
}

// serviceState describes an API in a project. An API that is not emulated can be enabled, and is never in the way.
func (s *Server) serviceState(tx *bbolt.Tx, about *project, name string) (*serviceusage.GoogleApiServiceusageV1Service, error) {
	disabled, err := get[bool](tx, disabledServices, about.ID+"/"+name)
	if err != nil {
		return nil, err
	}
	parent := "projects/" + strconv.FormatInt(about.Number, 10)
	state := "ENABLED"
	if disabled != nil {
		state = "DISABLED"
	}
	return &serviceusage.GoogleApiServiceusageV1Service{
		Name:   parent + "/services/" + name,
		Parent: parent,
		State:  state,
		Config: &serviceusage.GoogleApiServiceusageV1ServiceConfig{Name: name},
	}, nil
}

func (s *Server) getService(c *call) (any, error) {
	var found *serviceusage.GoogleApiServiceusageV1Service
	err := s.store.view(func(tx *bbolt.Tx) (err error) {
		found, err = s.serviceState(tx, c.project, c.vars["service"])
		return err
	})
	return found, err
}

func (s *Server) listServices(c *call) (any, error) {
	wanted := strings.ReplaceAll(c.request.URL.Query().Get("filter"), " ", "")
	if wanted != "" && wanted != "state:ENABLED" && wanted != "state:DISABLED" {
		return nil, invalidArgument("The filter %q is not supported: use state:ENABLED or state:DISABLED.", wanted)
	}
	names := make([]string, 0, len(s.services))
	for _, svc := range s.services {
		names = append(names, svc.name)
	}
	slices.Sort(names)
	answer := &serviceusage.ListServicesResponse{}
	err := s.store.view(func(tx *bbolt.Tx) error {
		for _, name := range names {
			found, err := s.serviceState(tx, c.project, name)
			if err != nil {
				return err
			}
			if wanted == "" || wanted == "state:"+found.State {
				answer.Services = append(answer.Services, found)
			}
		}
		return nil
	})
	return answer, err
}

func (s *Server) batchGetServices(c *call) (any, error) {
	answer := &serviceusage.BatchGetServicesResponse{}
	err := s.store.view(func(tx *bbolt.Tx) error {
		for _, name := range c.request.URL.Query()["names"] {
			found, err := s.serviceState(tx, c.project, name[strings.LastIndex(name, "/")+1:])
			if err != nil {
				return err
			}
			answer.Services = append(answer.Services, found)
		}
		return nil
	})
	return answer, err
}

func (s *Server) enableService(c *call) (any, error) {
	if err := s.setServices(c.project, false, c.vars["service"]); err != nil {
		return nil, err
	}
	return s.doneWith(c, "EnableServiceResponse", "service", c.vars["service"])
}

func (s *Server) disableService(c *call) (any, error) {
	var request serviceusage.DisableServiceRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	if !s.known(c.vars["service"]) {
		return nil, invalidArgument("Service %s is not emulated and cannot be disabled.", c.vars["service"])
	}
	if err := s.setServices(c.project, true, c.vars["service"]); err != nil {
		return nil, err
	}
	return s.doneWith(c, "DisableServiceResponse", "service", c.vars["service"])
}

func (s *Server) batchEnableServices(c *call) (any, error) {
	var request serviceusage.BatchEnableServicesRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	if err := s.setServices(c.project, false, request.ServiceIds...); err != nil {
		return nil, err
	}
	return s.doneWith(c, "BatchEnableServicesResponse", "services", request.ServiceIds...)
}

func (s *Server) setServices(about *project, disabled bool, names ...string) error {
	return s.store.update(func(tx *bbolt.Tx) error {
		for _, name := range names {
			key := about.ID + "/" + name
			var err error
			if disabled {
				err = put(tx, disabledServices, key, true)
			} else {
				err = remove(tx, disabledServices, key)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// doneWith is the operation of a change to services that has been made: its response carries them under field, a list
// where the field is a plural.
func (s *Server) doneWith(c *call, kind, field string, names ...string) (any, error) {
	var found []*serviceusage.GoogleApiServiceusageV1Service
	err := s.store.view(func(tx *bbolt.Tx) error {
		for _, name := range names {
			one, err := s.serviceState(tx, c.project, name)
			if err != nil {
				return err
			}
			found = append(found, one)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	response := map[string]any{"@type": "type.googleapis.com/google.api.serviceusage.v1." + kind}
	if field == "service" {
		response[field] = found[0]
	} else {
		response[field] = found
	}
	return map[string]any{"name": doneOperation, "done": true, "response": response}, nil
}

func getDoneOperation(c *call) (any, error) {
	if name := "operations/" + c.vars["operation"]; name != doneOperation {
		return nil, notFound("Operation %s not found.", name)
	}
	return &serviceusage.Operation{Name: doneOperation, Done: true, Response: googleapi.RawMessage(`{}`)}, nil
}

package auditlog

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// serviceName returns the name of a service in audit logs. That of Cloud SQL differs from the name of its API.
func serviceName(svc *api.Service) string {
	if svc.Name == "sqladmin.googleapis.com" {
		return "cloudsql.googleapis.com"
	}
	return svc.Name
}

// target is the resource that the path of a call names.
type target struct {
	// path are the segments from "projects" on, and verb is the custom verb after the last one.
	path []string
	verb string
	// creates says that the call creates a resource in the collection that the path names.
	creates bool
}

func targetOf(c Call) target {
	_, rest, _ := strings.Cut(strings.TrimPrefix(c.Match.Path, "/"), "/")
	segments := strings.Split(rest, "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil {
			segments[i] = oneSegment(plain)
		}
	}
	pattern := c.Match.Route.Pattern
	t := target{}
	if at := strings.LastIndexByte(pattern, ':'); at >= 0 {
		t.verb = pattern[at+1:]
		last := &segments[len(segments)-1]
		*last = strings.TrimSuffix(*last, ":"+t.verb)
		pattern = pattern[:at]
	}
	t.creates = c.Match.Route.Method == http.MethodPost && t.verb == "" && !strings.HasSuffix(pattern, "}")
	for len(segments) > 0 && segments[0] != "projects" && segments[0] != "b" {
		segments = segments[1:]
	}
	if len(segments) > 1 && segments[0] == "projects" && c.Made.Project != nil {
		segments[1] = c.Made.Project.ID // the path may contain the number
	}
	if len(segments) > 0 && segments[0] == "b" {
		// Google's name of a bucket. It belongs to no project.
		segments = append([]string{"projects", "_", "buckets"}, segments[1:]...)
	}
	if len(segments) == 0 {
		segments = []string{"projects", c.Made.ProjectID()}
	}
	// Older calls name the action in the path: .../clusters/strata/addons.
	if last := segments[len(segments)-1]; t.creates && (procedures[last] != "" && last != "keys" || last == "restart") {
		t.verb, t.creates, segments = last, false, segments[:len(segments)-1]
	}
	t.path = segments
	return t
}

// oneSegment escapes the slashes of a name, so that the name of a failing call does not look like another resource.
func oneSegment(name string) string { return strings.ReplaceAll(name, "/", "%2F") }

// resourceName returns the name of the resource that a call changes, as a relative name of the API.
func resourceName(c Call) string {
	t := targetOf(c)
	path := t.path
	if len(path) == 5 && path[2] == "buckets" && path[4] == "iam" {
		path = path[:len(path)-1]
	}
	name := ""
	switch {
	case t.creates:
		name = newName(c)
	case path[len(path)-1] == "users":
		name = c.Made.Request.URL.Query().Get("name") // Cloud SQL names the user of a change in the query
	}
	if name != "" {
		path = append(path, oneSegment(name))
	}
	return strings.Join(path, "/")
}

// newName returns the name of the resource that a call creates: of the request, only its name is ever read.
func newName(c Call) string {
	query := c.Made.Request.URL.Query()
	for _, parameter := range []string{"keyRingId", "cryptoKeyId"} {
		if id := query.Get(parameter); id != "" {
			return id
		}
	}
	body, err := c.Made.Body()
	if err != nil {
		return ""
	}
	var named struct {
		Name, AccountID, RoleID string
		Cluster, NodePool       struct{ Name string }
	}
	// A request of another form has no name.
	_ = json.Unmarshal(body, &named)
	switch {
	case named.AccountID != "":
		return named.AccountID + "@" + c.Made.ProjectID() + ".iam.gserviceaccount.com"
	case named.RoleID != "":
		return named.RoleID
	case named.Cluster.Name != "":
		return named.Cluster.Name
	case named.NodePool.Name != "":
		return named.NodePool.Name
	}
	return named.Name
}

// methodName returns the name of a method in the audit log of its service.
func methodName(c Call) string {
	permission := c.Match.Route.Permission
	switch serviceName(c.Match.Service) {
	case "cloudsql.googleapis.com":
		return permission
	case "storage.googleapis.com":
		return strings.Replace(permission, ".buckets.setIamPolicy", ".setIamPermissions", 1)
	case "cloudresourcemanager.googleapis.com":
		return "SetIamPolicy"
	case "iam.googleapis.com":
		if strings.HasSuffix(permission, ".setIamPolicy") {
			return "google.iam.admin.v1.SetIAMPolicy"
		}
		return "google.iam.admin.v1." + procedure(c)
	case "serviceusage.googleapis.com":
		return "google.api.serviceusage.v1.ServiceUsage." + procedure(c)
	case "container.googleapis.com":
		return "google.container.v1.ClusterManager." + procedure(c)
	case "cloudkms.googleapis.com":
		if strings.HasSuffix(permission, ".setIamPolicy") {
			return "google.iam.v1.IAMPolicy.SetIamPolicy"
		}
		return "google.cloud.kms.v1.KeyManagementService." + procedure(c)
	}
	return permission
}

// procedures are the procedures of Kubernetes Engine whose names do not follow from the path.
var procedures = map[string]string{
	"addons": "SetAddonsConfig", "setAddons": "SetAddonsConfig", "legacyAbac": "SetLegacyAbac", "locations": "SetLocations",
	"logging": "SetLoggingService", "setLogging": "SetLoggingService", "monitoring": "SetMonitoringService",
	"setMonitoring": "SetMonitoringService", "master": "UpdateMaster", "resourceLabels": "SetLabels", "setResourceLabels": "SetLabels",
	"autoscaling": "SetNodePoolAutoscaling", "setAutoscaling": "SetNodePoolAutoscaling", "setManagement": "SetNodePoolManagement",
	"setSize": "SetNodePoolSize", "update": "UpdateNodePool", "updateMaster": "UpdateMaster", "cancel": "CancelOperation", "batchEnable": "BatchEnableServices",
	"updatePrimaryVersion": "UpdateCryptoKeyPrimaryVersion", "keys": "CreateServiceAccountKey",
}

// procedure returns the name of a remote procedure: its verb and the kind of its resource.
func procedure(c Call) string {
	t := targetOf(c)
	last := t.path[len(t.path)-1]
	kind := ""
	switch {
	case t.creates:
		if name, known := procedures[last]; known {
			return name
		}
		kind = last
	case len(t.path) > 1:
		kind = t.path[len(t.path)-2]
	}
	if kind == "keys" {
		kind = "serviceAccountKeys"
	}
	if t.verb != "" {
		if name, known := procedures[t.verb]; known {
			return name
		}
		if strings.HasPrefix(t.verb, "set") {
			return title(t.verb)
		}
		return title(t.verb) + title(strings.TrimSuffix(kind, "s"))
	}
	verb := map[string]string{http.MethodPost: "Create", http.MethodDelete: "Delete"}[c.Match.Route.Method]
	if verb == "" {
		verb = "Update"
	}
	return verb + title(strings.TrimSuffix(kind, "s"))
}

func title(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

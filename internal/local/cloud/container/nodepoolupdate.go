package container

import (
	"reflect"
	"slices"

	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/container/update"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// poolPath returns the path in a node pool of an update's field: in the pool itself, or in the configuration of its
// nodes. inside names the field that the update wraps the value in, if any. An unknown field has no path.
func poolPath(name string) (path, inside string) {
	switch name {
	case "labels", "tags", "taints":
		return "config." + name, name
	case "resourceLabels":
		return "config.resourceLabels", "labels"
	case "nodeNetworkConfig":
		return "networkConfig", ""
	case "nodeVersion":
		return "version", ""
	}
	switch {
	case slices.Contains(update.Fields(reflect.TypeFor[container.NodePool]()), name):
		return name, ""
	case slices.Contains(update.Fields(reflect.TypeFor[container.NodeConfig]()), name):
		return "config." + name, ""
	}
	return "", ""
}

// updateNodePool changes the fields of a node pool that the request names.
func (s *service) updateNodePool(c *api.Call) (any, error) {
	request := map[string]any{}
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	typed, err := api.DecodeStrictly[container.UpdateNodePoolRequest](request)
	if err != nil {
		return nil, err
	}
	if _, ok := request["diskSizeGb"]; ok {
		request["diskSizeGb"] = typed.DiskSizeGb // a string in the request, a number in the pool
	}
	// These fields name the pool, as the path does.
	for _, name := range []string{"clusterId", "name", "nodePoolId", "projectId", "zone"} {
		delete(request, name)
	}
	etag := asText(request["etag"])
	delete(request, "etag")
	wanted := map[string]any{}
	for name, value := range request {
		path, inside := poolPath(name)
		if path == "" {
			return nil, api.InvalidArgument("The update of %s is not emulated.", name)
		}
		if object, ok := value.(map[string]any); ok && inside != "" {
			value = object[inside]
		}
		update.SetPath(wanted, path, value)
	}
	return s.changePool(c, "UPDATE_CLUSTER", func(pool *container.NodePool) error {
		if etag != "" && etag != pool.Etag {
			return api.FailedPrecondition("The etag of node pool %s is not %q any more; get it again and retry.", pool.Name, etag)
		}
		return changePoolFields(pool, wanted)
	})
}

// updatePool changes the node pool that an update of its cluster names. The update may omit the name if the cluster
// has one node pool.
func (s *service) updatePool(on *cluster, name string, wanted map[string]any) error {
	if name == "" && len(on.Cluster.NodePools) == 1 {
		name = on.Cluster.NodePools[0].Name
	}
	at := slices.IndexFunc(on.Cluster.NodePools, func(p *container.NodePool) bool { return p.Name == name })
	if at < 0 {
		return api.NotFound("Not found: %s.", poolLink(on, name))
	}
	if err := changePoolFields(on.Cluster.NodePools[at], wanted); err != nil {
		return err
	}
	return s.completePool(on, on.Cluster.NodePools[at])
}

// changePoolFields changes the fields that wanted names. An object replaces the old object, except in the
// configuration of the nodes.
func changePoolFields(pool *container.NodePool, wanted map[string]any) error {
	whole, err := api.AsObject(pool)
	if err != nil {
		return err
	}
	for name, value := range wanted {
		config, ok := value.(map[string]any)
		if name != "config" || !ok {
			whole[name] = value
			continue
		}
		for field, value := range config {
			update.SetPath(whole, "config."+field, value)
		}
	}
	changed, err := api.DecodeStrictly[container.NodePool](whole)
	if err != nil {
		return err
	}
	if err := checkVersionOf("node_version", changed.Version); err != nil {
		return err
	}
	changed.Version = kubernetesVersion
	*pool = *changed
	return nil
}

// asText returns the text of a JSON string, or "" for another value.
func asText(value any) string {
	text, _ := value.(string)
	return text
}

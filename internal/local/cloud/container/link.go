package container

import "github.com/strata-platform/strata/internal/local/cloud/core/api"

func clusterKey(project, location, name string) string { return project + "/" + location + "/" + name }

// clusterName returns the full name of a cluster, which conditions compare.
func clusterName(project, location, name string) string {
	return "projects/" + project + "/locations/" + location + "/clusters/" + name
}

// clusterLink returns the name of a cluster in links and messages, where Google calls the location of a zonal cluster a
// zone.
func clusterLink(project, location, name string) string {
	return locationLink(project, location) + "/clusters/" + name
}

// locationLink returns the name of a location in links and messages.
func locationLink(project, location string) string {
	if _, isZone, _ := api.ParseLocation(location); isZone {
		return "projects/" + project + "/zones/" + location
	}
	return "projects/" + project + "/locations/" + location
}

func (k *cluster) key() string  { return clusterKey(k.Project, k.Cluster.Location, k.Cluster.Name) }
func (k *cluster) link() string { return clusterLink(k.Project, k.Cluster.Location, k.Cluster.Name) }

// onCluster returns the cluster as the resource of a permission check.
func onCluster(c *api.Call) api.Resource {
	project, location, name := c.ProjectID(), c.Vars["location"], c.Vars["cluster"]
	return api.Resource{
		Project: project, Name: clusterLink(project, location, name), Path: clusterName(project, location, name),
		Kind: "container.googleapis.com/Cluster",
	}
}

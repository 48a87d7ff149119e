package auditlog

import "strings"

// monitored returns the monitored resource of a call, with the labels of Google's list of types.
func monitored(c Call, name string) Resource {
	project := c.Made.ProjectID()
	labels := map[string]string{"project_id": project}
	of := func(collection string) string {
		_, rest, _ := strings.Cut(name+"/", "/"+collection+"/")
		id, _, _ := strings.Cut(rest, "/")
		return id
	}
	switch serviceName(c.Match.Service) {
	case "cloudsql.googleapis.com":
		labels["database_id"], labels["region"] = project+":"+of("instances"), ""
		return Resource{labels, "cloudsql_database"}
	case "storage.googleapis.com":
		labels["bucket_name"], labels["location"] = of("buckets"), ""
		return Resource{labels, "gcs_bucket"}
	case "iam.googleapis.com":
		if role := of("roles"); role != "" {
			labels["role_name"] = "projects/" + project + "/roles/" + role
			return Resource{labels, "iam_role"}
		}
		labels["email_id"], labels["unique_id"] = of("serviceAccounts"), ""
		return Resource{labels, "service_account"}
	case "container.googleapis.com":
		labels["cluster_name"], labels["location"] = of("clusters"), of("locations")+of("zones")
		return Resource{labels, "gke_cluster"}
	case "cloudresourcemanager.googleapis.com":
		return Resource{labels, "project"}
	case "cloudkms.googleapis.com":
		labels["key_ring_id"], labels["location"] = of("keyRings"), of("locations")
		if key := of("cryptoKeys"); key != "" {
			labels["crypto_key_id"] = key
			return Resource{labels, "cloudkms_cryptokey"}
		}
		return Resource{labels, "cloudkms_keyring"}
	}
	labels["service"], labels["method"] = serviceName(c.Match.Service), methodName(c)
	return Resource{labels, "audited_resource"}
}

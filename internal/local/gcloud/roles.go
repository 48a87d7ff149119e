package gcloud

import (
	"slices"
	"strings"
	"sync"
)

// predefinedRole is a role that Google defines.
type predefinedRole struct {
	name  string
	title string
	// grants lists permissions, a line per kind of resource.
	grants string
}

// predefinedRoles are Google's roles for the emulated services, with those of their permissions that an emulated
// service knows.
//
// Source: Google's reference of IAM roles and permissions (https://cloud.google.com/iam/docs/roles-permissions), as the
// roles.get calls recorded by the iam-dataset project (github.com/iann0036/iam-dataset, gcp/roles) stood in August 2026.
// A role of Google's that is not listed can be bound, and grants nothing here.
func predefinedRoles() []predefinedRole {
	return []predefinedRole{
		{"roles/owner", "Owner", `
			cloudsql.databases: create delete get list update
			cloudsql.instances: connect create delete export get import list login restart update
			cloudsql.users: create delete get list update
			container.clusters: connect create delete get getCredentials list update
			container.operations: get list
			iam.roles: create delete get list undelete update
			iam.serviceAccountKeys: create delete disable enable get list
			iam.serviceAccounts: actAs create delete disable enable get getIamPolicy list setIamPolicy undelete update
			resourcemanager.projects: delete get getIamPolicy list setIamPolicy undelete update
			serviceusage.operations: get
			serviceusage.services: disable enable get list use
			storage.buckets: create delete list
		`},
		{"roles/editor", "Editor", `
			cloudsql.databases: create delete get list update
			cloudsql.instances: connect create delete export get import list login restart update
			cloudsql.users: create delete get list update
			container.clusters: connect create delete get getCredentials list update
			container.operations: get list
			iam.roles: get list
			iam.serviceAccountKeys: create delete disable enable get list
			iam.serviceAccounts: actAs create delete disable enable get getIamPolicy list update
			resourcemanager.projects: get getIamPolicy list update
			serviceusage.operations: get
			serviceusage.services: disable enable get list use
			storage.buckets: create delete list
		`},
		{"roles/viewer", "Viewer", `
			cloudsql.databases: get list
			cloudsql.instances: export get list
			cloudsql.users: get list
			container.clusters: connect get list
			container.operations: get list
			iam.roles: get list
			iam.serviceAccountKeys: get list
			iam.serviceAccounts: get getIamPolicy list
			resourcemanager.projects: get getIamPolicy list
			serviceusage.operations: get
			serviceusage.services: get list
			storage.buckets: list
		`},
		{"roles/browser", "Browser", `
			resourcemanager.projects: get getIamPolicy list
		`},
		{"roles/cloudsql.admin", "Cloud SQL Admin", `
			cloudsql.databases: create delete get list update
			cloudsql.instances: connect create delete export get import list login restart update
			cloudsql.users: create delete get list update
			resourcemanager.projects: get list
			serviceusage.services: get list
		`},
		{"roles/cloudsql.client", "Cloud SQL Client", `
			cloudsql.instances: connect get
		`},
		{"roles/cloudsql.editor", "Cloud SQL Editor", `
			cloudsql.databases: create get list update
			cloudsql.instances: connect export get list restart update
			cloudsql.users: get list
			resourcemanager.projects: get list
			serviceusage.services: get list
		`},
		{"roles/cloudsql.instanceUser", "Cloud SQL Instance User", `
			cloudsql.instances: get login
		`},
		{"roles/cloudsql.studioUser", "Cloud SQL Studio User", `
			cloudsql.databases: list
			cloudsql.instances: get login
			cloudsql.users: list
			serviceusage.services: get list
		`},
		{"roles/cloudsql.viewer", "Cloud SQL Viewer", `
			cloudsql.databases: get list
			cloudsql.instances: export get list
			cloudsql.users: get list
			resourcemanager.projects: get list
			serviceusage.services: get list
		`},
		{"roles/container.admin", "Kubernetes Engine Admin", `
			container.clusters: connect create delete get getCredentials list update
			container.operations: get list
			resourcemanager.projects: get list
		`},
		{"roles/container.clusterAdmin", "Kubernetes Engine Cluster Admin", `
			container.clusters: connect create delete get list update
			container.operations: get list
			resourcemanager.projects: get list
		`},
		{"roles/container.clusterViewer", "Kubernetes Engine Cluster Viewer", `
			container.clusters: connect get list
			resourcemanager.projects: get list
		`},
		{"roles/container.developer", "Kubernetes Engine Developer", `
			container.clusters: connect get list
			resourcemanager.projects: get list
		`},
		{"roles/container.viewer", "Kubernetes Engine Viewer", `
			container.clusters: connect get list
			container.operations: get list
			resourcemanager.projects: get list
		`},
		{"roles/container.nodeServiceAccount", "Kubernetes Engine Node Service Account", `
			resourcemanager.projects: get list
			serviceusage.services: use
			storage.objects: get list
		`},
		{"roles/container.defaultNodeServiceAccount", "Kubernetes Engine Default Node Service Account", `
		`},
		{"roles/iam.organizationRoleAdmin", "Organization Role Administrator", `
			iam.roles: create delete get list undelete update
			resourcemanager.projects: get getIamPolicy list
		`},
		{"roles/iam.organizationRoleViewer", "Organization Role Viewer", `
			iam.roles: get list
			resourcemanager.projects: get getIamPolicy list
		`},
		{"roles/iam.roleAdmin", "Role Administrator", `
			iam.roles: create delete get list undelete update
			resourcemanager.projects: get getIamPolicy
		`},
		{"roles/iam.roleViewer", "Role Viewer", `
			iam.roles: get list
			resourcemanager.projects: get getIamPolicy
		`},
		{"roles/iam.securityAdmin", "Security Admin", `
			cloudsql.databases: list
			cloudsql.instances: list
			cloudsql.users: list
			container.clusters: list
			container.operations: list
			iam.roles: get list
			iam.serviceAccountKeys: list
			iam.serviceAccounts: get getIamPolicy list setIamPolicy
			resourcemanager.projects: getIamPolicy list setIamPolicy
			serviceusage.services: list
			storage.buckets: getIamPolicy list setIamPolicy
			storage.objects: getIamPolicy list setIamPolicy
		`},
		{"roles/iam.securityReviewer", "Security Reviewer", `
			cloudsql.databases: list
			cloudsql.instances: list
			cloudsql.users: list
			container.clusters: list
			container.operations: list
			iam.roles: get list
			iam.serviceAccountKeys: list
			iam.serviceAccounts: get getIamPolicy list
			resourcemanager.projects: getIamPolicy list
			serviceusage.services: list
			storage.buckets: getIamPolicy list
			storage.objects: getIamPolicy list
		`},
		{"roles/iam.serviceAccountAdmin", "Service Account Admin", `
			iam.serviceAccounts: create delete disable enable get getIamPolicy list setIamPolicy undelete update
			resourcemanager.projects: get list
		`},
		{"roles/iam.serviceAccountCreator", "Create Service Accounts", `
			iam.serviceAccounts: create get list
			resourcemanager.projects: get list
		`},
		{"roles/iam.serviceAccountDeleter", "Delete Service Accounts", `
			iam.serviceAccounts: delete get list
			resourcemanager.projects: get list
		`},
		{"roles/iam.serviceAccountKeyAdmin", "Service Account Key Admin", `
			iam.serviceAccountKeys: create delete disable enable get list
			iam.serviceAccounts: get list
			resourcemanager.projects: get list
		`},
		{"roles/iam.serviceAccountOpenIdTokenCreator", "Service Account OpenID Connect Identity Token Creator", `
			iam.serviceAccounts: getOpenIdToken
		`},
		{"roles/iam.serviceAccountTokenCreator", "Service Account Token Creator", `
			iam.serviceAccounts: get getAccessToken getOpenIdToken list signBlob signJwt
			resourcemanager.projects: get list
		`},
		{"roles/iam.serviceAccountUser", "Service Account User", `
			iam.serviceAccounts: actAs get list
			resourcemanager.projects: get list
		`},
		{"roles/iam.serviceAccountViewer", "View Service Accounts", `
			iam.serviceAccountKeys: get list
			iam.serviceAccounts: get getIamPolicy list
			resourcemanager.projects: get list
		`},
		{"roles/iam.workloadIdentityUser", "Workload Identity User", `
			iam.serviceAccounts: get getAccessToken getOpenIdToken list
		`},
		{"roles/resourcemanager.projectCreator", "Project Creator", `
			resourcemanager.projects: create
		`},
		{"roles/resourcemanager.projectDeleter", "Project Deleter", `
			resourcemanager.projects: delete
		`},
		{"roles/resourcemanager.projectIamAdmin", "Project IAM Admin", `
			resourcemanager.projects: get getIamPolicy setIamPolicy
		`},
		{"roles/serviceusage.serviceUsageAdmin", "Service Usage Admin", `
			serviceusage.operations: get
			serviceusage.services: disable enable get list use
		`},
		{"roles/serviceusage.serviceUsageConsumer", "Service Usage Consumer", `
			serviceusage.operations: get
			serviceusage.services: get list use
		`},
		{"roles/serviceusage.serviceUsageViewer", "Service Usage Viewer", `
			serviceusage.operations: get
			serviceusage.services: get list
		`},
		{"roles/storage.admin", "Storage Admin", `
			resourcemanager.projects: get list
			storage.buckets: create delete get getIamPolicy list setIamPolicy update
			storage.objects: create delete get getIamPolicy list setIamPolicy update
		`},
		{"roles/storage.bucketViewer", "Storage Bucket Viewer", `
			storage.buckets: get list
		`},
		{"roles/storage.legacyBucketOwner", "Storage Legacy Bucket Owner", `
			storage.buckets: get getIamPolicy setIamPolicy update
			storage.objects: create delete list
		`},
		{"roles/storage.legacyBucketReader", "Storage Legacy Bucket Reader", `
			storage.buckets: get
			storage.objects: list
		`},
		{"roles/storage.legacyBucketWriter", "Storage Legacy Bucket Writer", `
			storage.buckets: get
			storage.objects: create delete list
		`},
		{"roles/storage.legacyObjectOwner", "Storage Legacy Object Owner", `
			storage.objects: get getIamPolicy setIamPolicy update
		`},
		{"roles/storage.legacyObjectReader", "Storage Legacy Object Reader", `
			storage.objects: get
		`},
		{"roles/storage.objectAdmin", "Storage Object Admin", `
			resourcemanager.projects: get list
			storage.objects: create delete get getIamPolicy list setIamPolicy update
		`},
		{"roles/storage.objectCreator", "Storage Object Creator", `
			resourcemanager.projects: get list
			storage.objects: create
		`},
		{"roles/storage.objectUser", "Storage Object User", `
			resourcemanager.projects: get list
			storage.objects: create delete get list update
		`},
		{"roles/storage.objectViewer", "Storage Object Viewer", `
			resourcemanager.projects: get list
			storage.objects: get list
		`},
	}
}

// permissions returns what the role grants, sorted.
func (r predefinedRole) permissions() []string {
	var all []string
	for line := range strings.Lines(r.grants) {
		kind, verbs, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		for verb := range strings.FieldsSeq(verbs) {
			all = append(all, kind+"."+verb)
		}
	}
	slices.Sort(all)
	return all
}

// rolePermissions returns the permissions of the predefined roles, by the role's name.
var rolePermissions = sync.OnceValue(func() map[string]map[string]bool {
	roles := map[string]map[string]bool{}
	for _, role := range predefinedRoles() {
		granted := map[string]bool{}
		for _, permission := range role.permissions() {
			granted[permission] = true
		}
		roles[role.name] = granted
	}
	return roles
})

// Package gcloud implements an emulated Google Cloud: the REST calls of Identity and Access Management, Resource
// Manager, Service Usage, Kubernetes Engine, Cloud SQL Admin and Cloud Storage that Strata's layers make, for Google's
// own clients.
//
// Every call is authenticated with an OAuth access token that the emulator issued and authorised against the IAM
// policies that it keeps. A cluster is a real control plane and a Cloud SQL instance is a real MySQL-protocol server;
// both are supplied by the caller, as ClusterRuntime and DatabaseRuntime.
//
// Where the emulator differs from Google Cloud on purpose: operations on databases, users and node pools are done when
// they are answered; all emulated APIs are enabled in a new project; names are free again after a deletion; there is one
// cluster per home; a database user has all privileges on the databases that the API made and none on the server; a
// new instance lets nobody in as root until the API gives it a password; nobody is in a group; conditions know the names, types
// and services of resources and the time, and are refused where they ask for more; keys do not come back with an account
// that is undeleted.
package gcloud

// Package cloud implements an emulated Google Cloud: the REST calls of Identity and Access Management, Resource
// Manager, Service Usage, Kubernetes Engine, Cloud SQL Admin, Cloud Storage and Cloud KMS that Strata's layers make, for Google's
// own clients.
//
// The emulator authenticates every call with an OAuth access token that it issued, and authorises the call against the
// IAM policies in its store. A cluster is a real control plane, and a Cloud SQL instance is a real MySQL-protocol
// server. The caller of New supplies both, as a container.Runtime and an engine.Runtime.
//
// The emulator differs from Google Cloud on purpose:
//
//   - Operations on databases, users and node pools are done when the call returns.
//   - A new project has all emulated APIs enabled.
//   - A name is available again right after a deletion.
//   - A home has one cluster.
//   - A database user has all privileges on the databases of the principal that created the user, and none on the
//     server. Users of an administrator may use all databases.
//   - Nobody can log in to a new instance as root until a call sets the password of root.
//   - Groups have no members.
//   - Conditions may read the names, types and services of resources, and the time. The emulator rejects other conditions.
//   - Undeleting a service account does not restore its keys.
package cloud

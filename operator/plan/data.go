package plan

import (
	"cmp"
	"slices"
	"strings"
)

// holders are the types of resources that hold data which a program cannot create again: databases, disks, buckets, queues, keys, and
// the objects whose deletion deletes such resources. The comment of each group says why its types are here.
//
// These types are left out on purpose. A user of a database, an account, a Secret or a ConfigMap has no content beyond its program. A
// StatefulSet leaves its claims, and so its data, behind, unless its persistentVolumeClaimRetentionPolicy says otherwise. A component holds nothing itself: its children are steps of their own.
var holders = []string{
	// Databases, and the instances with all their databases.
	"gcp:sql/database:Database", "gcp:sql/databaseInstance:DatabaseInstance",
	"gcp:alloydb/cluster:Cluster", "gcp:alloydb/instance:Instance",
	"gcp:bigquery/dataset:Dataset", "gcp:bigquery/table:Table",
	"gcp:bigtable/instance:Instance", "gcp:bigtable/table:Table",
	"gcp:firestore/database:Database",
	"gcp:firebase/databaseInstance:DatabaseInstance", "gcp:healthcare/dataset:Dataset",
	"gcp:spanner/database:Database", "gcp:spanner/instance:Instance",
	// Caches: many programs keep more than copies in them.
	"gcp:memcache/instance:Instance", "gcp:redis/cluster:Cluster", "gcp:redis/instance:Instance",
	// Files. The content of a single object comes from its program.
	"gcp:artifactregistry/repository:Repository", "gcp:filestore/instance:Instance",
	"gcp:netapp/storagePool:StoragePool", "gcp:netapp/volume:Volume",
	"gcp:securesourcemanager/repository:Repository", "gcp:sourcerepo/repository:Repository",
	"gcp:storage/bucket:Bucket",
	// Backups: what they keep may exist nowhere else.
	"gcp:alloydb/backup:Backup", "gcp:filestore/backup:Backup", "gcp:filestore/snapshot:Snapshot",
	// Disks. The first disk of a virtual machine goes with the machine.
	"gcp:compute/disk:Disk", "gcp:compute/image:Image", "gcp:compute/instance:Instance", "gcp:compute/regionDisk:RegionDisk",
	"gcp:compute/machineImage:MachineImage", "gcp:compute/snapshot:Snapshot",
	"gcp:notebooks/instance:Instance", "gcp:workbench/instance:Instance",
	"kubernetes:core/v1:PersistentVolume", "kubernetes:core/v1:PersistentVolumeClaim",
	// Messages that nobody has read yet.
	"gcp:managedkafka/cluster:Cluster", "gcp:managedkafka/topic:Topic",
	"gcp:pubsub/subscription:Subscription", "gcp:pubsub/topic:Topic",
	// Keys and secrets: without the key, nobody can read what it has encrypted.
	"gcp:kms/cryptoKey:CryptoKey", "gcp:kms/cryptoKeyVersion:CryptoKeyVersion", "gcp:kms/keyRing:KeyRing", "gcp:secretmanager/secret:Secret",
	// Google Cloud deletes everything in a project, and every object of a cluster, with it.
	"gcp:container/cluster:Cluster", "gcp:organizations/project:Project",
	// Kubernetes deletes every object in a namespace, and every object of a kind, with it.
	"kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "kubernetes:core/v1:Namespace",
	// The operator destroys the resources of a deleted Stack.
	"kubernetes:pulumi.com/v1:Stack",
}

// orders begins the types of the orders of the catalogue: with an order, its database or bucket is deleted.
const orders = "kubernetes:catalogue.strata.dev/"

// HoldsData reports whether resources of a type hold data that a program cannot create again. Pulumi writes a type as
// "gcp:sql/database:Database" in its plans, whatever spelling the program has.
func HoldsData(resourceType string) bool {
	return slices.Contains(holders, resourceType) || strings.HasPrefix(resourceType, orders)
}

// LosesData reports whether an operation on a resource of a type loses data. A replacement deletes the old resource.
func LosesData(op, resourceType string) bool {
	return (op == "delete" || op == "replace") && HoldsData(resourceType)
}

// CompareSteps orders the steps of a Stack by what they may destroy: first those that lose data, then the other deletions, then the other
// replacements, whose resources exist again afterwards, then the others. The order is total, so a status has one order and one digest.
func CompareSteps(a, b Step) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.Op, b.Op), strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

func (s Step) rank() int {
	switch {
	case s.LosesData:
		return 0
	case s.Op == "delete":
		return 1
	case s.Op == "replace":
		return 2
	}
	return 3
}

package pending

import (
	"regexp"
	"strings"
)

// ids maps types to the IDs of resources whose inputs determine the ID, in the forms of the official gcp provider. A name
// in braces stands for an input.
//
// The next run creates a resource of any other type again: only the service knows the ID of a service account's key, and
// a random value has no object.
var ids = map[string]string{
	"flux:index/fluxBootstrapGit:FluxBootstrapGit":  "{namespace}",
	"gcp:compute/address:Address":                   "projects/{project}/regions/{region}/addresses/{name}",
	"gcp:compute/firewall:Firewall":                 "projects/{project}/global/firewalls/{name}",
	"gcp:compute/globalAddress:GlobalAddress":       "projects/{project}/global/addresses/{name}",
	"gcp:compute/network:Network":                   "projects/{project}/global/networks/{name}",
	"gcp:compute/router:Router":                     "projects/{project}/regions/{region}/routers/{name}",
	"gcp:compute/subnetwork:Subnetwork":             "projects/{project}/regions/{region}/subnetworks/{name}",
	"gcp:container/cluster:Cluster":                 "projects/{project}/locations/{location}/clusters/{name}",
	"gcp:container/nodePool:NodePool":               "projects/{project}/locations/{location}/clusters/{cluster}/nodePools/{name}",
	"gcp:projects/iAMCustomRole:IAMCustomRole":      "projects/{project}/roles/{roleId}",
	"gcp:projects/iAMMember:IAMMember":              "{project}/{role}/{member}",
	"gcp:projects/service:Service":                  "{project}/{service}",
	"gcp:serviceaccount/account:Account":            "projects/{project}/serviceAccounts/{accountId}@{project}.iam.gserviceaccount.com",
	"gcp:serviceaccount/iAMMember:IAMMember":        "{serviceAccountId}/{role}/{member}",
	"gcp:sql/database:Database":                     "projects/{project}/instances/{instance}/databases/{name}",
	"gcp:sql/databaseInstance:DatabaseInstance":     "{name}",
	"gcp:sql/user:User":                             "{name}/{host}/{instance}",
	"gcp:storage/bucket:Bucket":                     "{name}",
	"gcp:storage/bucketIAMMember:BucketIAMMember":   "b/{bucket}/{role}/{member}",
	"gcp:storage/bucketIAMBinding:BucketIAMBinding": "b/{bucket}/{role}",
}

// repeatable are types whose creation can be repeated after an interruption. Their creation has so many parts that the
// existence of the object does not prove its completeness.
var repeatable = map[string]bool{"flux:index/fluxBootstrapGit:FluxBootstrapGit": true}

// optional are inputs that may be empty within an ID.
var optional = map[string]bool{"host": true}

var placeholder = regexp.MustCompile(`\{[A-Za-z]+\}`)

// ID returns the ID of a resource of a type if the resource exists, or "" if its inputs do not determine the ID.
func ID(typ string, inputs map[string]any) string {
	if strings.HasPrefix(typ, "kubernetes:") {
		return kubernetesID(inputs)
	}
	missing := false
	result := placeholder.ReplaceAllStringFunc(ids[typ], func(name string) string {
		name = name[1 : len(name)-1]
		text, ok := inputs[name].(string)
		// Links to these resources end in their names. A member or a role is not a link.
		if name == "cluster" || name == "instance" || name == "bucket" {
			text = text[strings.LastIndex(text, "/")+1:]
		}
		if (!ok || text == "") && !optional[name] {
			missing = true
		}
		return text
	})
	if missing {
		return ""
	}
	return result
}

// kubernetesID returns NAMESPACE/NAME, or NAME for a cluster-scoped object. The plugin has filled in the namespace by
// then.
func kubernetesID(inputs map[string]any) string {
	metadata, _ := inputs["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	if name == "" || namespace == "" {
		return name
	}
	return namespace + "/" + name
}

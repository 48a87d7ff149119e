package settle

import (
	"cmp"
	"regexp"
	"strings"
)

// ids maps types to the IDs of resources whose inputs determine the ID, in the form that the provider gives a resource
// after its creation. The inputs include the names that Pulumi generates. A name in braces stands for an input.
//
// The inputs of other types do not determine the ID: for example, only the service knows the ID of a service account's key.
var ids = map[string]string{
	fluxType:                                        "{namespace}",
	"gcp:compute/address:Address":                   "projects/{project}/regions/{region}/addresses/{name}",
	"gcp:compute/firewall:Firewall":                 "projects/{project}/global/firewalls/{name}",
	"gcp:compute/globalAddress:GlobalAddress":       "projects/{project}/global/addresses/{name}",
	"gcp:compute/network:Network":                   "projects/{project}/global/networks/{name}",
	"gcp:compute/router:Router":                     "projects/{project}/regions/{region}/routers/{name}",
	"gcp:compute/subnetwork:Subnetwork":             "projects/{project}/regions/{region}/subnetworks/{name}",
	"gcp:container/cluster:Cluster":                 "projects/{project}/locations/{location}/clusters/{name}",
	"gcp:container/nodePool:NodePool":               "projects/{project}/locations/{location}/clusters/{cluster}/nodePools/{name}",
	"gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": "{cryptoKeyId}/{role}/{member}",
	"gcp:projects/iAMCustomRole:IAMCustomRole":      "projects/{project}/roles/{roleId}",
	"gcp:projects/iAMMember:IAMMember":              "{project}/{role}/{member}",
	"gcp:projects/service:Service":                  "{project}/{service}",
	"gcp:serviceaccount/account:Account":            "projects/{project}/serviceAccounts/{accountId}@{project}.iam.gserviceaccount.com",
	"gcp:serviceaccount/iAMBinding:IAMBinding":      "{serviceAccountId}/{role}",
	"gcp:serviceaccount/iAMMember:IAMMember":        "{serviceAccountId}/{role}/{member}",
	"gcp:sql/database:Database":                     "projects/{project}/instances/{instance}/databases/{name}",
	"gcp:sql/databaseInstance:DatabaseInstance":     "{name}",
	"gcp:sql/user:User":                             "{name}/{host}/{instance}",
	"gcp:storage/bucket:Bucket":                     "{name}",
	"gcp:storage/bucketIAMMember:BucketIAMMember":   "b/{bucket}/{role}/{member}",
	"gcp:storage/bucketIAMBinding:BucketIAMBinding": "b/{bucket}/{role}",
}

// defaults are the values that the service uses for missing inputs within an ID.
var defaults = map[string]string{"host": "%"}

// links are inputs that may be links to other resources. Such a link ends in the name of the resource.
var links = map[string]bool{"cluster": true, "instance": true, "bucket": true}

// fluxType is the type of Flux, and formerFluxType the one in the states of older platforms.
const (
	fluxType       = "flux:index/bootstrapGit:BootstrapGit"
	formerFluxType = "flux:index/fluxBootstrapGit:FluxBootstrapGit"
)

// composites are types that stand for many objects. A read of such a resource does not show whether all of its objects exist
// or none. A repeated creation completes the resource, and a repeated deletion removes the rest.
var composites = map[string]bool{fluxType: true, formerFluxType: true}

// existsInStateOnly reports whether resources of a type exist in the state only. An interrupted creation leaves nothing.
func existsInStateOnly(typ string) bool {
	for _, prefix := range []string{"pulumi:", "random:", "time:", "tls:"} {
		if strings.HasPrefix(typ, prefix) {
			return true
		}
	}
	return false
}

var placeholder = regexp.MustCompile(`\{[A-Za-z]+\}`)

// ID returns the ID of a resource if it exists, or an empty string if its inputs do not determine the ID. project is the
// Google Cloud project of its provider.
func ID(typ string, inputs map[string]any, project string) string {
	if strings.HasPrefix(typ, "kubernetes:") {
		return kubernetesID(typ, inputs)
	}
	missing := false
	result := placeholder.ReplaceAllStringFunc(ids[typ], func(name string) string {
		name = name[1 : len(name)-1]
		value, ok := inputs[name].(string)
		if links[name] {
			value = value[strings.LastIndexByte(value, '/')+1:]
		}
		// A secret is an object, and no default applies.
		if ok || inputs[name] == nil {
			value = cmp.Or(value, defaults[name])
			if name == "project" {
				value = cmp.Or(value, project)
			}
		}
		missing = missing || value == ""
		return value
	})
	if missing {
		return ""
	}
	return result
}

// kubernetesID returns NAMESPACE/NAME, or NAME for a cluster-scoped object. The provider has filled in the namespace of
// the inputs.
func kubernetesID(typ string, inputs map[string]any) string {
	named := inputs
	if typ != "kubernetes:helm.sh/v3:Release" {
		named, _ = inputs["metadata"].(map[string]any)
	}
	name, _ := named["name"].(string)
	namespace, _ := named["namespace"].(string)
	if name == "" || namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// idOf returns the ID of a resource if it exists, or an empty string.
func (s *State) idOf(r resource) string {
	project, ok := s.projects[r.text("provider")]
	if !ok {
		project = s.project
	}
	return ID(r.text("type"), r.object("inputs"), project)
}

// providerPrefix is the prefix of the types of providers.
const providerPrefix = "pulumi:providers:"

// learn records the Google Cloud project of a provider.
func (s *State) learn(r resource) {
	if !strings.HasPrefix(r.text("type"), providerPrefix) {
		return
	}
	if project, _ := r.object("inputs")["project"].(string); project != "" {
		s.projects[r.text("urn")+"::"+r.text("id")] = project
	}
}

// projectVariables lists the environment variables from which the Google Cloud provider takes its project. The first variable
// that is set counts.
var projectVariables = []string{"GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"}

// Project returns the Google Cloud project that the provider takes from its environment. getenv returns the value of a
// variable, or an empty string.
func Project(getenv func(name string) string) string {
	for _, name := range projectVariables {
		if project := getenv(name); project != "" {
			return project
		}
	}
	return ""
}

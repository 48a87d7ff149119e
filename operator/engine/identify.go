package engine

import (
	"encoding/json"
	"fmt"
	"strings"
)

// identifiers maps resource types to functions that derive the ID of a resource from
// its inputs, in a form that the resource's provider accepts for an import. The inputs
// include names that Pulumi generates, so resources with such names have an ID, too.
var identifiers = map[string]func(in inputs, project string) string{
	"gcp:sql/database:Database": func(in inputs, project string) string {
		return joined("projects/%s/instances/%s/databases/%s", project, in.text("instance"), in.text("name"))
	},
	"gcp:sql/user:User": func(in inputs, project string) string {
		host := in.text("host")
		if host == "" {
			host = "%"
		}
		return joined("%s/%s/%s/%s", project, in.text("instance"), host, in.text("name"))
	},
	"gcp:storage/bucket:Bucket": func(in inputs, _ string) string { return in.text("name") },
	"gcp:serviceaccount/account:Account": func(in inputs, project string) string {
		account := in.text("accountId")
		return joined("projects/%s/serviceAccounts/%s@%s.iam.gserviceaccount.com", project, account, project)
	},
}

// inputs holds the inputs of a resource in the state, by name.
type inputs map[string]json.RawMessage

// text returns an input that is a string and not a secret, or an empty string.
func (in inputs) text(name string) string {
	var s string
	_ = json.Unmarshal(in[name], &s) // A secret is an object; it leaves s empty.
	return s
}

// objectID returns the ID that a resource has if it exists. objectID returns an empty
// string if the inputs do not determine the ID. project is the cloud project of the
// resource's provider.
func objectID(r resource, project string) string {
	var in inputs
	if json.Unmarshal(r["inputs"], &in) != nil {
		return ""
	}
	kind := r.text("type")
	if strings.HasPrefix(kind, "kubernetes:") {
		return kubernetesID(kind, in)
	}
	identify := identifiers[kind]
	if identify == nil {
		return ""
	}
	if own := in.text("project"); own != "" {
		project = own
	}
	return identify(in, project)
}

// kubernetesID returns the namespace and name of an object, in the provider's format.
func kubernetesID(kind string, in inputs) string {
	named := in
	if kind != "kubernetes:helm.sh/v3:Release" {
		named = nil
		if json.Unmarshal(in["metadata"], &named) != nil {
			return ""
		}
	}
	name, namespace := named.text("name"), named.text("namespace")
	if name == "" || namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// joined formats parts by a pattern. joined returns an empty string if a part is empty.
func joined(pattern string, parts ...string) string {
	args := make([]any, len(parts))
	for i, part := range parts {
		if part == "" {
			return ""
		}
		args[i] = part
	}
	return fmt.Sprintf(pattern, args...)
}

// leavesNothing reports whether resources of a type exist in the state only. Pulumi
// simply creates an unfinished one again.
func leavesNothing(kind string) bool {
	for _, prefix := range []string{"random:", "pulumi:", "tls:", "time:"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// unread reports whether a resource was added to the state and not yet read from its
// provider.
func unread(r resource) bool {
	var outputs map[string]json.RawMessage
	_ = json.Unmarshal(r["outputs"], &outputs) // Missing outputs are no error here.
	return len(outputs) == 0
}

package engine

import (
	"encoding/json"
	"fmt"
	"strings"
)

// identifiers tell the ID of the resources of some types by their inputs, in a form
// by which their provider imports them. The names that Pulumi makes up are among the
// inputs, so that these are found, too.
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

// inputs are the inputs of a resource in the state.
type inputs map[string]json.RawMessage

// text returns an input that is a string and no secret.
func (in inputs) text(name string) string {
	var s string
	_ = json.Unmarshal(in[name], &s) // A secret is an object, and of no use here.
	return s
}

// objectID returns the ID that a resource has if it exists, empty where its inputs
// do not tell. The project is that of its provider.
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

// kubernetesID returns namespace and name of an object, as the provider does.
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

// joined fills in a pattern, unless a part is missing.
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

// leavesNothing tells the types of resources that are nowhere but in the state:
// one that was not finished is simply made again.
func leavesNothing(kind string) bool {
	for _, prefix := range []string{"random:", "pulumi:", "tls:", "time:"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// unread tells whether a resource was taken into the state without having been
// read yet.
func unread(r resource) bool {
	var outputs map[string]json.RawMessage
	_ = json.Unmarshal(r["outputs"], &outputs) // None is what is looked for.
	return len(outputs) == 0
}

package cause

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/platform"
)

func stackRules() []rule {
	stack := []string{"Stack"}
	return []rule{
		{stack, "a Stack needs the operator and the operator's permissions in the namespace", func(g *graph.Graph, o *graph.Object) []*graph.Object {
			return []*graph.Object{operator(g), g.Need("RoleBinding", o.Namespace, hop.BindingName(hop.PartOperator))}
		}},
		{stack, "a Stack reads Secrets and ConfigMaps", readBy},
		{stack, "a Stack runs a Program, or the project in a source", programOf},
		{stack, "a Stack waits for the Stacks in its prerequisites", func(g *graph.Graph, o *graph.Object) []*graph.Object {
			var list []*graph.Object
			for _, p := range o.Members("spec", "prerequisites") {
				list = append(list, g.Need("Stack", o.Namespace, graph.At(p, "name")))
			}
			return list
		}},
		{stack, "a Stack runs as an account", func(g *graph.Graph, o *graph.Object) []*graph.Object {
			if account := o.Text("spec", "serviceAccountName"); account != "" {
				return []*graph.Object{g.Need("ServiceAccount", o.Namespace, account)}
			}
			return nil
		}},
		{stack, "a Program's objects in the cluster need the permissions of the Stack's account", accountOf},
		{stack, "a team's Google account needs the permissions that layer 1 grants", googleRole},
	}
}

// operator returns the Deployment of the operator.
func operator(g *graph.Graph) *graph.Object {
	return g.Need("Deployment", platform.OperatorNamespace, platform.OperatorAccount)
}

// readBy returns the Secrets and ConfigMaps that a Stack refers to.
func readBy(g *graph.Graph, o *graph.Object) []*graph.Object {
	var list []*graph.Object
	add := func(kind, name string) {
		if name != "" {
			list = append(list, g.Need(kind, o.Namespace, name))
		}
	}
	refs := func(field string) {
		if o.Content == nil {
			return
		}
		all, _, _ := unstructured.NestedMap(o.Content.Object, "spec", field)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			ref, ok := all[name].(map[string]any)
			if !ok {
				continue
			}
			add("Secret", graph.At(ref, "secret", "name"))
			add("ConfigMap", graph.At(ref, "configMap", "name"))
			if field == "configRef" {
				add("ConfigMap", graph.At(ref, "name"))
			}
		}
	}
	for _, field := range []string{"envRefs", "secretsRef", "configRef"} {
		refs(field)
	}
	for _, name := range names(o, "spec", "envSecrets") {
		add("Secret", name)
	}
	for _, name := range names(o, "spec", "envs") {
		add("ConfigMap", name)
	}
	add("Secret", o.Text("spec", "gitAuthSecret"))
	markIncomplete(g, o)
	return list
}

// names returns a list of strings in an object's content.
func names(o *graph.Object, path ...string) []string {
	if o.Content == nil {
		return nil
	}
	list, _, _ := unstructured.NestedStringSlice(o.Content.Object, path...)
	return list
}

// programOf returns the Program or the source that a Stack runs.
func programOf(g *graph.Graph, o *graph.Object) []*graph.Object {
	if name := o.Text("spec", "programRef", "name"); name != "" {
		return []*graph.Object{g.Need("Program", o.Namespace, name)}
	}
	if name := o.Text("spec", "fluxSource", "sourceRef", "name"); name != "" {
		return []*graph.Object{g.Need(o.Text("spec", "fluxSource", "sourceRef", "kind"), o.Namespace, name)}
	}
	return nil
}

// noKey matches the operator's error about a missing key of a Secret or ConfigMap.
var noKey = regexp.MustCompile(`(\S+): (Secret|ConfigMap) ([^/ ]+)/(\S+) has no key "([^"]+)"`)

// markIncomplete marks a team's context as incomplete if a Stack reports that the context has lost one of the keys that
// layer 2 creates.
func markIncomplete(g *graph.Graph, o *graph.Object) {
	match := noKey.FindStringSubmatch(beginning(o))
	if match == nil || match[4] != handoff.TenantName || !slices.Contains(contextKeys(match[2]), match[5]) {
		return
	}
	context := g.Need(match[2], match[3], match[4])
	if context.Ready {
		context.Ready, context.Reason, context.Message = false, status.ReasonIncomplete, "it has no key "+match[5]
	}
}

// contextKeys returns the keys that layer 2 puts into the Secret or the ConfigMap of a team's context.
func contextKeys(kind string) []string {
	if kind == "Secret" {
		return handoff.SecretKeys()
	}
	return handoff.ConfigKeys()
}

// misnamed names the key of a Stack's reference to its team's context if no layer creates that key. Otherwise it returns "".
func misnamed(o *graph.Object) string {
	match := noKey.FindStringSubmatch(beginning(o))
	if o.Kind != "Stack" || match == nil || match[4] != handoff.TenantName || slices.Contains(contextKeys(match[2]), match[5]) {
		return ""
	}
	return fmt.Sprintf("%s refers to key %s, which %s %s does not have (it has %s)", match[1], match[5], match[2], match[4], strings.Join(contextKeys(match[2]), ", "))
}

// denied matches an error of Google Cloud, or of its emulator, about a missing permission.
var denied = regexp.MustCompile(`(?:Permission '|does not have |required permission ["']?)([a-z]+\.[a-zA-Z]+\.[a-zA-Z]+)`)

// deniedPermission returns the permission that Google Cloud has denied to a Stack, or "".
func deniedPermission(o *graph.Object) string {
	if match := denied.FindStringSubmatch(beginning(o)); match != nil {
		return match[1]
	}
	return ""
}

// googleRole returns the role of the team's Google account if the role contains the permission that Google Cloud has denied.
// Then the account has lost the role.
func googleRole(g *graph.Graph, o *graph.Object) []*graph.Object {
	permission := deniedPermission(o)
	team, ok := g.Scope.Team(o.Namespace)
	if !ok || !slices.Contains(bootstrap.TenantPermissions(), permission) {
		return nil
	}
	role := g.Need("GoogleRole", "", team.GoogleAccountID()+"/"+bootstrap.TenantRole)
	role.Layer, role.Reason = status.LayerBootstrap, status.ReasonDenied
	role.Message = "the Google account of team " + team.Name + " has lost the permission " + permission
	return []*graph.Object{role}
}

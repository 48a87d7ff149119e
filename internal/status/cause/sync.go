package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/message"
	"github.com/strata-platform/strata/platform"
)

func syncRules() []rule {
	controller := func(name string) func(*graph.Graph, *graph.Object) []*graph.Object {
		return func(g *graph.Graph, _ *graph.Object) []*graph.Object {
			return []*graph.Object{g.Need("Deployment", graph.FluxNamespace, name)}
		}
	}
	return []rule{
		{graph.SourceKinds, "source-controller fetches sources", controller(graph.SourceController)},
		{append([]string{"Receiver"}, graph.SourceKinds...), "a source needs the Secret with its login, a Receiver the Secret with its token", loginOf},
		{[]string{"Kustomization"}, "kustomize-controller applies Kustomizations", controller(graph.KustomizeController)},
		{[]string{"Receiver"}, "notification-controller serves Receivers", controller(graph.NotificationController)},
		{[]string{"Kustomization"}, "a Kustomization applies the files of its source", func(g *graph.Graph, o *graph.Object) []*graph.Object {
			return []*graph.Object{g.SourceOf(o)}
		}},
		{[]string{"Kustomization"}, "a Kustomization waits for the Kustomizations in its dependsOn", dependsOn},
		{[]string{"Kustomization"}, "a Kustomization needs its account and the account's permissions", accountOf},
		{[]string{"Kustomization"}, "the Kustomizations of layer 3 create the kinds Stack and Program", kindsOf},
		{[]string{"Kustomization"}, "a Kustomization is ready when its objects are", appliedBy},
	}
}

// loginOf returns the Secret that a source or Receiver refers to.
func loginOf(g *graph.Graph, o *graph.Object) []*graph.Object {
	name := o.Text("spec", "secretRef", "name")
	if name == "" {
		return nil
	}
	login := g.Need("Secret", o.Namespace, name)
	if slices.Contains(g.Scope.Required(), o.Key()) || o.Kind == "Receiver" {
		// Layer 2 creates a source together with its Secret.
		login.Layer = status.LayerPlatform
	}
	return []*graph.Object{login}
}

// dependsOn returns the Kustomizations that a Kustomization depends on.
func dependsOn(g *graph.Graph, o *graph.Object) []*graph.Object {
	var list []*graph.Object
	for _, d := range o.Members("spec", "dependsOn") {
		namespace := graph.At(d, "namespace")
		if namespace == "" {
			namespace = o.Namespace
		}
		list = append(list, g.Need("Kustomization", namespace, graph.At(d, "name")))
	}
	return list
}

// accountOf returns the account of a Kustomization or a Stack, and the objects that grant its permissions, if the API server
// has denied a permission.
func accountOf(g *graph.Graph, o *graph.Object) []*graph.Object {
	namespace, account, denied := message.DeniedAccount(beginning(o))
	if !denied {
		return nil
	}
	return permissionsOf(g, namespace, account)
}

// permissionsOf returns an account and the objects that grant its permissions.
func permissionsOf(g *graph.Graph, namespace, account string) []*graph.Object {
	list := []*graph.Object{g.Need("ServiceAccount", namespace, account)}
	if namespace == platform.PlatformNamespace {
		list = append(list, g.Need("RoleBinding", platform.PlatformNamespace, platform.RolePlatform),
			g.Need("RoleBinding", platform.OperatorNamespace, platform.RolePlatform), g.Need("ClusterRoleBinding", "", platform.RolePlatform))
	}
	if team, ok := g.Scope.Team(namespace); ok {
		list = append(list, g.Need("RoleBinding", namespace, graph.BindingOf(team, account)))
	}
	for role := range platform.ClusterRoles() {
		list = append(list, g.Need("ClusterRole", "", role))
	}
	return list
}

// noKind matches the API server's error about an unknown kind of the operator.
var noKind = regexp.MustCompile(`no matches for kind "\w+" in version "pulumi\.com/`)

// kindsOf returns the Kustomizations that create the operator's kinds, if the cluster does not know one.
func kindsOf(g *graph.Graph, o *graph.Object) []*graph.Object {
	if !noKind.MatchString(beginning(o)) {
		return nil
	}
	return layerThree(g)
}

// stopped are the reasons of a Kustomization that has applied no object. The objects of an earlier commit are not the
// reason.
var stopped = []string{"BuildFailed", "ReconciliationFailed", "ArtifactFailed", "PruneFailed"}

// appliedBy returns the objects that a Kustomization applied, starting with those that its message names.
func appliedBy(g *graph.Graph, o *graph.Object) []*graph.Object {
	if slices.Contains(stopped, o.Reason) {
		return nil
	}
	var named, others []*graph.Object
	stale := g.Stale(o)
	for _, each := range g.Inventory(o) {
		if found := g.Objects[each]; found != nil && (found.Content != nil || !stale) {
			if strings.Contains(o.Message, fmt.Sprintf("%s/%s/%s ", each.Kind, each.Namespace, each.Name)) {
				named = append(named, found)
			} else {
				others = append(others, found)
			}
		}
	}
	return append(named, others...)
}

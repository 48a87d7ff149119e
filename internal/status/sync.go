package status

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	inventory "github.com/fluxcd/cli-utils/pkg/object"

	"github.com/strata-platform/strata/platform"
)

// Controllers of Flux that every platform needs.
const (
	sourceController       = "source-controller"
	kustomizeController    = "kustomize-controller"
	notificationController = "notification-controller"
)

func syncRules() []rule {
	controller := func(name string) func(*world, *object) []*object {
		return func(w *world, _ *object) []*object { return []*object{w.need("Deployment", FluxNamespace, name)} }
	}
	return []rule{
		{sourceKinds, "source-controller fetches sources", controller(sourceController)},
		{append([]string{"Receiver"}, sourceKinds...), "a source is fetched with a login, a Receiver serves a secret address", loginOf},
		{[]string{"Kustomization"}, "kustomize-controller applies Kustomizations", controller(kustomizeController)},
		{[]string{"Receiver"}, "notification-controller serves Receivers", controller(notificationController)},
		{[]string{"Kustomization"}, "a Kustomization applies what its source holds", func(w *world, o *object) []*object {
			return []*object{w.sourceOf(o)}
		}},
		{[]string{"Kustomization"}, "a Kustomization waits for those of its dependsOn", dependsOn},
		{[]string{"Kustomization"}, "a Kustomization applies as an account, by the rights that its layer gave it", accountOf},
		{[]string{"Kustomization"}, "kinds come with the Kustomizations of layer 3", kindsOf},
		{[]string{"Kustomization"}, "a Kustomization is ready when what it applied is", appliedBy},
	}
}

// loginOf returns the Secret that a source refers to.
func loginOf(w *world, o *object) []*object {
	name := o.text("spec", "secretRef", "name")
	if name == "" {
		return nil
	}
	login := w.need("Secret", o.Namespace, name)
	if slices.Contains(w.scope.required(), o.key()) || o.Kind == "Receiver" {
		// Layer 2 creates a source together with its Secret.
		login.Layer = LayerPlatform
	}
	return []*object{login}
}

// sourceOf returns the source of a Kustomization.
func (w *world) sourceOf(o *object) *object {
	name := o.text("spec", "sourceRef", "name")
	if name == "" {
		return nil
	}
	namespace := o.text("spec", "sourceRef", "namespace")
	if namespace == "" {
		namespace = o.Namespace
	}
	return w.need(o.text("spec", "sourceRef", "kind"), namespace, name)
}

func dependsOn(w *world, o *object) []*object {
	var list []*object
	for _, d := range o.members("spec", "dependsOn") {
		namespace := at(d, "namespace")
		if namespace == "" {
			namespace = o.Namespace
		}
		list = append(list, w.need("Kustomization", namespace, at(d, "name")))
	}
	return list
}

// cannot matches the API server's refusal of an account without the required permission.
var cannot = regexp.MustCompile(`User "system:serviceaccount:([^:"]+):([^"]+)" cannot (\w+) resource "([^"]+)"`)

// accountOf returns an account and its role bindings if the API server refused a Kustomization because of a missing
// permission.
func accountOf(w *world, o *object) []*object {
	match := cannot.FindStringSubmatch(o.said())
	if match == nil {
		return nil
	}
	return w.rightsOf(match[1], match[2])
}

// rightsOf returns an account and the objects that grant its permissions.
func (w *world) rightsOf(namespace, account string) []*object {
	list := []*object{w.need("ServiceAccount", namespace, account)}
	if namespace == platform.PlatformNamespace {
		list = append(list, w.need("RoleBinding", platform.PlatformNamespace, platform.RolePlatform),
			w.need("RoleBinding", platform.OperatorNamespace, platform.RolePlatform), w.need("ClusterRoleBinding", "", platform.RolePlatform))
	}
	if team, ok := w.scope.team(namespace); ok {
		list = append(list, w.need("RoleBinding", namespace, bindingOf(team, account)))
	}
	for role := range platform.ClusterRoles() {
		list = append(list, w.need("ClusterRole", "", role))
	}
	return list
}

// noKind matches the API server's error about an unknown kind.
var noKind = regexp.MustCompile(`no matches for kind "\w+" in version "pulumi\.com/`)

func kindsOf(w *world, o *object) []*object {
	if !noKind.MatchString(o.said()) {
		return nil
	}
	return w.layerThree()
}

// layerThree returns the Kustomizations of layer 3, and the one that applies them.
func (w *world) layerThree() []*object {
	list := []*object{w.need("Kustomization", platform.PlatformNamespace, platform.PlatformAccount)}
	for _, o := range w.all("Kustomization", platform.PlatformNamespace) {
		if o.Layer == LayerSync {
			list = append(list, o)
		}
	}
	return list
}

// stopped are the reasons of a Kustomization that has applied nothing. The objects that it applied earlier are not the
// reason.
var stopped = []string{"BuildFailed", "ReconciliationFailed", "ArtifactFailed", "PruneFailed"}

// appliedBy returns the objects that a Kustomization applied, starting with those that its message names.
func appliedBy(w *world, o *object) []*object {
	if slices.Contains(stopped, o.Reason) {
		return nil
	}
	var named, others []*object
	stale := w.stale(o)
	for _, each := range w.inventory(o) {
		if found := w.objects[each]; found != nil && (found.content != nil || !stale) {
			if strings.Contains(o.Message, fmt.Sprintf("%s/%s/%s ", each.kind, each.namespace, each.name)) {
				named = append(named, found)
			} else {
				others = append(others, found)
			}
		}
	}
	return append(named, others...)
}

// inventory returns the objects that a Kustomization has applied, of the kinds that this package reads.
func (w *world) inventory(o *object) []key {
	if list, known := w.index.inventories[o]; known {
		return list
	}
	var list []key
	for _, entry := range o.members("status", "inventory", "entries") {
		id, err := inventory.ParseObjMetadata(at(entry, "id"))
		if kind := kindOf(id.GroupKind); err == nil && kind != "" {
			list = append(list, key{kind, id.Namespace, id.Name})
		}
	}
	if w.index.inventories == nil {
		w.index.inventories = map[*object][]key{}
	}
	w.index.inventories[o] = list
	return list
}

// stale reports whether a Kustomization is about to apply, or prune, a newer revision than its inventory's. An object
// that is in the inventory but not in the cluster may then have been pruned, and does not count as missing.
func (w *world) stale(o *object) bool {
	if o.content == nil || o.Reason == reasonProgressing {
		return true
	}
	source := w.sourceOf(o).revision()
	return source != "" && source != o.text("status", "lastAppliedRevision")
}

// webhookSuffix ends the name of a Receiver's Secret.
const webhookSuffix = "-webhook"

// needApplied adds the missing objects of Kustomizations' inventories, and missing Receivers whose Secret still exists.
func (w *world) needApplied() {
	for k, o := range w.objects {
		if name, ok := strings.CutSuffix(k.name, webhookSuffix); ok && k.kind == "Secret" && o.Layer != "" && o.content != nil && w.served["Receiver"] {
			w.need("Receiver", k.namespace, name)
		}
		if k.kind != "Kustomization" || o.content == nil || o.Reason == reasonTerminating || w.stale(o) {
			continue
		}
		for _, each := range w.inventory(o) {
			if w.served[each.kind] {
				w.need(each.kind, each.namespace, each.name)
			}
		}
	}
}

// applier returns the Kustomization that has applied an object, or nil.
func (w *world) applier(o *object) *object {
	for _, each := range w.appliers()[o.key()] {
		if o.content != nil || !w.stale(each) {
			return each
		}
	}
	return nil
}

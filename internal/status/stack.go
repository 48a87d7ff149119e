package status

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/platform"
)

func stackRules() []rule {
	stack := []string{"Stack"}
	return []rule{
		{stack, "the operator runs Stacks, by its rights in the namespace", func(w *world, o *object) []*object {
			return []*object{w.operator(), w.need("RoleBinding", o.Namespace, "strata-operator")}
		}},
		{stack, "a Stack reads Secrets and ConfigMaps", readBy},
		{stack, "a Stack runs a Program, or what a source holds", programOf},
		{stack, "a Stack waits for those of its prerequisites", func(w *world, o *object) []*object {
			var list []*object
			for _, p := range o.members("spec", "prerequisites") {
				list = append(list, w.need("Stack", o.Namespace, at(p, "name")))
			}
			return list
		}},
		{stack, "a Stack runs as an account", func(w *world, o *object) []*object {
			if account := o.text("spec", "serviceAccountName"); account != "" {
				return []*object{w.need("ServiceAccount", o.Namespace, account)}
			}
			return nil
		}},
		{stack, "a Program's own objects in the cluster are made by the rights of the Stack's account", accountOf},
		{stack, "Google Cloud lets a team do what layer 1 gave its role", googleRole},
	}
}

func (w *world) operator() *object {
	return w.need("Deployment", platform.OperatorNamespace, platform.OperatorAccount)
}

// stackState returns the state of a Stack's Ready condition. The reason is that of the Stalled or Reconciling condition,
// which is more specific.
func (w *world) stackState(o *object) (bool, string, string) {
	ok, reason, message := ready(o.content)
	if ok {
		return ok, reason, message
	}
	// During retries, the reason of the last failure is more useful than the fact that the operator retries.
	if strings.Contains(message, "retry after ") {
		if _, warned := w.warned(o, "", ""); warned != "" {
			return false, "RetryingAfterFailure", warned
		}
	}
	for _, kind := range []string{"Stalled", "Reconciling"} {
		if c := condition(o.content, kind); c["status"] == "True" && at(c, "message") == message {
			return false, at(c, "reason"), message
		}
	}
	return ok, reason, message
}

// unprotect matches Pulumi's advice to run its command, which needs access to the stack's state.
var unprotect = regexp.MustCompile(`(?i)[.,;:]?\s*To unprotect (?:this|the) resource\b.*$`)

// notDestroyed returns why a deleted Stack cannot be destroyed, or "".
func notDestroyed(o *object) string {
	if o.Kind != "Stack" || o.text("status", "lastUpdate", "type") != "destroy" || o.text("status", "lastUpdate", "state") != "failed" {
		return ""
	}
	return "it cannot be destroyed: " + or(unprotect.ReplaceAllString(oneLine(o.text("status", "lastUpdate", "message")), ""), "the operator says no reason")
}

// byGeneration matches the revision of a Program in the form of the embedded operator.
var byGeneration = regexp.MustCompile(`^(\d+)@sha256:`)

// stackBehind says which change a Stack has not run yet.
func (w *world) stackBehind(o *object) string {
	program := w.get("Program", o.Namespace, o.text("spec", "programRef", "name"))
	match := byGeneration.FindStringSubmatch(o.text("status", "lastUpdate", "lastSuccessfulCommit"))
	if program == nil || program.content == nil || match == nil {
		return ""
	}
	if match[1] != strconv.FormatInt(program.content.GetGeneration(), 10) {
		return "the latest change of Program " + program.Name + " is not taken up yet"
	}
	return ""
}

// readBy returns the Secrets and ConfigMaps that a Stack refers to.
func readBy(w *world, o *object) []*object {
	var list []*object
	add := func(kind, name string) {
		if name != "" {
			list = append(list, w.need(kind, o.Namespace, name))
		}
	}
	refs := func(field string) {
		if o.content == nil {
			return
		}
		all, _, _ := unstructured.NestedMap(o.content.Object, "spec", field)
		for _, name := range sorted(all) {
			ref, ok := all[name].(map[string]any)
			if !ok {
				continue
			}
			add("Secret", at(ref, "secret", "name"))
			add("ConfigMap", at(ref, "configMap", "name"))
			if field == "configRef" {
				add("ConfigMap", at(ref, "name"))
			}
		}
	}
	for _, field := range []string{"envRefs", "secretsRef", "configRef"} {
		refs(field)
	}
	for _, name := range o.names("spec", "envSecrets") {
		add("Secret", name)
	}
	for _, name := range o.names("spec", "envs") {
		add("ConfigMap", name)
	}
	add("Secret", o.text("spec", "gitAuthSecret"))
	lacking(w, o)
	return list
}

// noKey matches the operator's error about a missing key of a Secret or ConfigMap.
var noKey = regexp.MustCompile(`(\S+): (Secret|ConfigMap) ([^/ ]+)/(\S+) has no key "([^"]+)"`)

// lacking marks a team's context, which layer 2 creates, as incomplete if a Stack misses one of its keys.
func lacking(w *world, o *object) {
	match := noKey.FindStringSubmatch(o.said())
	if match == nil || match[4] != handoff.TenantName || !slices.Contains(contextKeys(match[2]), match[5]) {
		return
	}
	context := w.need(match[2], match[3], match[4])
	if context.Ready {
		context.Ready, context.Reason, context.Message = false, reasonIncomplete, "it has no key "+match[5]
	}
}

// contextKeys returns the keys that layer 2 puts into the Secret or the ConfigMap of a team's context.
func contextKeys(kind string) []string {
	if kind == "Secret" {
		return handoff.SecretKeys()
	}
	return handoff.ConfigKeys()
}

// misnamed says which key of its team's context a Stack refers to that no layer creates, or returns "".
func misnamed(o *object) string {
	match := noKey.FindStringSubmatch(o.said())
	if o.Kind != "Stack" || match == nil || match[4] != handoff.TenantName || slices.Contains(contextKeys(match[2]), match[5]) {
		return ""
	}
	return fmt.Sprintf("%s names key %s, which %s %s does not have (it has %s)", match[1], match[5], match[2], match[4], strings.Join(contextKeys(match[2]), ", "))
}

func (o *object) names(path ...string) []string {
	if o.content == nil {
		return nil
	}
	list, _, _ := unstructured.NestedStringSlice(o.content.Object, path...)
	return list
}

// programOf returns the Program or the source that a Stack runs.
func programOf(w *world, o *object) []*object {
	if name := o.text("spec", "programRef", "name"); name != "" {
		return []*object{w.need("Program", o.Namespace, name)}
	}
	if name := o.text("spec", "fluxSource", "sourceRef", "name"); name != "" {
		return []*object{w.need(o.text("spec", "fluxSource", "sourceRef", "kind"), o.Namespace, name)}
	}
	return nil
}

// denied matches the refusal of Google Cloud, or of its emulator, because of a missing permission.
var denied = regexp.MustCompile(`(?:Permission '|does not have |required permission ["']?)([a-z]+\.[a-zA-Z]+\.[a-zA-Z]+)`)

// deniedPermission returns the permission whose absence made Google Cloud refuse a Stack's request.
func deniedPermission(o *object) string {
	if match := denied.FindStringSubmatch(o.said()); match != nil {
		return match[1]
	}
	return ""
}

// googleRole returns the role that layer 1 grants to every team's Google account if the role has the denied permission.
func googleRole(w *world, o *object) []*object {
	permission := deniedPermission(o)
	team, ok := w.scope.team(o.Namespace)
	if !ok || !slices.Contains(bootstrap.TenantPermissions(), permission) {
		return nil
	}
	role := w.need("GoogleRole", "", team.GoogleAccountID()+"/"+bootstrap.TenantRole)
	role.Layer, role.Reason = LayerBootstrap, reasonDenied
	role.Message = "the Google account of team " + team.Name + " lacks " + permission + ", which is in the role"
	return []*object{role}
}

// makerOf returns the Stack whose Program creates a Secret or ConfigMap, or nil.
func (w *world) makerOf(kind, namespace, name string) *object {
	return w.makers()[key{kind, namespace, name}]
}

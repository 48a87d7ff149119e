package status

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var workloads = []string{"Deployment", "StatefulSet", "Job"}

func workloadRules() []rule {
	return []rule{
		{workloads, "a workload is ready when its pods are", func(w *world, o *object) []*object { return w.podsOf(o) }},
		{[]string{"Pod"}, "a pod reads Secrets and ConfigMaps", func(w *world, o *object) []*object { return w.mounted(o) }},
		{[]string{"Pod"}, "a pod waits for its volumes", func(w *world, o *object) []*object {
			var list []*object
			for _, v := range o.members("spec", "volumes") {
				if name := at(v, "persistentVolumeClaim", "claimName"); name != "" {
					list = append(list, w.need("PersistentVolumeClaim", o.Namespace, name))
				}
			}
			return list
		}},
		{[]string{"Pod"}, "a pod runs as an account", func(w *world, o *object) []*object {
			if name := o.text("spec", "serviceAccountName"); name != "" {
				return []*object{w.need("ServiceAccount", o.Namespace, name)}
			}
			return nil
		}},
	}
}

// ownerOf returns the workload that created a pod, or nil.
func (w *world) ownerOf(pod *object) *object {
	if pod.Kind != "Pod" {
		return nil
	}
	w.ownPods()
	return w.index.owners[pod]
}

// podsOf returns the pods of a workload, sorted by name.
func (w *world) podsOf(o *object) []*object {
	w.ownPods()
	return w.index.pods[o]
}

// findOwner follows a pod's owner references to a workload.
func (w *world) findOwner(pod *object) *object {
	for o := pod; o != nil && o.content != nil; {
		owners := o.content.GetOwnerReferences()
		if len(owners) == 0 {
			return nil
		}
		if o = w.get(owners[0].Kind, o.Namespace, owners[0].Name); o != nil && slices.Contains(workloads, o.Kind) {
			return o
		}
	}
	return nil
}

// mounted returns the Secrets and ConfigMaps that a pod needs to start.
func (w *world) mounted(o *object) []*object {
	var list []*object
	add := func(kind string, ref map[string]any, name string) {
		if optional, _, _ := unstructured.NestedBool(ref, "optional"); name != "" && !optional {
			list = append(list, w.need(kind, o.Namespace, name))
		}
	}
	inner := func(m map[string]any, field string) map[string]any {
		found, _, _ := unstructured.NestedMap(m, field)
		return found
	}
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range o.members("spec", field) {
			for _, e := range objectsOf(unstructured.NestedSlice(c, "env")) {
				from := inner(e, "valueFrom")
				add("Secret", inner(from, "secretKeyRef"), at(from, "secretKeyRef", "name"))
				add("ConfigMap", inner(from, "configMapKeyRef"), at(from, "configMapKeyRef", "name"))
			}
			for _, e := range objectsOf(unstructured.NestedSlice(c, "envFrom")) {
				add("Secret", inner(e, "secretRef"), at(e, "secretRef", "name"))
				add("ConfigMap", inner(e, "configMapRef"), at(e, "configMapRef", "name"))
			}
		}
	}
	for _, v := range o.members("spec", "volumes") {
		add("Secret", inner(v, "secret"), at(v, "secret", "secretName"))
		add("ConfigMap", inner(v, "configMap"), at(v, "configMap", "name"))
	}
	return list
}

// podState returns the state of a pod's Ready condition. The reason is that of a waiting container or of the scheduler,
// which is more specific. A completed pod is ready.
func podState(o *object) (bool, string, string) {
	ok, reason, message := ready(o.content)
	if ok {
		return true, "", ""
	}
	if o.text("status", "phase") == "Succeeded" {
		return true, "Completed", ""
	}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, c := range o.members("status", field) {
			if reason := at(c, "state", "waiting", "reason"); reason != "" && reason != "PodInitializing" {
				return false, reason, at(c, "state", "waiting", "message")
			}
		}
	}
	if c := condition(o.content, "PodScheduled"); c != nil && c["status"] == "False" {
		return false, at(c, "reason"), at(c, "message")
	}
	return ok, reason, message
}

// overQuota returns why a workload's pods were not created, or "".
func overQuota(o *object) string {
	c := condition(o.content, "ReplicaFailure")
	if c == nil || c["status"] != "True" {
		return ""
	}
	if _, of, found := strings.Cut(at(c, "message"), " is forbidden: "); found {
		return of
	}
	return at(c, "message")
}

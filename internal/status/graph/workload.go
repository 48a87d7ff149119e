package graph

import "slices"

// Workloads are the kinds that create pods.
var Workloads = []string{"Deployment", "StatefulSet", "Job"}

// OwnerOf returns the workload that created a pod, or nil.
func (g *Graph) OwnerOf(pod *Object) *Object {
	if pod.Kind != "Pod" {
		return nil
	}
	g.ownPods()
	return g.index.owners[pod]
}

// PodsOf returns the pods of a workload, sorted by name.
func (g *Graph) PodsOf(o *Object) []*Object {
	g.ownPods()
	return g.index.pods[o]
}

// findOwner follows a pod's owner references to a workload.
func (g *Graph) findOwner(pod *Object) *Object {
	for o := pod; o != nil && o.Content != nil; {
		owners := o.Content.GetOwnerReferences()
		if len(owners) == 0 {
			return nil
		}
		if o = g.Get(owners[0].Kind, o.Namespace, owners[0].Name); o != nil && slices.Contains(Workloads, o.Kind) {
			return o
		}
	}
	return nil
}

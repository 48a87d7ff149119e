package cause

import (
	"cmp"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
)

func workloadExplanations() []explanation {
	return []explanation{
		{"a workload exceeds the namespace's quota", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonOverQuota {
				return "", "", ""
			}
			return "the quota rejects its pods: " + o.Message, "", "lower its requests, or ask " + e.contact(o.Namespace) + " for a higher quota in teams.yaml"
		}},
		{"a pod fits on no node", func(_ *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != "Unschedulable" {
				return "", "", ""
			}
			return o.Message, "", "correct the pod's requirements on its node"
		}},
		{"a volume does not exist", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Kind != "PersistentVolumeClaim" {
				return "", "", ""
			}
			return o.Message, "", "correct the claim, or ask " + e.contact(o.Namespace) + " for its storage class"
		}},
		{"a program of the platform does not run", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Layer == status.LayerTeam || o.Kind != "Pod" && o.Kind != "Deployment" {
				return "", "", ""
			}
			name := o.Name
			if owner := e.OwnerOf(o); owner != nil {
				name = owner.Name
			}
			return cmp.Or(o.Message, "it is not ready"), graph.PlatformTeam, "run " + e.Scope.Command("logs", name)
		}},
		{"a pod does not start", func(_ *explainer, o *graph.Object) (string, string, string) {
			if o.Kind != "Pod" || o.Progressing() {
				return "", "", ""
			}
			return o.Message, "", "correct its Deployment"
		}},
	}
}

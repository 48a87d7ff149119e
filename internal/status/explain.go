package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/bootstrap"
)

// explanation explains a cause: the reason, who can solve it, and how.
type explanation struct {
	// cause describes the causes that it applies to, for the documentation.
	cause string
	// explain returns the reason, the person who can solve it, and what to do. An empty why means that the explanation
	// does not apply. An empty who means the owner of the object's namespace.
	explain func(w *world, o *object) (why, who, what string)
}

// explanations returns all explanations. The first one that applies wins.
func explanations() []explanation {
	return slices.Concat([]explanation{
		{"a Stack that is being deleted cannot be destroyed", func(w *world, o *object) (string, string, string) {
			if o.Reason != reasonKept {
				return "", "", ""
			}
			leave := "run " + w.scope.kubectl(`-n %s patch stack %s --type=merge -p '{"spec":{"destroyOnFinalize":false}}'`, o.Namespace, o.Name) + " to leave what it made"
			if w.goesDown(o.Namespace) {
				return o.Message, platformTeam, "run " + w.scope.command("up") + " to have everything again, where a push can mend it, or " + leave + ", and then " + w.scope.command("down")
			}
			return o.Message, platformTeam, leave
		}},
		{"something is being deleted", func(_ *world, o *object) (string, string, string) {
			if o.Reason != reasonTerminating {
				return "", "", ""
			}
			return o.Message, "", "wait for it; a finalizer that keeps it is in metadata.finalizers"
		}},
		{"what layer 2 makes is not there, or not whole", func(w *world, o *object) (string, string, string) {
			ofLayer := o.Layer == LayerPlatform || o.ofHop() && slices.Contains(w.scope.required(), o.key())
			switch {
			case !ofLayer || w.applier(o) != nil:
				return "", "", ""
			case o.Reason == reasonMissing:
				return "layer 2 makes it and it is not there", platformTeam, "run " + w.scope.command("up")
			case o.Reason == reasonIncomplete:
				return o.Message + ", which layer 2 puts there", platformTeam, "run " + w.scope.command("up")
			}
			return "", "", ""
		}},
		{"a team's Google account lacks what layer 1 gives it", func(w *world, o *object) (string, string, string) {
			if o.Kind != "GoogleRole" {
				return "", "", ""
			}
			return o.Message, platformTeam, "run " + w.scope.command("up")
		}},
		{"a source or sync is suspended", func(w *world, o *object) (string, string, string) {
			if o.Reason != reasonSuspended {
				return "", "", ""
			}
			why := "it is suspended: " + o.Message
			if o.suspendedByDown() {
				return why, platformTeam,
					fmt.Sprintf("run %s to have everything again, or %s to go on with it", w.scope.command("up"), w.scope.command("down"))
			}
			return why, platformTeam, "run " + w.scope.kubectl("-n %s patch %s %s --type=merge -p '{\"spec\":{\"suspend\":false}}'",
				o.Namespace, strings.ToLower(o.Kind), o.Name)
		}},
		{"no pod of a part of the platform is wanted", func(w *world, o *object) (string, string, string) {
			if o.Reason != reasonScaledDown {
				return "", "", ""
			}
			return "somebody has scaled it to 0, so that nothing runs it", platformTeam,
				"run " + w.scope.kubectl("-n %s scale deployment %s --replicas=1", o.Namespace, o.Name)
		}},
		{"what a Stack made is gone", func(w *world, o *object) (string, string, string) {
			if o.Reason != reasonMissing || o.Kind != "Secret" && o.Kind != "ConfigMap" {
				return "", "", ""
			}
			if stack := w.makerOf(o.Kind, o.Namespace, o.Name); stack != nil {
				return stack.ref() + " makes it and is ready, so that it was deleted since", "",
					"set spec.refresh: true in the Stack, and its next run makes it again"
			}
			return fmt.Sprintf("%s needs it, and nothing that was committed makes it", w.needing(o)), "",
				"commit what makes it, or correct the name"
		}},
		{"what a sync has applied is gone", func(w *world, o *object) (string, string, string) {
			sync := w.applier(o)
			if o.Reason != reasonMissing || sync == nil {
				return "", "", ""
			}
			who := w.scope.owner(o.Namespace)
			why := sync.ref() + " applied it and it was deleted since"
			if o.Layer != LayerTeam {
				return why, who, "run " + w.scope.command("up")
			}
			return why, who, "it comes back within " + sync.text("spec", "interval") + ", or with the next push"
		}},
		{"something refers to what is not there", func(w *world, o *object) (string, string, string) {
			if o.Reason != reasonMissing {
				return "", "", ""
			}
			return w.needing(o) + " needs it, and there is none", "", "commit it, or correct the name"
		}},
	}, syncExplanations(), stackExplanations(), workloadExplanations())
}

// downManager is the field manager of a suspension by `strata down`.
const downManager = "strata-down"

// suspendedByDown reports whether an interrupted `strata down` has suspended a source or sync.
func (o *object) suspendedByDown() bool {
	return slices.ContainsFunc(o.content.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == downManager })
}

// goesDown reports whether a `strata down` has started in a namespace.
func (w *world) goesDown(namespace string) bool {
	return slices.ContainsFunc(slices.Concat(w.all("Kustomization", namespace), w.all("GitRepository", namespace)),
		func(o *object) bool { return o.content != nil && o.suspendedByDown() })
}

// needing returns the name of an object that refers to a missing object.
func (w *world) needing(o *object) string {
	if needs := w.needers()[o]; needs != nil {
		return needs.ref()
	}
	return "the platform"
}

// explain adds the reason, the responsible person and the solution to the message of a cause.
func (w *world) explain(o *object) {
	for _, e := range explanations() {
		why, who, what := e.explain(w, o)
		if why == "" {
			continue
		}
		if who == "" {
			who = w.scope.owner(o.home())
		}
		o.Message = oneLine(why)
		if what != "" {
			o.Message = strings.TrimRight(o.Message, ".:; ") + ": " + who + ": " + oneLine(what)
		}
		return
	}
}

func stackExplanations() []explanation {
	return []explanation{
		{"Google Cloud denies a Stack what its layer never gave", func(w *world, o *object) (string, string, string) {
			permission := deniedPermission(o)
			if o.Kind != "Stack" || permission == "" {
				return "", "", ""
			}
			return fmt.Sprintf("%s: the team's Google account does not have %s and is not meant to (role %s)", o.Message, permission, bootstrap.TenantRole), "",
				"take it out of the Program, or ask " + w.contact(o.Namespace)
		}},
		{"a Stack names a key that its team's context does not have", func(_ *world, o *object) (string, string, string) {
			return misnamed(o), "", "correct it and push"
		}},
		{"a Stack waits for its first or its next run", func(_ *world, o *object) (string, string, string) {
			if o.Kind != "Stack" || o.Reason != "StackProcessing" && o.Reason != reasonProgressing {
				return "", "", ""
			}
			return or(o.Message, "it runs"), "", ""
		}},
		{"a Stack or Program fails by itself", func(w *world, o *object) (string, string, string) {
			if o.Kind != "Stack" && o.Kind != "Program" {
				return "", "", ""
			}
			if strings.Contains(o.Message, "ask "+w.contact(o.Namespace)) {
				return o.Message, "", "correct it and push"
			}
			return o.Message, "", "correct the Program or the Stack and push"
		}},
	}
}

// contact returns the contact in a team's TenantPolicy.
func (w *world) contact(namespace string) string {
	for _, policy := range w.all("TenantPolicy", namespace) {
		if contact := policy.text("spec", "contact"); contact != "" {
			return contact
		}
	}
	return platformTeam
}

func workloadExplanations() []explanation {
	return []explanation{
		{"a workload does not fit into the namespace's quota", func(w *world, o *object) (string, string, string) {
			if o.Reason != reasonOverQuota {
				return "", "", ""
			}
			return "its pods are refused: " + o.Message, "", "ask for less, or have " + w.contact(o.Namespace) + " raise the quota in teams.yaml"
		}},
		{"a pod fits on no node", func(_ *world, o *object) (string, string, string) {
			if o.Reason != "Unschedulable" {
				return "", "", ""
			}
			return o.Message, "", "correct what the pod asks of a node"
		}},
		{"a volume is not made", func(w *world, o *object) (string, string, string) {
			if o.Kind != "PersistentVolumeClaim" {
				return "", "", ""
			}
			return o.Message, "", "correct the claim, or ask " + w.contact(o.Namespace) + " for its storage class"
		}},
		{"a part of the platform does not run", func(w *world, o *object) (string, string, string) {
			if o.Layer == LayerTeam || o.Kind != "Pod" && o.Kind != "Deployment" {
				return "", "", ""
			}
			name := o.Name
			if owner := w.ownerOf(o); owner != nil {
				name = owner.Name
			}
			return or(o.Message, "it is not ready"), platformTeam, "look at " + w.scope.command("logs", name)
		}},
		{"a pod does not start", func(_ *world, o *object) (string, string, string) {
			if o.Kind != "Pod" || o.progressing() {
				return "", "", ""
			}
			return o.Message, "", "correct the Deployment that it is of"
		}},
	}
}

func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}

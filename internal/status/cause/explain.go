package cause

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/message"
)

// explanation explains a cause: the reason, who can fix it, and how.
type explanation struct {
	// cause describes the causes that it applies to, for the documentation.
	cause string
	// explain returns the reason, the person who can solve it, and what to do. An empty why means that the explanation
	// does not apply. An empty who means the owner of the object's namespace.
	explain func(e *explainer, o *graph.Object) (why, who, what string)
}

// explainer explains the causes in a graph.
type explainer struct {
	*graph.Graph
	// referrers maps an object to the first unready object that refers to it. Only some explanations need it.
	referrers func() map[*graph.Object]*graph.Object
}

// Explain writes into the message of each cause why it is not ready, who can fix it, and how.
func Explain(g *graph.Graph, causes iter.Seq[*graph.Object]) {
	e := &explainer{g, sync.OnceValue(func() map[*graph.Object]*graph.Object { return referrers(g) })}
	for o := range causes {
		e.explain(o)
	}
}

// referrer names an object that refers to a missing one.
func (e *explainer) referrer(o *graph.Object) string {
	if found := e.referrers()[o]; found != nil {
		return found.Ref()
	}
	return "the platform"
}

// explanations returns all explanations. The first one that applies wins.
func explanations() []explanation {
	return slices.Concat([]explanation{
		{"a Stack that is being deleted cannot be destroyed", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonKept {
				return "", "", ""
			}
			leave := "run " + e.Scope.KubectlCommand(`-n %s patch stack %s --type=merge -p '{"spec":{"destroyOnFinalize":false}}'`, o.Namespace, o.Name) + " to keep its resources"
			if e.goesDown(o.Namespace) {
				return o.Message, graph.PlatformTeam, "run " + e.Scope.Command("up") + " to restore the platform if a push can fix it, or " + leave + ", and then " + e.Scope.Command("down")
			}
			return o.Message, graph.PlatformTeam, leave
		}},
		{"an object is being deleted", func(_ *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonTerminating {
				return "", "", ""
			}
			return o.Message, "", "wait; metadata.finalizers lists the finalizers that delay it"
		}},
		{"an object of layer 2 is missing or incomplete", func(e *explainer, o *graph.Object) (string, string, string) {
			ofLayer := o.Layer == status.LayerPlatform || o.OfHop() && slices.Contains(e.Scope.Required(), o.Key())
			switch {
			case !ofLayer || e.Applier(o) != nil:
				return "", "", ""
			case o.Reason == status.ReasonMissing:
				return "layer 2 creates it, and it does not exist", graph.PlatformTeam, "run " + e.Scope.Command("up")
			case o.Reason == status.ReasonIncomplete:
				return o.Message + ", which layer 2 creates", graph.PlatformTeam, "run " + e.Scope.Command("up")
			}
			return "", "", ""
		}},
		{"a team's Google account has lost a permission that layer 1 grants", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Kind != "GoogleRole" {
				return "", "", ""
			}
			return o.Message, graph.PlatformTeam, "run " + e.Scope.Command("up")
		}},
		{"a source or sync is suspended", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonSuspended {
				return "", "", ""
			}
			why := "it is suspended: " + o.Message
			if o.SuspendedByDown() {
				return why, graph.PlatformTeam,
					fmt.Sprintf("run %s to restore the platform, or %s to continue", e.Scope.Command("up"), e.Scope.Command("down"))
			}
			return why, graph.PlatformTeam, "run " + e.Scope.KubectlCommand("-n %s patch %s %s --type=merge -p '{\"spec\":{\"suspend\":false}}'",
				o.Namespace, strings.ToLower(o.Kind), o.Name)
		}},
		{"a Deployment of the platform is scaled to 0", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonScaledDown {
				return "", "", ""
			}
			return "somebody has scaled it to 0 replicas", graph.PlatformTeam,
				"run " + e.Scope.KubectlCommand("-n %s scale deployment %s --replicas=1", o.Namespace, o.Name)
		}},
		{"a Secret or ConfigMap is missing", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonMissing || o.Kind != "Secret" && o.Kind != "ConfigMap" {
				return "", "", ""
			}
			if stack := e.StackDeclaring(o.Kind, o.Namespace, o.Name); stack != nil {
				return stack.Ref() + " has created it, and somebody has deleted it", "",
					"set spec.refresh: true in the Stack: its next run creates it again"
			}
			return fmt.Sprintf("%s needs it, and no Program or sync creates it", e.referrer(o)), "",
				"commit an object that creates it, or correct the name"
		}},
		{"an object that a sync has applied is missing", func(e *explainer, o *graph.Object) (string, string, string) {
			kustomization := e.Applier(o)
			if o.Reason != status.ReasonMissing || kustomization == nil {
				return "", "", ""
			}
			who := e.Scope.Owner(o.Namespace)
			why := kustomization.Ref() + " has applied it, and somebody has deleted it"
			if o.Layer != status.LayerTeam {
				return why, who, "run " + e.Scope.Command("up")
			}
			return why, who, "wait: Flux applies it again within " + kustomization.Text("spec", "interval") + ", or after the next push"
		}},
		{"an object refers to a missing object", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonMissing {
				return "", "", ""
			}
			return e.referrer(o) + " needs it, and it does not exist", "", "commit it, or correct the name"
		}},
	}, syncExplanations(), stackExplanations(), workloadExplanations())
}

// explain replaces the message of a cause by the reason, the people who can fix it, and how.
func (e *explainer) explain(o *graph.Object) {
	for _, each := range explanations() {
		why, who, what := each.explain(e, o)
		if why == "" {
			continue
		}
		if who == "" {
			who = e.Scope.Owner(o.Home())
		}
		o.Message = message.OneLine(why)
		if what != "" {
			o.Message = strings.TrimRight(o.Message, ".:; ") + ": " + who + ": " + message.OneLine(what)
		}
		return
	}
}

// goesDown reports whether an unfinished `strata down` has suspended syncs in a namespace.
func (e *explainer) goesDown(namespace string) bool {
	return slices.ContainsFunc(slices.Concat(e.All("Kustomization", namespace), e.All("GitRepository", namespace), e.All("OCIRepository", namespace)),
		func(o *graph.Object) bool { return o.Content != nil && o.SuspendedByDown() })
}

// Package status looks at a platform from layer to layer and finds the root cause of what is not ready.
//
// Collect lists what the layers made, in parallel, and Report says of each object whether it is ready. From each one that
// is not, rules lead down to the objects that it needs (a Kustomization to its source, a Stack to the Secret that it reads,
// that Secret to the layer that makes it) until one is reached that needs nothing that is missing: that is a cause. What it
// takes to mend it, and who can, is a part of its message.
package status

import (
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/terminal"
)

// Names of the layers, from the lowest.
const (
	LayerBootstrap = "bootstrap"
	LayerPlatform  = "platform"
	LayerSync      = "sync"
	LayerTeam      = "team"
)

var layers = []string{LayerBootstrap, LayerPlatform, LayerSync, LayerTeam}

// Item is one object of the platform. Its JSON form is stable.
type Item struct {
	// Layer is the layer that makes the object. Sources and syncs of a team, which layer 2 makes, stand with the team.
	Layer     string `json:"layer"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason"`
	// Message is one line. Of a cause it says why, who can mend it, and how.
	Message string `json:"message"`
	// Runtime is "process" or "simulated" for pods of the local target, otherwise empty.
	Runtime string `json:"runtime"`
	// RootCause marks the one item that explains why the platform is not ready.
	RootCause bool `json:"rootCause"`
}

// Report is the state of a platform. Its JSON form is stable.
type Report struct {
	Ready bool   `json:"ready"`
	Items []Item `json:"items"`

	// Engineer is as whom layer 1 runs, for the tree; empty where that is not known.
	Engineer string `json:"-"`
	// all is the command that prints everything, for what is left out; by default that of the target local.
	all string
	// causes are the positions of the items that explain the others, the root cause first.
	causes []cause
	// robbed are the Kustomizations of which something that they applied is gone.
	robbed []key
	// shown are the items of the tree by their positions, with what is said of each.
	notes map[int]note
}

// cause is an item that explains others, both by their positions.
type cause struct {
	item     int
	explains []int
}

// NewReport makes a report of items that explain each other from top to bottom: the first that fails for a reason of its
// own, or else the first that is not ready, is the root cause.
func NewReport(items []Item) Report {
	r := Report{Items: items}
	first := slices.IndexFunc(items, func(i Item) bool { return !i.Ready && !i.progressing() })
	if first < 0 {
		first = slices.IndexFunc(items, func(i Item) bool { return !i.Ready })
	}
	if r.Ready = first < 0; !r.Ready {
		r.mark([]cause{{item: first}})
	}
	return r
}

func (r *Report) mark(causes []cause) {
	r.causes = causes
	r.Items[causes[0].item].RootCause = true
}

// RootCause returns the item that explains why the platform is not ready.
func (r Report) RootCause() (Item, bool) {
	for _, i := range r.Items {
		if i.RootCause {
			return i, true
		}
	}
	return Item{}, false
}

// Lacks tells whether something that a layer makes is not there, or does not have the rights that the layer gives it.
// Pulumi compares with its own state, so that only a refresh tells it.
func (r Report) Lacks(layer string) bool {
	return slices.ContainsFunc(r.Items, func(i Item) bool {
		if i.Kind == kindTeam && layer == LayerPlatform {
			return true
		}
		return !i.Ready && (i.Layer == layer || layer == LayerPlatform && i.ofHop()) && slices.Contains([]string{reasonMissing, reasonDenied, reasonIncomplete}, i.Reason)
	})
}

// ofHop tells whether a hop makes an item of a team: layer 2 does, though the item stands with the team.
func (i Item) ofHop() bool {
	return i.Layer == LayerTeam && slices.Contains([]string{"GitRepository", "Kustomization"}, i.Kind)
}

// kindTeam is the kind of a team of which nothing is in the cluster.
const kindTeam = "Team"

// Reasons that this package gives.
const (
	// reasonMissing is for what should be there and is not.
	reasonMissing = "Missing"
	// reasonIncomplete is for what is there and lacks a part.
	reasonIncomplete = "Incomplete"
	// reasonDenied is for rights that a layer gives and that are gone.
	reasonDenied = "RightsMissing"
	// reasonNeverMade is for a layer that was not run yet.
	reasonNeverMade = "NeverMade"
	// reasonSuspended is for a source or sync that somebody has suspended.
	reasonSuspended = "Suspended"
	// reasonScaledDown is for a part of the platform of which no pod is wanted.
	reasonScaledDown = "ScaledToZero"
	// reasonOverQuota is for pods that the namespace's quota does not admit.
	reasonOverQuota = "QuotaExceeded"
	// reasonProgressing is for what is on its way.
	reasonProgressing = "Progressing"
	// reasonKept is for what is being deleted and cannot be.
	reasonKept = "CannotBeDestroyed"
	// reasonTerminating is for what is being deleted.
	reasonTerminating = "Terminating"
)

// passing are reasons of what is on its way, or only waits for something else.
var passing = []string{
	reasonProgressing, "ProgressingWithRetry", "DependencyNotReady", "HealthCheckFailed", "InProgress", "ContainersNotReady",
	"StackProcessing", "PrerequisiteNotSatisfied", "NotReadyInProgress", "ContainerCreating", "PodInitializing", "Pending",
	"ArtifactFailed", "starting",
}

// progressing tells whether an item is on its way, or waits for another, as far as it says itself.
func (i Item) progressing() bool { return slices.Contains(passing, i.Reason) }

// ref is the item's kind and name.
func (i Item) ref() string {
	return terminal.Line(i.Kind+" "+strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"), longestRef)
}

// Teams choose what messages say, and some names. A person reads so much of them.
const (
	longestRef     = 200
	longestMessage = 800
)

// String is the item in one line that is safe to print: what it is, and why it is not ready. What is too long is left out
// in its middle.
func (i Item) String() string {
	if i.Ready {
		return i.ref()
	}
	return i.ref() + ": " + i.why(longestMessage)
}

// why is why the item is not ready, in one line that is safe to print and has at most so many characters.
func (i Item) why(most int) string {
	return terminal.Line(strings.Trim(i.Reason+": "+i.Message, ": "), most)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

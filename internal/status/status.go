// Package status reads the state of a platform, layer by layer, and finds the root cause if the platform is not ready.
//
// Collect lists the objects of the layers in parallel, and Report says for each object whether it is ready. From each
// object that is not ready, rules lead down to the objects that it needs: from a Kustomization to its source, from a
// Stack to the Secret that it reads, from that Secret to the layer that creates it. An object whose needs are all met is
// a cause. Its message says how to solve it, and who can.
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
	// Layer is the layer that creates the object. A team's sources and syncs count as the team's, although layer 2
	// creates them.
	Layer     string `json:"layer"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason"`
	// Message is one line. For a cause it says the reason, who can solve it, and how.
	Message string `json:"message"`
	// Runtime is "process" or "simulated" for pods of the local target, otherwise empty.
	Runtime string `json:"runtime"`
	// RootCause marks the only item that explains why the platform is not ready.
	RootCause bool `json:"rootCause"`
}

// Report is the state of a platform. Its JSON form is stable.
type Report struct {
	Ready bool   `json:"ready"`
	Items []Item `json:"items"`

	// Engineer is the identity that runs layer 1, for the tree; empty if unknown.
	Engineer string `json:"-"`
	// all is the command that prints the whole report; empty means the command of the target local.
	all string
	// causes are the items that explain others, the root cause first.
	causes []cause
	// robbed are the Kustomizations whose applied objects are gone.
	robbed []key
	// notes maps the positions of the items in the tree to their notes.
	notes map[int]note
}

// cause is an item that explains others. Items are given by their positions.
type cause struct {
	item     int
	explains []int
}

// NewReport returns a report of items. Each item depends on the previous ones. The root cause is the first item with a
// failure of its own, or else the first item that is not ready.
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

// Lacks reports whether an object that a layer creates is missing, or lacks the permissions that the layer grants. Pulumi
// compares with its own state, so only a refresh detects this.
func (r Report) Lacks(layer string) bool {
	return slices.ContainsFunc(r.Items, func(i Item) bool {
		if i.Kind == kindTeam && layer == LayerPlatform {
			return true
		}
		return !i.Ready && (i.Layer == layer || layer == LayerPlatform && i.ofHop()) && slices.Contains([]string{reasonMissing, reasonDenied, reasonIncomplete}, i.Reason)
	})
}

// ofHop reports whether a hop, and so layer 2, creates an item of a team.
func (i Item) ofHop() bool {
	return i.Layer == LayerTeam && slices.Contains([]string{"GitRepository", "Kustomization"}, i.Kind)
}

// kindTeam is the kind of an item for a team without any object in the cluster.
const kindTeam = "Team"

// Reasons that this package sets.
const (
	// reasonMissing is for an object that should exist and does not.
	reasonMissing = "Missing"
	// reasonIncomplete is for an object that lacks a part.
	reasonIncomplete = "Incomplete"
	// reasonDenied is for missing permissions that a layer grants.
	reasonDenied = "RightsMissing"
	// reasonNeverMade is for a layer that has never run.
	reasonNeverMade = "NeverMade"
	// reasonSuspended is for a source or sync that somebody has suspended.
	reasonSuspended = "Suspended"
	// reasonScaledDown is for a workload of the platform that is scaled to zero.
	reasonScaledDown = "ScaledToZero"
	// reasonOverQuota is for pods that the namespace's quota refuses.
	reasonOverQuota = "QuotaExceeded"
	// reasonProgressing is for an object in progress.
	reasonProgressing = "Progressing"
	// reasonKept is for an object whose deletion fails.
	reasonKept = "CannotBeDestroyed"
	// reasonTerminating is for an object that is being deleted.
	reasonTerminating = "Terminating"
)

// passing are the reasons of objects in progress, or waiting for another object.
var passing = []string{
	reasonProgressing, "ProgressingWithRetry", "DependencyNotReady", "HealthCheckFailed", "InProgress", "ContainersNotReady",
	"StackProcessing", "PrerequisiteNotSatisfied", "NotReadyInProgress", "ContainerCreating", "PodInitializing", "Pending",
	"ArtifactFailed", "starting",
}

// progressing reports whether an item is in progress or waiting, according to its own reason.
func (i Item) progressing() bool { return slices.Contains(passing, i.Reason) }

// ref returns the item's kind and name.
func (i Item) ref() string {
	return terminal.Line(i.Kind+" "+strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"), longestRef)
}

// Limits of text that teams choose, such as messages and some names.
const (
	longestRef     = 200
	longestMessage = 800
)

// String returns the item as one line that is safe to print: its kind and name, and why it is not ready. It cuts a long
// line in the middle.
func (i Item) String() string {
	if i.Ready {
		return i.ref()
	}
	return i.ref() + ": " + i.why(longestMessage)
}

// why returns why the item is not ready, as one line that is safe to print and has no more than most characters.
func (i Item) why(most int) string {
	return terminal.Line(strings.Trim(i.Reason+": "+i.Message, ": "), most)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

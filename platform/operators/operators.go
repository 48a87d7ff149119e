// Package operators says which operator runs Stacks, what layer 3 applies for it, and what the embedded one may do in a pod.
package operators

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/strata-platform/strata/components/fluxcd"
)

// The operators.
const (
	// Embedded is Strata's own operator: a process of the machine on target local, and a pod everywhere else.
	Embedded = "embedded"
	// Upstream is the Pulumi Kubernetes Operator, which runs each Stack in a pod of the team's namespace.
	Upstream = "upstream"
)

const (
	local, gke = "local", "gke"
	// localUpstream is the target of homes with upstream's operator. Flux's folder in the fleet repository has this name, and another
	// folder would replace Flux.
	localUpstream = "local-upstream"

	// sync is the Kustomization that applies the operator, and image the image in the Deployment of the embedded one.
	sync, image = "operator", "ghcr.io/strata-platform/operator"
)

// entryPoints are the folders below sync/clusters, by target and operator.
var entryPoints = map[string]map[string]string{
	local:         {Embedded: "local", Upstream: "local-upstream"},
	localUpstream: {Upstream: "local-upstream"},
	gke:           {Embedded: "gke-embedded", Upstream: "gke"},
}

// pinned matches an image with its digest.
var pinned = regexp.MustCompile(`^([a-z0-9][a-zA-Z0-9./:_-]*)@(sha256:[0-9a-f]{64})$`)

// Choice is the operator of a platform.
type Choice struct {
	// Target is the platform's target, or an entry point of one's own. Operator is Embedded or Upstream. Image is the image, with
	// its digest, of the embedded operator.
	Target, Operator, Image string
}

// EntryPoint returns the folder below sync/clusters that Flux applies.
func (c Choice) EntryPoint() string {
	if folders, known := entryPoints[c.Target]; known {
		return folders[c.Operator]
	}
	return c.Target
}

// Upstream reports whether sync/ installs upstream's operator, which runs Stacks in pods of the teams' namespaces.
func (c Choice) Upstream() bool { return c.Operator == Upstream }

// Pod reports whether the embedded operator runs in a pod, and the runs of all teams with it.
func (c Choice) Pod() bool { return c.Operator == Embedded && c.Target != local }

// Problems returns the problems of the choice. Each begins with the key of the setting.
func (c Choice) Problems() []string {
	known := slices.Sorted(maps.Keys(entryPoints[gke]))
	folders, isTarget := entryPoints[c.Target]
	switch {
	case !slices.Contains(known, c.Operator):
		return []string{fmt.Sprintf("operator %q is none of %s", c.Operator, strings.Join(known, ", "))}
	case isTarget && folders[c.Operator] == "":
		return []string{fmt.Sprintf("operator %s does not run on target %s", c.Operator, c.Target)}
	case c.Image != "" && !pinned.MatchString(c.Image):
		return []string{fmt.Sprintf("operatorImage %q is not an image with its digest, such as registry.example.com/strata-operator@sha256:...", c.Image)}
	case c.Image == "" && c.Pod():
		return []string{"operatorImage is missing: build images/operator/Containerfile for the embedded operator, or set operator to upstream, which reads every Secret of the cluster"}
	}
	return nil
}

// Patches returns the patch of the entry point that gives the operator's Deployment its image.
func (c Choice) Patches() ([]fluxcd.Patch, error) {
	if !c.Pod() {
		return nil, nil
	}
	parts := pinned.FindStringSubmatch(c.Image)
	if parts == nil {
		return nil, fmt.Errorf("operatorImage %q has no digest", c.Image)
	}
	override := map[string]string{"name": image, "newName": parts[1], "digest": parts[2]}
	if at := strings.LastIndex(parts[1], ":"); at > strings.LastIndex(parts[1], "/") {
		override["newName"], override["newTag"] = parts[1][:at], parts[1][at+1:]
	}
	operations, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec/images", "value": []map[string]string{override}}})
	if err != nil {
		return nil, fmt.Errorf("encode the image of the operator: %w", err)
	}
	return []fluxcd.Patch{{Kind: "Kustomization", Name: sync, Operations: string(operations)}}, nil
}

package upgrade

import (
	"cmp"
	"fmt"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/skew"
)

// Version is a version that a step changes.
type Version struct {
	Name string `json:"name"`
	// From is the version of the platform; empty if unknown. To is the version of this strata.
	From string `json:"from"`
	To   string `json:"to"`
}

func (v Version) String() string {
	return fmt.Sprintf("%s %s -> %s", v.Name, cmp.Or(v.From, "unknown"), v.To)
}

// layerVersions returns the versions that a run of a layer changes, except that of Flux.
func layerVersions(facts skew.Facts, name string) []Version {
	layer, versions := facts.Layer(name), []Version{}
	if layer.Strata != facts.Offered.Strata {
		versions = append(versions, Version{"strata", layer.Strata, facts.Offered.Strata})
	}
	if skew.Differ(layer.Pulumi, facts.Offered.Pulumi) {
		versions = append(versions, Version{"pulumi", layer.Pulumi, facts.Offered.Pulumi})
	}
	return versions
}

// fluxVersions returns the version of Flux that layer 2 changes.
func fluxVersions(facts skew.Facts) []Version {
	has, want := facts.Layer(lifecycle.PlatformLayer).Flux, facts.Offered.Flux
	if want == "" || has == want {
		return []Version{}
	}
	return []Version{{"flux", has, want}}
}

// kindsVersions returns the versions of the kinds of the operator that layer 3 changes.
func kindsVersions(facts skew.Facts) []Version {
	versions := []Version{}
	if facts.Cluster == nil {
		return versions
	}
	if has, want := facts.Cluster.Operator, facts.Offered.Operator; skew.Differ(has.Commit, want.Commit) {
		versions = append(versions, Version{"kinds of the operator", has.Commit, want.Commit})
	}
	for _, kind := range facts.Cluster.Kinds {
		from := "another schema"
		if kind.Missing {
			from = "none"
		}
		versions = append(versions, Version{"kind " + kind.Name, from, "the schema of " + facts.Offered.Strata})
	}
	return versions
}

// operatorVersions returns the version of the operator that layer 3 changes.
func operatorVersions(facts skew.Facts) []Version {
	if facts.Cluster == nil {
		return []Version{}
	}
	has, want := facts.Cluster.Operator, facts.Offered.Operator
	if !skew.Differ(has.Tag, want.Tag) {
		return []Version{}
	}
	return []Version{{"operator", has.Tag, want.Tag}}
}

package skew

import (
	"fmt"
	"strings"

	"github.com/strata-platform/strata/internal/status"
)

// operator compares the operator in the cluster with its kinds.
func (f Facts) operator() []status.Skew {
	if f.Cluster == nil || f.Cluster.Operator.Tag == "" {
		return nil
	}
	var list []status.Skew
	add := func(broken bool, remedy, format string, args ...any) {
		list = append(list, status.Skew{Part: "operator", Broken: broken, Found: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	has, want := f.Cluster.Operator, f.Offered.Operator
	switch {
	case want.Commit == "" && Differ(has.Tag, want.Tag):
		add(false, f.run("upgrade"), "%s runs, and layer 3 of this strata has %s", has.Tag, want.Tag)
	case want.Commit != "" && has.Tag == want.Tag && Differ(has.Commit, want.Commit):
		add(false, "change the tag and the commit together (decision 20)", "%s runs with the kinds of commit %s, and its release has those of %s", has.Tag, short(has.Commit), short(want.Commit))
	case want.Commit != "" && has.Commit == want.Commit && Differ(has.Tag, want.Tag):
		add(false, "change the tag and the commit together (decision 20)", "%s runs with the kinds of %s", has.Tag, want.Tag)
	}
	for _, kind := range f.Cluster.Kinds {
		// An operator of another version comes with its own kinds.
		if Differ(has.Tag, want.Tag) {
			break
		}
		switch {
		case kind.Missing:
			add(true, f.run("up"), "%s runs, and the cluster does not have its kind %s", has.Tag, kind.Name)
		case len(kind.Unserved) > 0:
			add(true, f.run("up"), "%s runs, and the cluster does not serve version %s of its kind %s", has.Tag, strings.Join(kind.Unserved, ", "), kind.Name)
		default:
			add(false, f.run("upgrade"), "%s runs, and the cluster has another schema of its kind %s", has.Tag, kind.Name)
		}
	}
	return list
}

// running compares the programs of this machine with this strata.
func (f Facts) running() []status.Skew {
	if !Differ(f.Offered.Running, f.Offered.Strata) {
		return nil
	}
	return []status.Skew{{
		Part: "supervisor", Found: fmt.Sprintf("strata %s runs the programs of this machine, and this is strata %s", f.Offered.Running, f.Offered.Strata),
		Remedy: f.run("upgrade") + ", which restarts them",
	}}
}

const shortHash = 8

func short(commit string) string { return commit[:min(shortHash, len(commit))] }

package gitserver

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/strata-platform/strata/internal/lint"
	"github.com/strata-platform/strata/internal/lint/trial"
)

// findings is what the check of a push knows about the builds of its commits. For a push of the engineer, it knows only manifests.
type findings struct {
	// syncs are the Kustomizations that build the repository.
	syncs []Sync
	// of holds the builds by reference, such as "refs/heads/main".
	of map[string]found
	// manifests holds, by reference, the objects that each of syncs would apply: for at most mostPlans branches that need a plan.
	manifests map[string][]trial.Manifests
}

// found describes the builds of one commit.
type found struct {
	// failure is the error of a build that fails in the cluster, too; empty if all succeed.
	failure string
	// unlisted are the manifests that the update adds or changes, and that no build reads.
	unlisted []string
}

// build tries the builds of an update's commit that Flux would see after the push, and adds what it finds to the findings. For a push
// of the engineer, it builds only what needs a plan, and rejects nothing.
func (j *judgement) build(each update, team bool) error {
	if each.deletes() || !team && j.Plans == nil {
		return nil
	}
	if j.findings.syncs == nil {
		j.findings.syncs = j.Syncs(j.ctx, j.repository)
	}
	plans := j.planned(each, j.findings.syncs) && len(j.findings.manifests) < mostPlans
	tree, err := j.objects.TreeOf(each.new)
	if err != nil || tree == "" || !plans && (!team || j.built[tree]) {
		return err
	}
	j.built[tree] = true
	problems, built, err := j.try(each, tree, plans)
	if err != nil || !team {
		return err
	}
	if len(problems) > 0 {
		return refuseFor(each.new, problems...)
	}
	return j.note(each, tree, built)
}

// try builds a tree for each of the Kustomizations, and keeps the objects if the update needs a plan.
func (j *judgement) try(each update, tree string, plans bool) ([]lint.Problem, []trial.Built, error) {
	specs := make([]trial.Sync, len(j.findings.syncs))
	for i, sync := range j.findings.syncs {
		specs[i] = sync.Spec
	}
	if !plans {
		return j.trial.Build(j.objects.FS(tree), specs)
	}
	var manifests []trial.Manifests
	var built []trial.Built
	for i, spec := range specs {
		problems, made, err := j.trial.Manifests(j.objects.FS(tree), spec)
		if err != nil || len(problems) > 0 {
			return problems, nil, err
		}
		built = append(built, made.Built)
		// A team may have many Kustomizations, and each of its pushes holds the objects in memory.
		if i >= mostPlans {
			made = trial.Manifests{}
		}
		made.Objects = slices.DeleteFunc(made.Objects, func(object trial.Object) bool { return !inPlans(object) })
		manifests = append(manifests, made)
	}
	if j.findings.manifests == nil {
		j.findings.manifests = map[string][]trial.Manifests{}
	}
	j.findings.manifests[each.ref] = manifests
	return nil, built, nil
}

// note adds the builds of an update's commit to the findings.
func (j *judgement) note(each update, tree string, built []trial.Built) error {
	var result found
	var unlisted []string
	first := true
	for i, sync := range j.findings.syncs {
		if !sync.Follows(each.ref) {
			continue
		}
		if built[i].Failure != "" && result.failure == "" {
			result.failure = built[i].Failure
		}
		// A file is applied if one of the Kustomizations reads it.
		if first {
			unlisted, first = built[i].Unlisted, false
			continue
		}
		unlisted = slices.DeleteFunc(slices.Clone(unlisted), func(name string) bool { return !slices.Contains(built[i].Unlisted, name) })
	}
	if result.failure == "" {
		var err error
		if result.unlisted, err = j.changed(each.old, tree, unlisted); err != nil {
			return err
		}
	}
	if j.findings.of == nil {
		j.findings.of = map[string]found{}
	}
	j.findings.of[each.ref] = result
	return nil
}

// changed returns those of the named files in a tree that are missing or different in an old commit.
func (j *judgement) changed(old, tree string, names []string) ([]string, error) {
	before, err := j.objects.TreeOf(old)
	if err != nil || before == "" {
		return names, err
	}
	var list []string
	for _, name := range names {
		now, err := j.objects.ID(tree, name)
		if err != nil {
			return nil, err
		}
		then, err := j.objects.ID(before, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil || then != now {
			list = append(list, name)
		}
	}
	return list, nil
}

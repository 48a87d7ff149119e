package gitserver

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/status/message"
	"github.com/strata-platform/strata/internal/terminal"
)

const (
	// mostUpdates and mostFiles bound the branches, and the files of each branch, that an answer names.
	mostUpdates, mostFiles = 5, 5
	// mostSaid is the maximum number of lines that a waiting push prints. The pipe to the hook holds all of them, so that a
	// client that does not read blocks nothing.
	mostSaid = 60
	// waitOption is the push option that makes a push wait for its result.
	waitOption = "wait"
)

// answer is the answer to one accepted push.
type answer struct {
	*Server
	repository string
	findings   findings
}

// tell says which updates of a push Flux applies, and creates the plans of the other branches. If the client passes waitOption, tell
// then waits for the result of the first applied update, or else for the plans. control extends the deadlines of the request for the
// wait.
func (a *answer) tell(ctx context.Context, control *http.ResponseController, options []string, updates []update, say func(string)) {
	if a.findings.syncs == nil {
		a.findings.syncs = a.Syncs(ctx, a.repository)
	}
	line := func(format string, args ...any) { say(terminal.Line(fmt.Sprintf(format, args...), longestReason)) }
	for i, each := range updates {
		if i == mostUpdates {
			line("… and %d more branches and tags", len(updates)-i)
			break
		}
		for _, each := range a.describe(each) {
			line("%s", each)
		}
	}
	for _, each := range options {
		if each != waitOption {
			line("unknown push option %s: the server has only `git push -o %s`", terminal.Line(each, 50), waitOption)
		}
	}
	waits := slices.Contains(options, waitOption)
	plans := a.plan(ctx, updates, waits, line)
	applied := slices.IndexFunc(updates, func(each update) bool { return !each.deletes() && a.applies(each) })
	switch {
	case applied < 0 && len(plans) > 0 && waits:
		a.waitForPlans(ctx, control, plans, say, line)
	case applied < 0:
	case a.Follow == nil || !waits:
		a.pointToStatus(line)
	default:
		a.wait(ctx, control, updates[applied], line)
	}
}

// pointToStatus says where the result appears.
func (a *answer) pointToStatus(line func(string, ...any)) {
	switch {
	case a.StatusCommand != "" && a.Follow != nil:
		line("See the result with `%s`, or wait for it with `git push -o %s`.", a.StatusCommand, waitOption)
	case a.StatusCommand != "":
		line("See the result with `%s`.", a.StatusCommand)
	}
}

// applies reports whether Flux applies the branch of an update.
func (a *answer) applies(each update) bool {
	branch := branchOf(each.ref)
	return branch != "" && slices.ContainsFunc(a.findings.syncs, func(s Sync) bool { return s.Branch == branch && !s.Planned })
}

// describe returns what Flux does with an update.
func (a *answer) describe(each update) []string {
	branch := branchOf(each.ref)
	name := "branch " + branch
	if branch == "" {
		name = strings.TrimPrefix(each.ref, "refs/")
	}
	var folders, branches []string
	planned := false
	for _, sync := range a.findings.syncs {
		if sync.Branch == branch && branch != "" {
			folder, _ := sync.Spec["path"].(string)
			folders = append(folders, "."+path.Join("/", folder))
			planned = planned || sync.Planned
		}
		if sync.Branch != "" && !slices.Contains(branches, sync.Branch) {
			branches = append(branches, sync.Branch)
		}
	}
	switch {
	case len(folders) == 0 && len(branches) == 0:
		return []string{fmt.Sprintf("%s is not applied: Flux applies no branch of this repository", name)}
	case len(folders) == 0 && each.deletes():
		return nil
	case len(folders) == 0:
		return []string{fmt.Sprintf("%s is not applied: Flux applies branch %s; to apply the commit, push it to that branch", name, strings.Join(branches, ", "))}
	case each.deletes():
		return []string{fmt.Sprintf("branch %s is deleted: Flux applies it, keeps the objects of its last commit, and fails until the branch exists again", branch)}
	}
	slices.Sort(folders)
	what := fmt.Sprintf("commit %.8s of branch %s, folder %s", each.new, branch, strings.Join(slices.Compact(folders), ", "))
	lines := []string{"Flux applies " + what}
	if planned {
		lines[0] = "Flux will apply " + what + ", as soon as the platform team has run `strata up`"
	}
	result := a.findings.of[each.ref]
	if result.failure != "" {
		lines = append(lines, "Flux cannot build it: "+message.OneLine(message.Build(result.failure)))
	}
	for i, file := range result.unlisted {
		if i == mostFiles {
			lines = append(lines, fmt.Sprintf("… and %d more files", len(result.unlisted)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("not applied: %s: no kustomization.yaml below %s lists it", terminal.Line(file, 200), strings.Join(slices.Compact(folders), ", ")))
	}
	return lines
}

// wait waits for the result of an update, and prints it.
func (a *answer) wait(ctx context.Context, control *http.ResponseController, each update, line func(string, ...any)) {
	ctx, end := a.patience(ctx, control, "result", line)
	if end == nil {
		a.pointToStatus(line)
		return
	}
	defer end()
	said := 0
	line("%s", a.Follow(ctx, a.repository, branchOf(each.ref), each.new, func(text string) {
		if said++; said <= mostSaid {
			line("%s", text)
		}
	}))
}

// branchOf returns the branch of a reference, or "" for a tag or another reference.
func branchOf(ref string) string {
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

package gitserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/gitserver/applied"
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
	first := slices.IndexFunc(updates, func(each update) bool { return !each.deletes() && a.applies(each) })
	switch {
	case first < 0 && len(plans) > 0 && waits:
		a.waitForPlans(ctx, control, plans, say, line)
	case first < 0 && a.StatusCommand != "" && slices.ContainsFunc(updates, a.appliesTag):
		line("See the result with `%s`.", a.StatusCommand)
	case first < 0:
	case a.Follow == nil || !waits:
		a.pointToStatus(line)
	default:
		a.wait(ctx, control, updates[first], line)
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
	branch := applied.Branch(each.ref)
	// The commit of a signed tag has another ID than the tag, and Follow waits for a commit.
	return branch != "" && slices.ContainsFunc(a.findings.syncs, func(s Sync) bool { return s.Branch == branch && !s.Planned })
}

// appliesTag reports whether an update adds a tag that Flux can apply.
func (a *answer) appliesTag(each update) bool {
	return applied.Branch(each.ref) == "" && !each.deletes() && slices.ContainsFunc(a.findings.syncs, func(s Sync) bool { return s.Follows(each.ref) })
}

// describe returns what Flux does with an update.
func (a *answer) describe(each update) []string {
	if lines, found := applied.Refusal(a.findings.syncs, each.ref, each.deletes()); found {
		return lines
	}
	folders := strings.Join(applied.Folders(a.findings.syncs, each.ref), ", ")
	what := fmt.Sprintf("commit %.8s of branch %s, folder %s", each.new, applied.Branch(each.ref), folders)
	if tag, isTag := strings.CutPrefix(each.ref, "refs/tags/"); isTag {
		what = fmt.Sprintf("tag %s, folder %s, if it is the highest in the range and has the signature that the platform team demands", tag, folders)
	}
	planned := slices.ContainsFunc(a.findings.syncs, func(s Sync) bool { return s.Planned && s.Follows(each.ref) })
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
		lines = append(lines, fmt.Sprintf("not applied: %s: no kustomization.yaml below %s lists it", terminal.Line(file, 200), folders))
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
	line("%s", a.Follow(ctx, a.repository, applied.Branch(each.ref), each.new, func(text string) {
		if said++; said <= mostSaid {
			line("%s", text)
		}
	}))
}

package ledgercmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/ledger/query"
	"github.com/strata-platform/strata/internal/ledger/receipt"
	"github.com/strata-platform/strata/internal/terminal"
)

func printHistory(w io.Writer, h *History) error {
	p := &paper{w: w}
	if h.Earlier > 0 {
		p.print("%d earlier entries: show them with --last 0", h.Earlier)
	}
	for _, e := range h.Entries {
		switch {
		case e.Push != nil:
			for _, u := range e.Push.Updates {
				p.print("%s push  %s: %s to %s%s", at(e.Time), line(e.Push.Account), line(e.Push.Repository), line(strings.TrimPrefix(u.Ref, "refs/heads/")), commitText(u))
			}
		case e.Run != nil:
			p.print("%s run   %s%s", at(e.Run.Began), runText(e.Run), changesText(e.Run))
		case e.Call != nil:
			p.print("%s call  %s: %s", at(e.Call.Time), line(e.Call.Principal), callText(e.Call))
		case e.Write != nil:
			p.print("%s write %s%s: %s %s %s", at(e.Write.Time), line(e.Write.User), by(e.Write.By), line(e.Write.Verb), line(e.Write.Resource), line(e.Write.Name))
		case e.Gap != nil:
			p.print("%s gap   too many calls and writes since %s: %d have no entries", at(e.Time), at(e.Gap.From), e.Gap.Count)
		}
	}
	return p.err
}

func commitText(u receipt.Update) string {
	if u.Commit == nil {
		return ", deleted"
	}
	return fmt.Sprintf(", commit %s \"%s\" by %s", line(short(u.Commit.ID)), terminal.Line(u.Commit.Subject, longestName), line(u.Commit.Author))
}

// changesText lists the first changes of a run.
func changesText(r *query.Run) string {
	const most = 5
	var parts []string
	for _, c := range r.Changes[:min(most, len(r.Changes))] {
		parts = append(parts, terminal.Line(c.Op+" "+c.Name, longestName))
	}
	if more := len(r.Changes) + r.More - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	for _, op := range slices.Sorted(maps.Keys(r.Counts)) {
		parts = append(parts, terminal.Line(fmt.Sprintf("%d %s", r.Counts[op], op), longestName))
	}
	if r.Approval != nil {
		parts = append(parts, "approved by "+line(r.Approval.By))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

func printVerification(w io.Writer, v Verification) error {
	p := &paper{w: w}
	for _, problem := range v.Problems {
		p.print("! %s", terminal.Line(problem.String(), 2*longestText))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Heads.Chains)) {
		head := v.Heads.Chains[name]
		p.print("%-12s entries %d to %d, head %s", line(name), head.First, head.Seq, head.Hash)
	}
	p.print("%d entries, signed %s by key %.16s", v.Entries, at(v.Heads.Time), v.Key)
	if len(v.Problems) == 0 {
		p.print("every entry is the one that the platform wrote")
	}
	return p.err
}

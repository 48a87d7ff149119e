package ledgercmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/ledger/query"
	"github.com/strata-platform/strata/internal/terminal"
)

// Limits of texts, in characters. Teams choose most of them.
const longestName, longestText, longestDigest = 120, 200, 20

// line escapes and bounds a text.
func line(text string) string { return terminal.Line(text, longestText) }

func at(t time.Time) string { return t.Local().Format(time.DateTime) }

// paper prints lines until the first error.
type paper struct {
	w   io.Writer
	err error
}

func (p *paper) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// field prints a labelled line.
func (p *paper) field(name, format string, args ...any) {
	p.print("  %-9s %s", name, fmt.Sprintf(format, args...))
}

func printAnswer(w io.Writer, a query.Answer) error {
	p := &paper{w: w}
	name := line(a.String())
	if a.Resource != "" && a.String() != a.Resource {
		name += " (" + line(a.Resource) + ")"
	}
	if !a.Exists {
		name += ", which no longer exists"
	}
	p.print("%s", name)
	p.step("made", a.Made)
	if a.More > 0 {
		p.print("%d earlier changes", a.More)
	}
	for _, each := range a.Changes {
		p.print("changed later")
		p.step("changed", each)
	}
	return p.err
}

// step prints a change and its origins.
func (p *paper) step(verb string, s query.Step) {
	switch {
	case s.Call != nil:
		c := s.Call
		p.field(verb, "%s by %s (entry %d of chain %s)", at(c.Time), line(c.Method), c.Seq, line(c.Chain))
		p.field("identity", "%s", line(c.Principal))
		if c.Role != "" {
			p.field("policy", "%s grants %s in the policy of %s", line(c.Role), line(c.Permission), line(c.Policy))
		}
	default:
		w := s.Write
		p.field(verb, "%s by %s (entry %d of chain %s)", at(w.Time), line(w.Verb+" "+w.Resource), w.Seq, line(w.Chain))
		p.field("identity", "%s%s", line(w.User), by(w.By))
		if w.Grant != "" {
			p.field("policy", "%s", line(w.Grant))
		}
	}
	switch {
	case s.Link == query.ByCommit:
		p.field("run", "none: Flux applied the object from the repository")
	case len(s.Origins) == 0:
		p.field("run", "none is recorded: somebody used the identity outside of a run")
	case len(s.Origins) > 1:
		p.field("run", "one of %d that were active: the request has no reason", len(s.Origins))
	}
	for _, o := range s.Origins {
		p.origin(o, s.Link)
	}
}

func by(user string) string {
	if user == "" {
		return ""
	}
	return ", impersonated by " + line(user)
}

// links describe what links a change to its run.
var links = map[string]string{
	query.ByToken:  "the token, which only this run had",
	query.ByReason: "identity, time and the reason in the request",
	query.ByTime:   "identity and time",
}

func (p *paper) origin(o query.Origin, link string) {
	p.field("run", "%s", runText(o.Run))
	p.field("linked by", "%s", links[link])
	if o.Resource != "" {
		p.field("resource", "%s, as the run reports", line(o.Resource))
	}
	switch given := o.Run.Approval; {
	case given == nil:
		p.field("approval", "none was needed")
	case given.Plan == "":
		p.field("approval", "by %s", line(given.By))
	default:
		p.field("approval", "Plan %s (%s) by %s", line(given.Plan), terminal.Line(given.Digest, longestDigest), line(given.By))
	}
	switch {
	case o.Commit != nil:
		p.field("commit", "%s \"%s\"", line(short(o.Commit.ID)), terminal.Line(o.Commit.Subject, longestName))
		p.field("author", "%s, as the commit says", line(o.Commit.Author))
	case o.Run.Commit != "":
		p.field("commit", "%s", line(short(o.Run.Commit)))
		if o.Run.Author != "" {
			p.field("author", "%s, as the commit says", line(o.Run.Author))
		}
	default:
		p.field("commit", "unknown")
	}
	if o.Run.Modified {
		p.field("", "with changes that are in no commit")
	}
	if o.PushedBy != "" {
		p.field("pushed by", "%s to %s of %s, %s", line(o.PushedBy), line(strings.TrimPrefix(o.Ref, "refs/heads/")), line(o.Repository), at(o.PushedAt))
	}
	for i, c := range o.Calls {
		label := ""
		if i == 0 {
			label = "calls"
		}
		p.field(label, "%s", callText(c))
	}
	if o.MoreCalls > 0 {
		p.field("", "and %d more", o.MoreCalls)
	}
}

// short shortens the ID of a commit, and leaves other revisions as they are.
func short(commit string) string {
	if len(commit) == 40 {
		return commit[:12]
	}
	return commit
}

// runText describes a run.
func runText(r *query.Run) string {
	text := line(r.Operation) + " of "
	if r.Layer != "" {
		text += "layer " + line(r.Layer)
	} else {
		text += "Stack " + line(r.Namespace+"/"+r.Stack)
		if r.Program != "" {
			text += ", Program " + line(r.Program)
		}
		text += ", as account " + line(r.Account)
	}
	switch {
	case r.Result == "":
		text += ", which has not ended"
	case r.Message != "":
		text += ", " + line(r.Result) + ": " + line(r.Message)
	default:
		text += ", " + line(r.Result)
	}
	if r.Cause != "" {
		text += " (" + line(r.Cause) + ")"
	}
	return text
}

func callText(c *query.Call) string {
	text := line(c.Method) + " " + line(c.Resource)
	if c.Code != 0 {
		text += fmt.Sprintf(", failed with code %d: %s", c.Code, terminal.Line(c.Message, longestName))
	}
	return text
}

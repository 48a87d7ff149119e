package query

import (
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/ledger/receipt"
)

// Bounds of an answer.
const (
	mostSteps = 20
	mostCalls = 50
)

// Answer says why a resource exists.
type Answer struct {
	Subject
	// Exists says that the last recorded change did not delete the resource.
	Exists bool `json:"exists"`
	// Made is the first change since the last deletion, and Changes are the later ones, the oldest first, at most 20; More counts those
	// before them.
	Made    Step   `json:"made"`
	Changes []Step `json:"changes"`
	More    int    `json:"more,omitempty"`
}

// Step is a change of a resource, and where it comes from.
type Step struct {
	Call  *Call  `json:"call,omitempty"`
	Write *Write `json:"write,omitempty"`
	// Link says what links the change to its origins. Several origins mean that the ledger cannot tell which of them it was.
	Link    string   `json:"link"`
	Origins []Origin `json:"origins"`
}

// Origin is a run, and the commit that it came from.
type Origin struct {
	Run *Run `json:"run,omitempty"`
	// Resource is the name of the changed resource in the program, as the run reports it.
	Resource string `json:"resource,omitempty"`
	// Commit is what the commit says about itself; nil if no push of it is recorded. PushedBy is the login that pushed it to Ref.
	Commit     *receipt.Commit `json:"commit,omitempty"`
	PushedBy   string          `json:"pushedBy,omitempty"`
	Repository string          `json:"repository,omitempty"`
	Ref        string          `json:"ref,omitempty"`
	PushedAt   time.Time       `json:"pushedAt,omitzero"`
	// Calls are the calls of the run, at most 50; MoreCalls counts the others.
	Calls     []*Call `json:"calls,omitempty"`
	MoreCalls int     `json:"moreCalls,omitempty"`
}

// change is a change of the subject.
type change struct {
	call    *Call
	write   *Write
	deletes bool
}

func (c change) time() time.Time {
	if c.call != nil {
		return c.call.Time
	}
	return c.write.Time
}

// Why says why a subject exists. Find has found the subject.
func (b *Book) Why(of Subject) Answer {
	changes := b.changesOf(of)
	answer := Answer{Subject: of, Changes: []Step{}}
	last := len(changes) - 1
	answer.Exists = !changes[last].deletes
	// The life that the last change belongs to.
	first := last
	for first > 0 && !changes[first-1].deletes {
		first--
	}
	answer.Made = b.step(of, changes[first], true)
	later := changes[first+1:]
	answer.More = max(0, len(later)-mostSteps)
	for _, each := range later[answer.More:] {
		answer.Changes = append(answer.Changes, b.step(of, each, false))
	}
	return answer
}

// changesOf returns the successful changes of a subject, the oldest first.
func (b *Book) changesOf(of Subject) (found []change) {
	for _, c := range b.Calls {
		if of.Resource != "" && c.Resource == of.Resource && c.Code == 0 {
			deletes := strings.HasSuffix(c.Method, ".delete") || strings.Contains(c.Method[strings.LastIndexByte(c.Method, '.')+1:], "Delete")
			found = append(found, change{call: c, deletes: deletes})
		}
	}
	for _, w := range b.Writes {
		if of.Secret != "" && w.Resource == "secrets" && w.Namespace+"/"+w.Name == of.Secret {
			found = append(found, change{write: w, deletes: w.Verb == "delete"})
		}
	}
	slices.SortStableFunc(found, func(a, b change) int { return a.time().Compare(b.time()) })
	return found
}

// step finds the origins of a change. Only the first step of an answer lists the calls of its runs.
func (b *Book) step(of Subject, c change, calls bool) Step {
	s := Step{Call: c.call, Write: c.write, Origins: []Origin{}}
	var runs []*Run
	if c.call != nil {
		runs, s.Link = b.linkCall(c.call)
	} else {
		runs, s.Link = b.linkWrite(c.write)
	}
	for _, r := range runs {
		o := Origin{Run: r, Resource: resourceIn(r, of)}
		if p, i := b.pushOf(r.Chain, r.Commit); p != nil {
			o.Commit, o.PushedBy, o.Repository, o.Ref, o.PushedAt = p.Updates[i].Commit, p.Account, p.Repository, p.Updates[i].Ref, p.Time
		}
		if calls {
			all := b.callsOf(r)
			o.MoreCalls = max(0, len(all)-mostCalls)
			o.Calls = all[:len(all)-o.MoreCalls]
		}
		s.Origins = append(s.Origins, o)
	}
	return s
}

// resourceIn returns the name that a run gives the subject in its program; empty if the run does not report it.
func resourceIn(r *Run, of Subject) string {
	for _, c := range r.Changes {
		id := c.ID
		switch {
		case of.Secret != "" && id == of.Secret, of.Resource != "" && id == of.Resource:
			return c.Name
		case of.Resource != "" && strings.HasPrefix(c.Type, "gcp:sql/user:"):
			// The provider's ID of a user is NAME/HOST/INSTANCE.
			parts := strings.Split(id, "/")
			if len(parts) == 3 && strings.HasSuffix(of.Resource, "/instances/"+parts[2]+"/users/"+parts[0]) {
				return c.Name
			}
		case of.Resource != "" && strings.HasSuffix(of.Resource, "/buckets/"+id) && id != "":
			return c.Name
		}
	}
	return ""
}

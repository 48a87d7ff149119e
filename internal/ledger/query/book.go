// Package query answers questions from the ledger of a platform: why a resource exists, and what has happened to a team.
package query

import (
	"fmt"
	"slices"
	"time"

	"github.com/strata-platform/strata/internal/ledger"
	"github.com/strata-platform/strata/internal/ledger/receipt"
	"github.com/strata-platform/strata/internal/ledger/record"
	"github.com/strata-platform/strata/operator/runrecord"
)

// Place is the place of an entry in the ledger.
type Place struct {
	Chain string `json:"chain"`
	Seq   uint64 `json:"entry"`
}

// Push is an accepted push.
type Push struct {
	Place
	Time time.Time `json:"time"`
	receipt.Push
}

// Run is a run. Its place is that of its begin, or of its end if the begin is missing; Last is the number of its last entry.
type Run struct {
	Place
	Last uint64 `json:"-"`
	runrecord.Run
}

// Call is a call to Google Cloud.
type Call struct {
	Place
	record.Call
}

// Write is a write of an object of Kubernetes.
type Write struct {
	Place
	record.Write
}

// Gap is a time in which a chain does not contain every call and write.
type Gap struct {
	Place
	record.Gap
}

// Entry is an entry for the history of a team. One of the pointers is set.
type Entry struct {
	Place
	Time  time.Time `json:"time"`
	Kind  string    `json:"kind"`
	Push  *Push     `json:"push,omitempty"`
	Run   *Run      `json:"run,omitempty"`
	Call  *Call     `json:"call,omitempty"`
	Write *Write    `json:"write,omitempty"`
	Gap   *Gap      `json:"gap,omitempty"`
}

// Book is the content of a ledger, each list in the order of its entries.
type Book struct {
	Pushes  []*Push
	Runs    []*Run
	Calls   []*Call
	Writes  []*Write
	Gaps    []*Gap
	Entries []Entry
	// Began is the time of the oldest entry.
	Began time.Time

	runs map[runKey]*Run
}

// runKey identifies a run.
type runKey struct{ chain, namespace, id string }

// Load reads chains of the ledger in a folder. It does not verify them.
func Load(dir string, chains ...string) (*Book, error) {
	b := &Book{runs: map[runKey]*Run{}}
	for _, chain := range chains {
		if err := ledger.Each(dir, chain, b.add); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// add adds an entry. The begin and the end of a run are one run, at the place of the begin.
func (b *Book) add(e ledger.Entry) error {
	place := Place{e.Chain, e.Seq}
	shown := Entry{Place: place, Time: e.Time, Kind: e.Kind}
	if b.Began.IsZero() || e.Time.Before(b.Began) {
		b.Began = e.Time
	}
	var err error
	switch e.Kind {
	case record.Push:
		shown.Push = &Push{Place: place, Time: e.Time}
		err = e.Decode(&shown.Push.Push)
		b.Pushes = append(b.Pushes, shown.Push)
	case record.Run:
		run := &Run{Place: place, Last: e.Seq}
		err = e.Decode(&run.Run)
		key := runKey{e.Chain, run.Namespace, run.ID}
		if begun := b.runs[key]; begun != nil && err == nil {
			begun.Run, begun.Last = run.Run, e.Seq
			return nil
		}
		b.runs[key] = run
		b.Runs = append(b.Runs, run)
		shown.Run = run
	case record.CloudCall:
		shown.Call = &Call{Place: place}
		err = e.Decode(&shown.Call.Call)
		b.Calls = append(b.Calls, shown.Call)
	case record.ObjectWrite:
		shown.Write = &Write{Place: place}
		err = e.Decode(&shown.Write.Write)
		// After a crash, an event may have two entries.
		if slices.ContainsFunc(b.Writes[max(0, len(b.Writes)-recent):], func(w *Write) bool { return w.AuditID == shown.Write.AuditID }) {
			return nil
		}
		b.Writes = append(b.Writes, shown.Write)
	case record.Omitted:
		shown.Gap = &Gap{Place: place}
		err = e.Decode(&shown.Gap.Gap)
		b.Gaps = append(b.Gaps, shown.Gap)
	default:
		return nil // An entry of a later version.
	}
	if err != nil {
		return fmt.Errorf("the ledger was written by another version of strata: %w", err)
	}
	b.Entries = append(b.Entries, shown)
	return nil
}

// recent is the number of writes among which an event with two entries is looked for.
const recent = 100

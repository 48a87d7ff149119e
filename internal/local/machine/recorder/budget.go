package recorder

import (
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/ledger/record"
)

const (
	// mostEntries bounds the entries of calls and writes in a chain in one period. A first `strata up` makes about 100 in the chain of
	// layer 1, and a Stack a handful. At this rate a chain is full after some days, so that nobody can remove old entries unseen.
	mostEntries = 2000
	period      = time.Hour
)

// budget bounds the entries whose number a team decides.
type budget struct {
	append func(chain, kind string, content any)

	mu   sync.Mutex
	open map[string]*window
}

// window counts the entries of a chain in a period.
type window struct {
	from             time.Time
	entries, omitted int
}

// take reports whether a chain may have another entry, and counts it. The first entry too many, and the end of its period, have entries of
// their own.
func (b *budget) take(chain string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.open[chain]
	// A clock that goes back does not stop the next period.
	if w == nil || now.Sub(w.from).Abs() >= period {
		b.end(chain, now)
		w = &window{from: now}
		b.open[chain] = w
	}
	if w.entries < mostEntries {
		w.entries++
		return true
	}
	if w.omitted++; w.omitted == 1 {
		b.append(chain, record.Omitted, record.Gap{From: now})
	}
	return false
}

// end ends the period of a chain. The caller holds the lock.
func (b *budget) end(chain string, now time.Time) {
	if w := b.open[chain]; w != nil && w.omitted > 0 {
		b.append(chain, record.Omitted, record.Gap{From: w.from, Until: now, Count: w.omitted})
	}
	delete(b.open, chain)
}

// close ends all periods.
func (b *budget) close(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for chain := range b.open {
		b.end(chain, now)
	}
}

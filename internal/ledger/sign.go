package ledger

import (
	"errors"
	"os"
)

// sign signs the heads whenever entries have been written, until the ledger is closed. Entries that arrive meanwhile share the next signature.
func (l *Ledger) sign() {
	defer close(l.done)
	for range l.dirty {
		err := l.signOnce()
		if err != nil {
			l.log.Error("the heads of the ledger cannot be signed", "error", err)
		}
		l.mu.Lock()
		l.fault = err
		l.signed.Broadcast()
		l.mu.Unlock()
	}
}

func (l *Ledger) signOnce() error {
	l.mu.Lock()
	written := l.written
	heads := Heads{Time: l.now().UTC(), Chains: map[string]Head{}}
	var unsaved []*os.File
	var dropped []string
	for name, c := range l.chains {
		heads.Chains[name] = c.head
		if c.unsaved && c.file != nil {
			unsaved, c.unsaved = append(unsaved, c.file), false
		}
		dropped, c.dropped = append(dropped, c.dropped...), nil
	}
	l.mu.Unlock()
	// The entries reach the disk before the heads, so that a crash of the machine leaves no head without its entry.
	for _, file := range unsaved {
		if err := file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
			return err
		}
	}
	if err := writeHeads(l.dir, l.key, heads); err != nil {
		return err
	}
	for _, path := range dropped {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.covered = written
	return nil
}

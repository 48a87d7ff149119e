// Package ledger keeps an append-only record in chains: each entry contains the hash of the entry before it, and a signed file holds
// the head of every chain. A changed, missing or inserted entry is found, and a missing tail or chain, too.
//
// One process writes a ledger. Others read and verify it at any time.
package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/signing"
)

// Bounds of a ledger.
const (
	// maxEntry is the largest entry in bytes, and maxSegment the size of a file after which a chain begins another one.
	maxEntry   = 64 << 10
	maxSegment = 4 << 20

	// mostSegments is the number of files of a chain. When a chain begins one more, its oldest entries are removed, and the signed head
	// says where the chain begins.
	mostSegments = 16

	// mostChains bounds the number of chains.
	mostChains = 1000
)

// Ledger writes a ledger. Its methods may be called concurrently.
type Ledger struct {
	dir string
	key *signing.Key
	log *slog.Logger
	now func() time.Time
	// segment is maxSegment, or less in tests.
	segment int64

	mu     sync.Mutex
	chains map[string]*chain

	// dirty wakes the signer, and idle is signalled when it has signed everything.
	dirty  chan struct{}
	signed *sync.Cond
	// written counts the entries, and covered those that the signed heads cover.
	written, covered int
	fault            error
	closed           bool
	done             chan struct{}
}

// Options configures a Ledger. Dir, Key and Log are required.
type Options struct {
	// Dir is the folder of the ledger. Open creates it.
	Dir string
	// Key signs the heads.
	Key *signing.Key
	Log *slog.Logger
	// Now returns the time of entries. Nil means [time.Now].
	Now func() time.Time
}

// validChain matches the names of chains, which are names of folders.
var validChain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,70}[a-z0-9])?$`)

// Open opens a ledger for writing. After a crash it removes the part of an entry that the crash left, and continues each chain from its
// signed head and the entries behind it.
func Open(o Options) (*Ledger, error) {
	l := &Ledger{
		dir: o.Dir, key: o.Key, log: o.Log, now: o.Now, segment: maxSegment, chains: map[string]*chain{},
		dirty: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if l.now == nil {
		l.now = time.Now
	}
	l.signed = sync.NewCond(&l.mu)
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("open the ledger in %s: %w", o.Dir, err)
	}
	go l.sign()
	return l, nil
}

// load opens the chains of the folder.
func (l *Ledger) load() error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	if err := l.writePublicKey(); err != nil {
		return err
	}
	names, err := chainNames(l.dir)
	if err != nil {
		return err
	}
	heads, err := readHeads(l.dir, l.key)
	if errors.Is(err, fs.ErrNotExist) && len(names) == 0 {
		// From now on, missing heads are suspicious.
		err = writeHeads(l.dir, l.key, Heads{Time: l.now().UTC(), Chains: map[string]Head{}})
	}
	unsigned := err != nil
	if unsigned {
		l.log.Error("the signed heads of the ledger cannot be used", "error", err)
	}
	for name := range heads.Chains {
		if validChain.MatchString(name) {
			names[name] = true
		}
	}
	for name := range names {
		c, repaired, err := openChain(filepath.Join(l.dir, name), name, heads.Chains[name])
		if err != nil {
			return err
		}
		if repaired != "" {
			l.log.Warn("a chain of the ledger was repaired", "chain", name, "repair", repaired)
		}
		if c.head != heads.Chains[name] {
			l.written++
		}
		if unsigned {
			if err := c.append(Body{Seq: c.head.Seq + 1, Time: l.now().UTC(), Kind: kindUnsigned, Data: json.RawMessage("{}")}, l.segment); err != nil {
				return err
			}
			l.written++
		}
		l.chains[name] = c
	}
	if l.written > 0 {
		l.dirty <- struct{}{}
	}
	return nil
}

// kindUnsigned is the kind of the entry after which a chain goes on without its signed head: whoever has removed the heads may have
// removed entries, too.
const kindUnsigned = "unsigned"

// writePublicKey writes the public key, for people who verify the signature with openssl.
func (l *Ledger) writePublicKey() error {
	public, err := l.key.PublicPEM()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, PublicKeyFile), []byte(public), 0o600)
}

// Append appends an entry to a chain, which begins with its first entry. When Append returns, the entry outlives this process; soon
// after, it outlives a crash of the machine, and the signed heads cover it. content must encode to JSON of at most 48 KiB.
func (l *Ledger) Append(name, kind string, content any) error {
	if err := l.append(name, kind, content); err != nil {
		return fmt.Errorf("append to the chain %s of the ledger: %w", name, err)
	}
	return nil
}

func (l *Ledger) append(name, kind string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("the ledger is closed")
	}
	c := l.chains[name]
	if c == nil {
		if !validChain.MatchString(name) {
			return errors.New("this is no name of a chain")
		}
		if len(l.chains) >= mostChains {
			return fmt.Errorf("the ledger has %d chains already", mostChains)
		}
		if c, _, err = openChain(filepath.Join(l.dir, name), name, Head{}); err != nil {
			return err
		}
		l.chains[name] = c
	}
	if err := c.append(Body{Seq: c.head.Seq + 1, Time: l.now().UTC(), Kind: kind, Data: data}, l.segment); err != nil {
		return err
	}
	l.written++
	select {
	case l.dirty <- struct{}{}:
	default: // The signer is awake.
	}
	return nil
}

// Sync returns when the signed heads cover every entry.
func (l *Ledger) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for want := l.written; l.covered < want && l.fault == nil && !l.closed; {
		l.signed.Wait()
	}
	return l.fault
}

// Close signs the heads and closes the ledger.
func (l *Ledger) Close() error {
	err := l.Sync()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return err
	}
	l.closed = true
	l.signed.Broadcast()
	l.mu.Unlock()
	close(l.dirty)
	<-l.done
	for _, c := range l.chains {
		err = errors.Join(err, c.close())
	}
	return err
}

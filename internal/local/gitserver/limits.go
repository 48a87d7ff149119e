package gitserver

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/lint"
	"github.com/strata-platform/strata/internal/lint/trial"
)

// Limits bound what one account may take of the server. Sizes are in bytes.
type Limits struct {
	// Pack is the largest pack of a push.
	Pack int64
	// File is the largest file of a commit, Tree the size of all of its files and Files their number. A pack of some kilobytes
	// can unpack to any size.
	File, Tree int64
	Files      int
	// Objects is how many objects a push may bring.
	Objects int
	// Repository is the size on disk above which a repository takes no push but one that deletes branches.
	Repository int64
	// Refs is how many branches and tags a repository may have, and how many a push may change.
	Refs int
	// Time is how long a request may take, Check how long what it brings is looked at.
	Time, Check time.Duration
	// Wait is how long a request waits for others of its account; then it is told to try again.
	Wait time.Duration
	// Memory is that of each git process.
	Memory int64
	// Build bounds the files of builds of what is pushed, and Trial what the builds become.
	Build lint.Limits
	Trial trial.Limits
}

// DefaultLimits suit repositories of manifests, with some programs and pictures beside them.
func DefaultLimits() Limits {
	return Limits{
		Pack: 64 << 20, File: 32 << 20, Tree: 256 << 20, Files: 20_000, Objects: 200_000, Repository: 1 << 30, Refs: 1000,
		Time: 2 * time.Minute, Check: 30 * time.Second, Wait: 15 * time.Second, Memory: 1 << 30,
		Build: lint.DefaultLimits(), Trial: trial.DefaultLimits(),
	}
}

const (
	// pushesAtOnce and fetchesAtOnce are those of one account with one repository.
	pushesAtOnce, fetchesAtOnce = 1, 4
	// checksAtOnce are those of all accounts, for each takes memory of the server's own process. Each ends after Limits.Check.
	checksAtOnce = 4
)

// config is git's own configuration, which bounds the memory of its processes and what receive-pack takes.
func (l Limits) config() map[string]string {
	return map[string]string{
		// A shallow clone, as CI makes them, can be pushed too.
		"receive.shallowUpdate": "true",
		"receive.maxInputSize":  strconv.FormatInt(l.Pack, 10),
		// Objects that are broken on purpose, such as a file named "..", are refused.
		"receive.fsckObjects":      "true",
		"core.bigFileThreshold":    "4m",
		"core.deltaBaseCacheLimit": "16m",
		"core.packedGitLimit":      "128m",
		"core.packedGitWindowSize": "8m",
		"pack.threads":             "1",
		"pack.windowMemory":        "32m",
		"pack.deltaCacheSize":      "16m",
	}
}

// slots hand out places by key.
type slots struct {
	lock sync.Mutex
	made map[string]chan struct{}
}

// take waits for one of the places of key until ctx ends. It returns how to give it back, and nil where there was none.
func (s *slots) take(ctx context.Context, key string, places int) (give func()) {
	s.lock.Lock()
	if s.made == nil {
		s.made = map[string]chan struct{}{}
	}
	taken, ok := s.made[key]
	if !ok {
		taken = make(chan struct{}, places)
		s.made[key] = taken
	}
	s.lock.Unlock()
	select {
	case taken <- struct{}{}:
		return func() { <-taken }
	case <-ctx.Done():
		return nil
	}
}

package gitserver

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/lint/trial"
)

// Limits bound what one account may use of the server. Sizes are in bytes.
type Limits struct {
	// Pack is the maximum size of a push's pack.
	Pack int64
	// File is the maximum size of a file in a commit. Tree is the maximum size of all of its files, and Files their
	// maximum number. A pack of a few kilobytes can unpack to any size.
	File, Tree int64
	Files      int
	// Objects is the maximum number of objects in a push.
	Objects int
	// Repository is the size on disk above which a repository accepts only pushes that delete branches.
	Repository int64
	// Refs is the maximum number of branches and tags in a repository, and of those that a push changes.
	Refs int
	// Time is how long a request may take. Check is how long the check of a push may take.
	Time, Check time.Duration
	// Wait is how long a request waits for other requests of its account. After that, the server tells the client to
	// try again.
	Wait time.Duration
	// Follow is how long a push may wait for its result.
	Follow time.Duration
	// Plans is how many plans a repository's pushes may create in a minute. A plan may take a megabyte in etcd, which keeps deleted
	// objects for minutes.
	Plans int
	// Memory bounds each git process.
	Memory int64
	// Trial bounds the check and the builds of each commit.
	Trial trial.Limits
}

// DefaultLimits returns limits that suit repositories of manifests with a few programs and pictures.
func DefaultLimits() Limits {
	return Limits{
		Pack: 64 << 20, File: 32 << 20, Tree: 256 << 20, Files: 20_000, Objects: 200_000, Repository: 1 << 30, Refs: 1000,
		Time: 2 * time.Minute, Check: 30 * time.Second, Wait: 15 * time.Second, Follow: 5 * time.Minute, Plans: 20, Memory: 1 << 30,
		Trial: trial.DefaultLimits(),
	}
}

const (
	// pushesAtOnce and fetchesAtOnce bound the concurrent requests of one account to one repository.
	pushesAtOnce, fetchesAtOnce = 1, 4
	// checksAtOnce bounds the concurrent checks of all teams, and those of the engineer, because each starts processes.
	// Each check ends after Limits.Check.
	checksAtOnce = 4
	// followsAtOnce bounds the pushes to one repository that wait for their results.
	followsAtOnce = 2
)

// config returns git's configuration, which bounds the memory of its processes and the input of receive-pack.
func (l Limits) config() map[string]string {
	return map[string]string{
		// CI systems push from shallow clones.
		"receive.shallowUpdate":        "true",
		"receive.advertisePushOptions": "true",
		"receive.maxInputSize":         strconv.FormatInt(l.Pack, 10),
		// receive-pack rejects malicious objects, such as a file named "..".
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

// slots limits concurrency by key.
type slots struct {
	lock     sync.Mutex
	channels map[string]chan struct{} // by key; a slot in use is an element
}

// take waits for one of the slots of key. It returns the function that frees the slot, or nil if ctx is done first.
func (s *slots) take(ctx context.Context, key string, places int) (release func()) {
	s.lock.Lock()
	taken := s.of(key, places)
	s.lock.Unlock()
	select {
	case taken <- struct{}{}:
		return func() { <-taken }
	case <-ctx.Done():
		return nil
	}
}

// try takes one of the slots of key, or returns nil if none is free.
func (s *slots) try(key string, places int) (release func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	taken := s.of(key, places)
	select {
	case taken <- struct{}{}:
		return func() { <-taken }
	default:
		return nil
	}
}

// of returns the channel of key. The caller holds the lock.
func (s *slots) of(key string, places int) chan struct{} {
	if s.channels == nil {
		s.channels = map[string]chan struct{}{}
	}
	taken, ok := s.channels[key]
	if !ok {
		taken = make(chan struct{}, places)
		s.channels[key] = taken
	}
	return taken
}

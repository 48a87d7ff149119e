package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Lease protects an image from Collect while it runs.
type Lease struct{ file *os.File }

// Lease protects all content below the manifest target, and the EROFS file of the configuration. The lease ends with Close,
// and when all processes with the file end, even by a kill.
func (s *Store) Lease(ctx context.Context, target v1.Descriptor, config v1.Hash) (*Lease, error) {
	content, err := json.Marshal(lease{target, config})
	if err != nil {
		return nil, err
	}
	var file *os.File
	err = s.locked(ctx, false, func() error {
		if _, err := os.Stat(s.Image(config)); err != nil {
			return fmt.Errorf("lease image %s: %w", config, err)
		}
		// Collect waits for this lock, and so it sees no lease without a holder.
		file, err = os.CreateTemp(filepath.Join(s.dir, leases), "lease-*")
		if err != nil {
			return err
		}
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err == nil {
			_, err = file.Write(content)
		}
		return err
	})
	if err != nil && file != nil {
		os.Remove(file.Name())
		file.Close()
	}
	if err != nil {
		return nil, Explain("lease", err)
	}
	return &Lease{file}, nil
}

// File returns the lease's open file. A child process that inherits the file holds the lease, too.
func (l *Lease) File() *os.File { return l.file }

// Close ends the lease of this process. Children that inherited the file keep it.
func (l *Lease) Close() error { return l.file.Close() }

// lease is the content of a lease's file.
type lease struct {
	Target v1.Descriptor `json:"target"`
	Config v1.Hash       `json:"config"`
}

// leased returns the manifests of the images with a lease.
func (s *Store) leased(ctx context.Context) (map[v1.Hash]bool, error) {
	result := map[v1.Hash]bool{}
	err := s.locked(ctx, true, func() error {
		held, err := s.leases()
		for _, lease := range held {
			result[lease.Target.Digest] = true
		}
		return err
	})
	return result, err
}

// leases returns the leases that a process holds, and removes the others.
func (s *Store) leases() ([]lease, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, leases))
	if err != nil {
		return nil, err
	}
	var held []lease
	for _, entry := range entries {
		path := filepath.Join(s.dir, leases, entry.Name())
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		file.Close()
		if err == nil {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var found lease
		if err := json.Unmarshal(content, &found); err != nil {
			return nil, fmt.Errorf("decode lease %s: %w", path, err)
		}
		held = append(held, found)
	}
	return held, nil
}

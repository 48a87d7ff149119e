package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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

// Collected is the result of Collect.
type Collected struct {
	// References are the names of the removed references.
	References []string
	// Files counts the removed files, and Bytes their length.
	Files int
	Bytes int64
}

// Collect removes references that keep rejects, and then all files that no reference and no lease needs. A nil keep keeps all
// references. Files younger than grace stay: they belong to pulls and pushes whose reference does not exist yet.
func (s *Store) Collect(ctx context.Context, keep func(reference string) bool, grace time.Duration) (Collected, error) {
	var result Collected
	if keep != nil {
		references, err := s.References()
		if err != nil {
			return result, err
		}
		for _, reference := range references {
			if !keep(reference.Name) {
				result.References = append(result.References, reference.Name)
			}
		}
		if err := s.Forget(ctx, result.References...); err != nil {
			return result, err
		}
	}
	err := s.locked(ctx, true, func() error {
		needed, err := s.needed()
		if err != nil {
			return err
		}
		for _, folder := range []string{blobs, images, partial, "."} {
			if err := s.sweep(&result, folder, needed, grace); err != nil {
				return err
			}
		}
		return nil
	})
	return result, err
}

// needed returns the digests that references and leases need, in hexadecimal digits.
func (s *Store) needed() (map[string]bool, error) {
	references, err := s.References()
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	visit := func(d v1.Descriptor) { needed[d.Digest.Hex] = true }
	for _, reference := range references {
		if err := s.Reachable(reference.Target, visit); err != nil {
			return nil, fmt.Errorf("collect images: reference %s: %w", reference.Name, err)
		}
	}
	held, err := s.leases()
	if err != nil {
		return nil, err
	}
	for _, lease := range held {
		needed[lease.Config.Hex] = true
		if err := s.Reachable(lease.Target, visit); err != nil {
			return nil, fmt.Errorf("collect images: lease of %s: %w", lease.Config, err)
		}
	}
	return needed, nil
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

// sweep removes the files of a folder that are not needed and older than grace. It leaves unfinished files that a process has.
func (s *Store) sweep(result *Collected, folder string, needed map[string]bool, grace time.Duration) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, folder))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		stem := strings.TrimSuffix(strings.TrimSuffix(entry.Name(), imageSuffix), aboutSuffix)
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case !info.Mode().IsRegular(), time.Since(info.ModTime()) < grace:
			continue
		case folder == "." && !strings.HasPrefix(entry.Name(), ".new-"):
			continue
		case folder != partial && needed[stem]:
			continue
		}
		path := filepath.Join(s.dir, folder, entry.Name())
		if folder == partial && inUse(path) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		result.Files++
		result.Bytes += info.Size()
	}
	return nil
}

// inUse reports whether a process has locked the file.
func inUse(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

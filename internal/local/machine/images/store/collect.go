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

// Collected is the result of Collect.
type Collected struct {
	// References are the names of the removed references.
	References []string
	// Files counts the removed files, and Bytes their length.
	Files int
	Bytes int64
}

// Collect removes references that keep rejects, and then all files that no reference and no lease needs. A nil keep keeps all
// references. Collect always keeps references whose image has a lease. Nothing needs the layers of an image that is unpacked and
// not pinned: a sandbox reads the EROFS file, and a pull downloads no layers of an unpacked image. Files younger than grace stay:
// they belong to pulls and pushes whose reference does not exist yet.
func (s *Store) Collect(ctx context.Context, keep func(Reference) bool, grace time.Duration) (Collected, error) {
	var result Collected
	if keep != nil {
		references, err := s.References()
		if err != nil {
			return result, err
		}
		leased, err := s.leased(ctx)
		if err != nil {
			return result, err
		}
		for _, reference := range references {
			if !leased[reference.Target.Digest] && !keep(reference) {
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
		if err := s.need(reference.Target, reference.Pinned, visit); err != nil {
			return nil, fmt.Errorf("collect images: reference %s: %w", reference.Name, err)
		}
	}
	held, err := s.leases()
	if err != nil {
		return nil, err
	}
	for _, lease := range held {
		needed[lease.Config.Hex] = true
		if err := s.need(lease.Target, false, visit); err != nil {
			return nil, fmt.Errorf("collect images: lease of %s: %w", lease.Config, err)
		}
	}
	return needed, nil
}

// need calls visit for the blobs that an image needs: without its layers if it is unpacked, unless layers is true.
func (s *Store) need(target v1.Descriptor, layers bool, visit func(v1.Descriptor)) error {
	if layers || !target.MediaType.IsImage() {
		return s.Reachable(target, visit)
	}
	content, err := s.Read(target.Digest)
	if err != nil {
		return s.Reachable(target, visit)
	}
	var manifest v1.Manifest
	if err := json.Unmarshal(content, &manifest); err != nil {
		return s.Reachable(target, visit)
	}
	if _, err := os.Stat(s.Image(manifest.Config.Digest)); err != nil {
		return s.Reachable(target, visit)
	}
	visit(target)
	visit(manifest.Config)
	return nil
}

// sweep removes the files of a folder that are not needed and older than grace. It keeps unfinished files that a process has
// locked, because a download may take longer than grace.
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

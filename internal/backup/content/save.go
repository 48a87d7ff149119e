package content

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/progress"
)

// Saved describes a backup that was written.
type Saved struct {
	File         string   `json:"file"`
	Size         int64    `json:"size"` // in bytes
	Repositories []string `json:"repositories"`
	States       int      `json:"states"`
	Secrets      int      `json:"secrets"`
	// Left says which parts the backup leaves out, and why.
	Left []string `json:"left,omitempty"`
}

// Platform is a platform that Save backs up.
type Platform struct {
	// What names the platform in errors, and Home and Cloud are the fields of the manifest.
	What, Home, Cloud string
	// Collect returns the content. temporary is an empty folder for files that the content refers to.
	Collect func(ctx context.Context, show *progress.Reporter, temporary string) (*Collection, error)
}

// Save writes a backup of a platform to a new file, encrypted for recipients. It shows its steps, and what the backup leaves out.
func Save(ctx context.Context, show *progress.Reporter, file string, p Platform, recipients ...age.Recipient) (Saved, error) {
	var found *Collection
	temporary, err := os.MkdirTemp(filepath.Dir(file), ".strata-backup-*")
	if err != nil {
		return Saved{}, fmt.Errorf("back up %s: %w", p.What, err)
	}
	defer os.RemoveAll(temporary)
	err = show.Run("read states, repositories and keys", func() (string, error) {
		if found, err = p.Collect(ctx, show, temporary); err != nil {
			return "", fmt.Errorf("back up %s: %w", p.What, err)
		}
		return fmt.Sprintf("states: %d, repositories: %d, Secrets of people: %d", found.States, len(found.Repositories), found.Secrets), nil
	})
	if err != nil {
		return Saved{}, err
	}
	for _, left := range found.Left {
		show.Note("left out: %s", left)
	}
	saved := Saved{File: file, Repositories: found.Repositories, States: found.States, Secrets: found.Secrets, Left: found.Left}
	err = show.Run("write "+file, func() (string, error) {
		_, err := backup.Write(ctx, file, backup.Manifest{
			Strata: buildinfo.Version, Created: time.Now().UTC().Truncate(time.Second), Target: found.Target, Environment: found.Environment,
			Home: p.Home, Cloud: p.Cloud,
		}, found.Files, recipients...)
		if err != nil {
			return "", err
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		saved.Size = info.Size()
		return fmt.Sprintf("%.1f MB", float64(saved.Size)/1e6), nil
	})
	return saved, err
}

// Source is a target whose platforms can be backed up.
type Source interface {
	// Backup writes a backup to a new file, encrypted for keys.
	Backup(ctx context.Context, show *progress.Reporter, file string, keys backup.Keys) (Saved, error)
}

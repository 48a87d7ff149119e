package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/backups"
	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/home"
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

// Backup writes a backup of the home to a new file. The platform may run; runs of the layers may not.
func (p *Platform) Backup(ctx context.Context, show *progress.Reporter, file string, keys backup.Keys) (Saved, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return Saved{}, err
	}
	if !p.Home.Exists() {
		return Saved{}, fmt.Errorf("back up the home %s: there is no platform: name its home in STRATA_HOME", p.Home.Dir())
	}
	if _, begun := p.Home.DownBegun(); begun {
		return Saved{}, fmt.Errorf("back up the home %s: a down or a restore has not finished, so the states may be wrong: run `%s` first", p.Home.Dir(), p.Home.Call("up"))
	}
	if within, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil && strings.HasPrefix(within+"/", p.Home.Dir()+"/") {
		return Saved{}, fmt.Errorf("back up the home %s: %s is in the home, with which it would be lost: name a file elsewhere", p.Home.Dir(), file)
	}
	recipients, err := keys.ForWriting()
	if err != nil {
		return Saved{}, err
	}
	release, err := p.Lock()
	if err != nil {
		return Saved{}, err
	}
	defer release()
	free, err := p.acquire()
	if err != nil {
		return Saved{}, err
	}
	defer free()
	var found *backups.Collection
	temporary, err := os.MkdirTemp(filepath.Dir(file), ".strata-backup-*")
	if err != nil {
		return Saved{}, fmt.Errorf("back up the home %s: %w", p.Home.Dir(), err)
	}
	defer os.RemoveAll(temporary)
	err = show.Run("read states, repositories and keys", func() (string, error) {
		if found, err = backups.Collect(ctx, p.Home, temporary); err != nil {
			return "", fmt.Errorf("back up the home %s: %w", p.Home.Dir(), err)
		}
		if err := p.addSecrets(ctx, found); err != nil {
			return "", fmt.Errorf("back up the home %s: %w", p.Home.Dir(), err)
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
		identity, err := cloud.Identify(p.Home.Google())
		if err != nil {
			return "", fmt.Errorf("back up the home %s: %w", p.Home.Dir(), err)
		}
		_, err = backup.Write(ctx, file, backup.Manifest{
			Strata: buildinfo.Version, Created: time.Now().UTC().Truncate(time.Second), Target: backups.Target,
			Environment: p.Home.Environment(), Home: p.Home.Dir(), Cloud: identity,
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

// addSecrets adds the Secrets that people have created in the teams' namespaces.
func (p *Platform) addSecrets(ctx context.Context, to *backups.Collection) error {
	client, namespaces, err := p.teamsCluster(ctx)
	if errors.Is(err, lifecycle.ErrStopped) {
		to.Left = append(to.Left, "the Secrets that people have created in the teams' namespaces: "+err.Error())
		return nil
	}
	if err != nil || client == nil {
		return err
	}
	raw, count, err := backups.Secrets(ctx, client, namespaces)
	to.AddSecrets(raw, count)
	return err
}

// createRestored creates the Secrets of the backup that this home comes from, once.
func (p *Platform) createRestored(ctx context.Context) error {
	path := p.Home.SecretFile(backups.SecretsFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	client, namespaces, err := p.teamsCluster(ctx)
	if err != nil || client == nil {
		return err
	}
	if err := backups.CreateSecrets(ctx, client, namespaces, raw); err != nil {
		return err
	}
	return home.RemoveFile(path)
}

// teamsCluster returns a client of the cluster, and the namespaces of the teams. The client is nil if there is no cluster.
func (p *Platform) teamsCluster(ctx context.Context) (kubernetes.Interface, []string, error) {
	config, err := p.Config(ctx, false)
	if err != nil || config == nil {
		return nil, nil, err
	}
	list, err := p.Teams()
	if err != nil {
		return nil, nil, err
	}
	var namespaces []string
	for _, team := range list {
		namespaces = append(namespaces, team.Namespace())
	}
	client, err := kubernetes.NewForConfig(config)
	return client, namespaces, err
}

// Restored describes a home that was restored.
type Restored struct {
	Home        string    `json:"home"`
	Environment string    `json:"environment"`
	Created     time.Time `json:"created"` // the time of the backup
	// Former is the former home, if it is another folder.
	Former string `json:"former,omitempty"`
}

// Restore lays out the home from a backup. cloud is the folder of the emulated Google Cloud of the former home.
func (p *Platform) Restore(ctx context.Context, show *progress.Reporter, file, cloud string, keys backup.Keys) (Restored, error) {
	// Before the key: a passphrase takes a second.
	if p.Home.Exists() {
		return Restored{}, fmt.Errorf("restore the home %s: there is a platform: name an empty folder in STRATA_HOME: nothing was changed", p.Home.Dir())
	}
	identities, err := keys.ForReading()
	if err != nil {
		return Restored{}, err
	}
	var restored Restored
	err = show.Run("restore "+p.Home.Dir(), func() (string, error) {
		manifest, err := backups.Restore{
			Home: p.Home, Environment: p.Environment, File: file, Identities: identities, Cloud: cloud, Version: buildinfo.Version,
		}.Run(ctx)
		if err != nil {
			return "", err
		}
		restored = Restored{Home: p.Home.Dir(), Environment: manifest.Environment, Created: manifest.Created}
		if manifest.Home != restored.Home {
			restored.Former = manifest.Home
		}
		return fmt.Sprintf("%d files of %s", len(manifest.Members), manifest.Created.Format(time.RFC3339)), nil
	})
	return restored, err
}

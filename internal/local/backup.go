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
	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/backups"
	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/progress"
)

// Backup writes a backup of the home to a new file. The platform may run; runs of the layers may not.
func (p *Platform) Backup(ctx context.Context, show *progress.Reporter, file string, keys backup.Keys) (content.Saved, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return content.Saved{}, err
	}
	if !p.Home.Exists() {
		return content.Saved{}, fmt.Errorf("back up the home %s: there is no platform: name its home in STRATA_HOME", p.Home.Dir())
	}
	if _, begun := p.Home.DownBegun(); begun {
		return content.Saved{}, fmt.Errorf("back up the home %s: a down or a restore has not finished, so the states may be wrong: run `%s` first", p.Home.Dir(), p.Home.Call("up"))
	}
	if within, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil && strings.HasPrefix(within+"/", p.Home.Dir()+"/") {
		return content.Saved{}, fmt.Errorf("back up the home %s: %s is in the home, with which it would be lost: name a file elsewhere", p.Home.Dir(), file)
	}
	recipients, err := keys.ForWriting()
	if err != nil {
		return content.Saved{}, err
	}
	release, err := p.Lock()
	if err != nil {
		return content.Saved{}, err
	}
	defer release()
	free, err := p.acquire()
	if err != nil {
		return content.Saved{}, err
	}
	defer free()
	identity, err := cloud.Identify(p.Home.Google())
	if err != nil {
		return content.Saved{}, fmt.Errorf("back up the home %s: %w", p.Home.Dir(), err)
	}
	return content.Save(ctx, show, file, content.Platform{
		What: "the home " + p.Home.Dir(), Home: p.Home.Dir(), Cloud: identity,
		Collect: func(ctx context.Context, _ *progress.Reporter, temporary string) (*content.Collection, error) {
			found, err := backups.Collect(ctx, p.Home, temporary)
			if err == nil {
				err = p.addSecrets(ctx, found)
			}
			return found, err
		},
	}, recipients...)
}

// addSecrets adds the Secrets that people have created in the teams' namespaces.
func (p *Platform) addSecrets(ctx context.Context, to *content.Collection) error {
	client, namespaces, err := p.teamsCluster(ctx)
	if errors.Is(err, lifecycle.ErrStopped) {
		to.Leave("the Secrets that people have created in the teams' namespaces: %v", err)
		return nil
	}
	if err != nil || client == nil {
		return err
	}
	raw, count, err := content.Secrets(ctx, client, namespaces)
	to.AddSecrets(raw, count)
	return err
}

// createRestored creates the Secrets of the backup that this home comes from, once.
func (p *Platform) createRestored(ctx context.Context) error {
	path := p.Home.SecretFile(content.SecretsFile)
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
	if err := content.CreateSecrets(ctx, client, namespaces, raw); err != nil {
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

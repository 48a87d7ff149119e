package rehearsal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/layerconfig"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/repositories"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/signing"
)

// Names of the home's secrets that belong to one owner each.
const (
	publishPrefix, publishSuffix = "publish-", ".key"
	notifyPrefix                 = "notify-"
)

// held ends the names of the repositories that Flux must not fetch yet.
const held = ".held"

// layOut creates the home with the repositories of the teams, and starts the emulated Google Cloud and the Git server.
func (r *run) layOut(ctx context.Context, show *progress.Reporter) (string, error) {
	p := r.platform
	if err := p.CreateHome(); err != nil {
		return "", err
	}
	description, err := r.description()
	if err == nil {
		err = p.Home.MarkRehearsal(description)
	}
	if err != nil {
		return "", err
	}
	if err := p.UseSource(r.source()); err != nil {
		return "", err
	}
	if r.google == nil {
		if err := errors.Join(r.mapPorts(p.Home), r.mapSecrets(p.Home)); err != nil {
			return "", err
		}
		r.words.Add(r.content.Home, p.Home.Dir())
	}
	if err := os.MkdirAll(p.Home.Git(), 0o700); err != nil {
		return "", err
	}
	for _, name := range r.teamRepositories() {
		if err := gitserver.Unbundle(ctx, p.Home.Git(), name, r.content.Bundle(name)); err != nil {
			return "", err
		}
	}
	for _, step := range p.Prepare(true) {
		if _, err := step.Do(ctx, show); err != nil {
			return "", err
		}
	}
	running, err := p.Supervisor().Status(ctx)
	if err == nil {
		err = r.ensureKeys(ctx, running)
	}
	if err != nil {
		return "", err
	}
	if err := r.publishLiterals(ctx); err != nil {
		return "", err
	}
	return "", r.move(".git", held)
}

// teamRepositories returns the names of the backup's repositories that layer 2 and the clone do not create.
func (r *run) teamRepositories() []string {
	return slices.DeleteFunc(slices.Clone(r.content.Repositories), func(name string) bool {
		return name == repositories.Fleet || name == repositories.Platform || name == repositories.Strata
	})
}

// move renames the folders of the teams' repositories.
func (r *run) move(from, to string) error {
	for _, name := range r.teamRepositories() {
		stem := filepath.Join(r.platform.Home.Git(), name)
		if err := os.Rename(stem+from, stem+to); err != nil {
			return err
		}
	}
	return nil
}

// mapPorts reserves ports for the home, and maps those of the backup to them.
func (r *run) mapPorts(h home.Home) error {
	var file struct {
		Ports map[string]int `json:"ports"`
	}
	if err := json.Unmarshal(r.content.Ports(), &file); err != nil {
		return fmt.Errorf("read the ports of the home: %w", err)
	}
	for name, port := range file.Ports {
		// The supervisor, which chooses the ports, does not run yet.
		own, err := h.Port(name)
		if err != nil {
			return err
		}
		r.words.AddPort(port, own)
		for _, host := range []string{"127.0.0.1", "localhost"} {
			r.words.Add(fmt.Sprintf("%s:%d", host, port), fmt.Sprintf("%s:%d", host, own))
		}
	}
	return nil
}

// mapSecrets maps the secrets in the backup's home to new ones.
func (r *run) mapSecrets(h home.Home) error {
	made, err := h.Secret(supervisor.GitSecret)
	if err != nil {
		return err
	}
	former := r.content.Secret(supervisor.GitSecret)
	for _, name := range append(r.teamRepositories(), repositories.Fleet, repositories.Platform, repositories.Strata, gitserver.Engineer) {
		for _, account := range []string{name, gitserver.Reader(name)} {
			r.words.Add(gitserver.Password(former, account), gitserver.Password(made, account))
			r.words.PublishTexts(account)
		}
	}
	for _, name := range r.content.Secrets() {
		text := strings.TrimSpace(r.content.Secret(name))
		owner, isKey := strings.CutPrefix(name, publishPrefix)
		switch {
		case isKey && strings.HasSuffix(owner, publishSuffix):
			key, err := signing.ReadKey("the key "+name+" of the backup", text)
			if err != nil {
				return err
			}
			public, err := key.PublicPEM()
			if err != nil {
				return err
			}
			own, err := layerconfig.PublicKey(h, strings.TrimSuffix(owner, publishSuffix))
			if err != nil {
				return err
			}
			r.words.Add(public, own)
		case name == home.GenerationsFile:
			// Rotations number the resources of secrets. The numbers are no secrets.
			var made home.Generations
			if err := json.Unmarshal([]byte(text), &made); err != nil {
				return fmt.Errorf("read the generations of the backup: %w", err)
			}
			if err := h.KeepGenerations(made); err != nil {
				return err
			}
		case strings.HasPrefix(name, notifyPrefix):
			placeholder := "rehearsal-" + rand.Text()
			r.words.Add(text, placeholder)
			if err := home.WriteFile(h.SecretFile(name), []byte(placeholder)); err != nil {
				return err
			}
		}
	}
	return nil
}

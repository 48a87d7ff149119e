package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// followEvery is how often a log that is followed is looked at.
const followEvery = 200 * time.Millisecond

// Components are the names of all logs of the home: "etcd", "supervisor", or "pods/NAMESPACE_POD_CONTAINER".
func (p *Platform) Components() ([]string, error) {
	var names []string
	err := filepath.WalkDir(p.Home.Logs(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
			return err
		}
		name, err := filepath.Rel(p.Home.Logs(), strings.TrimSuffix(path, ".log"))
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	return names, nil
}

// Logs writes the log of a component. The component may be named by a part of its name that fits no other, such as
// "source-controller". With follow it goes on until ctx ends.
func (p *Platform) Logs(ctx context.Context, component string, follow bool, w io.Writer) error {
	name, err := p.component(component)
	if err != nil {
		return err
	}
	f, err := os.Open(p.Home.Log(filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("read the log of %s: %w", name, err)
	}
	defer f.Close()
	for {
		if _, err := io.Copy(w, f); err != nil {
			return fmt.Errorf("read the log of %s: %w", name, err)
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

func (p *Platform) component(component string) (string, error) {
	names, err := p.Components()
	if err != nil {
		return "", err
	}
	if slices.Contains(names, component) {
		return component, nil
	}
	var fitting []string
	for _, name := range names {
		if strings.Contains(name, component) {
			fitting = append(fitting, name)
		}
	}
	switch len(fitting) {
	case 0:
		return "", fmt.Errorf("there is no log of %q: the logs are %s", component, strings.Join(names, ", "))
	case 1:
		return fitting[0], nil
	}
	return "", fmt.Errorf("%q fits several logs: name one of %s", component, strings.Join(fitting, ", "))
}

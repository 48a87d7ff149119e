// Package logs finds and prints the logs of a home.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/logfile"
)

// Names returns the names of all logs of a home: "etcd", "supervisor", or "pods/NAMESPACE_POD_CONTAINER".
func Names(h home.Home) ([]string, error) {
	var names []string
	err := filepath.WalkDir(h.Logs(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
			return err
		}
		name, err := filepath.Rel(h.Logs(), strings.TrimSuffix(path, ".log"))
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	return names, nil
}

// Write writes the whole log of a component. A container's log includes its previous run. component may be a unique
// part of the component's name, such as "source-controller". With follow, Write continues until ctx is done.
func Write(ctx context.Context, h home.Home, component string, follow bool, w io.Writer) error {
	name, err := find(h, component)
	if err != nil {
		return err
	}
	path := h.Log(filepath.FromSlash(name))
	if err := logfile.Read(ctx, logfile.Previous(path), logfile.Options{}, w); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return logfile.Read(ctx, path, logfile.Options{Follow: func() bool { return follow }}, w)
}

// find returns the name of the log that component names, fully or by a unique part.
func find(h home.Home, component string) (string, error) {
	names, err := Names(h)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%s contains no logs yet: run `%s` or `%s` first",
			h.Dir(), h.Call("up"), h.Call("local start"))
	}
	if slices.Contains(names, component) {
		return component, nil
	}
	var matches []string
	for _, name := range names {
		if strings.Contains(name, component) {
			matches = append(matches, name)
		}
	}
	switch len(matches) {
	case 0:
		return "", fmt.Errorf("no log has the name %q: the logs are %s", component, strings.Join(names, ", "))
	case 1:
		return matches[0], nil
	}
	return "", fmt.Errorf("%q is part of the names of several logs: name one of %s", component, strings.Join(matches, ", "))
}

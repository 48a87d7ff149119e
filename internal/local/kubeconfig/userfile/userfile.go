// Package userfile adds contexts to the user's own kubeconfig, and removes them. It keeps every other byte of the file.
package userfile

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// Context is a context with a cluster and a user of the same name.
type Context struct {
	Name, Server, Namespace, Token string
	// Authority is the certificate of the cluster's authority in PEM; empty for a server without TLS.
	Authority []byte
}

// Path returns the path of the file that kubectl changes: the first one in $KUBECONFIG, otherwise ~/.kube/config. A symbolic link
// is resolved, so that the change keeps the link.
func Path() (string, error) {
	for _, path := range filepath.SplitList(os.Getenv("KUBECONFIG")) {
		if path != "" {
			return resolved(path)
		}
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find your kubeconfig: %w: name it in KUBECONFIG", err)
	}
	return resolved(filepath.Join(user, ".kube", "config"))
}

func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target, nil
	}
	return path, nil
}

// Merge adds contexts to a file, and replaces those of the same names. It creates a missing file.
func Merge(path string, contexts []Context) error {
	return change(path, func(text string) (string, error) {
		if strings.TrimSpace(text) == "" {
			text = "apiVersion: v1\nkind: Config\n"
		}
		for _, context := range contexts {
			var err error
			if text, _, err = without(text, context.Name); err != nil {
				return "", err
			}
			for section, entry := range context.entries() {
				if text, err = with(text, section, entry); err != nil {
					return "", err
				}
			}
		}
		return text, nil
	})
}

// Remove removes the contexts of the given names with their clusters and users. It returns the names that the file had.
func Remove(path string, names []string) (removed []string, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = change(path, func(text string) (string, error) {
		for _, name := range names {
			after, found, err := without(text, name)
			if err != nil {
				return "", err
			}
			if text = after; found {
				removed = append(removed, name)
			}
		}
		return text, nil
	})
	return removed, err
}

// entries returns the entries of a context by their sections, each as one line of JSON, which is YAML.
func (c Context) entries() map[string]string {
	cluster := map[string]string{"server": c.Server}
	if len(c.Authority) > 0 {
		cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(c.Authority)
	}
	line := func(field string, value any) string {
		raw, _ := json.Marshal(map[string]any{"name": c.Name, field: value}) // Strings always have a JSON form.
		return string(raw)
	}
	return map[string]string{
		"clusters": line("cluster", cluster),
		"users":    line("user", map[string]string{"token": c.Token}),
		"contexts": line("context", map[string]string{"cluster": c.Name, "user": c.Name, "namespace": c.Namespace}),
	}
}

// change replaces a file's content in one step, under the lock that kubectl uses. Only the user can read the new file, because it
// contains tokens.
func change(path string, edit func(string) (string, error)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("change your kubeconfig: %w", err)
	}
	// client-go, tools/clientcmd, lockFile.
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL, 0)
	if err != nil {
		return fmt.Errorf("change your kubeconfig: another program changes it now (%w): wait, or remove that file if no program does", err)
	}
	lock.Close()
	defer os.Remove(path + ".lock")
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("change your kubeconfig: %w", err)
	}
	after, err := edit(string(before))
	if err != nil {
		return fmt.Errorf("change your kubeconfig %s: %w: Strata has not changed it", path, err)
	}
	if after == string(before) {
		return nil
	}
	return home.WriteFile(path, []byte(after))
}

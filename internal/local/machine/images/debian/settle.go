package debian

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/images/debian/tree"
)

// settle replaces those scripts of packages that nearly every image needs, because an assembly runs no program of a package. It
// creates the users of base-passwd, the list of certificates of ca-certificates, and dpkg's status file, from which scanners
// read the versions.
func settle(t *tree.Tree, p plan, status string) error {
	write := func(name, content string) error {
		return t.Write(tree.File{Name: name, Mode: 0o644, Modified: p.lock.Date}, content)
	}
	for _, name := range []string{"passwd", "group"} {
		content, err := t.Read("/usr/share/base-passwd/" + name + ".master")
		if err != nil {
			return fmt.Errorf("%w: add the package base-passwd to the recipe", err)
		}
		if err := write("/etc/"+name, content); err != nil {
			return err
		}
	}
	certificates, err := certificates(t)
	if err != nil {
		return err
	}
	if certificates != "" {
		if err := write("/etc/ssl/certs/ca-certificates.crt", certificates); err != nil {
			return err
		}
	}
	return write("/var/lib/dpkg/status", status)
}

// certificates returns the certificates of the package ca-certificates, or nothing without the package.
func certificates(t *tree.Tree) (string, error) {
	names, err := t.Glob("/usr/share/ca-certificates/*/*.crt")
	if err != nil {
		return "", err
	}
	var list strings.Builder
	for _, name := range names {
		content, err := t.Read(name)
		if err != nil {
			return "", err
		}
		list.WriteString(strings.TrimSpace(content) + "\n")
	}
	return list.String(), nil
}

// apply performs the steps of the recipe: copies first, because a recipe may then remove or replace the originals.
func (r *Recipe) apply(t *tree.Tree, date time.Time) error {
	for _, c := range r.Copy {
		if err := t.Copy(c.From, c.To); err != nil {
			return err
		}
	}
	for _, pattern := range r.Remove {
		if err := t.Remove(pattern); err != nil {
			return err
		}
	}
	for _, f := range r.Folders {
		bits, err := mode(f.Mode, 0o755)
		if err != nil {
			return err
		}
		if err := t.Mkdir(tree.File{Name: f.Path, Mode: bits, UID: f.User, GID: f.Group, Modified: date}); err != nil {
			return err
		}
	}
	for _, f := range r.Files {
		bits, err := mode(f.Mode, 0o644)
		if err != nil {
			return err
		}
		content, err := fs.ReadFile(r.folder, f.Source)
		if err != nil {
			return err
		}
		if err := t.Write(tree.File{Name: f.Path, Mode: bits, UID: f.User, GID: f.Group, Modified: date}, string(content)); err != nil {
			return err
		}
	}
	// In a fixed order, so that the same recipe always gives the same image.
	var links []string
	for name := range r.Links {
		links = append(links, name)
	}
	slices.Sort(links)
	for _, name := range links {
		if err := t.Symlink(name, r.Links[name], date); err != nil {
			return err
		}
	}
	return nil
}

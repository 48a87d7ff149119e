package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/strata-platform/strata/internal/backup"
)

// maxContent bounds the members of a backup that Read keeps in memory, in bytes.
const maxContent = 512 << 20

// Content is a backup in memory, without its Git repositories: the rest contains secrets, which a rehearsal never writes to a disk.
type Content struct {
	backup.Manifest
	// Files are the members by their paths.
	Files map[string][]byte
	// Repositories are the names of the Git repositories.
	Repositories []string

	bundles string
}

// State is a state of a Stack in a backup.
type State struct {
	// Namespace is that of the team. Folder is the folder of the backend below the one of the namespace, "." or a path.
	Namespace, Folder string
	// Project and Stack are the names of the stack in Pulumi.
	Project, Stack string
	Content        []byte
}

// Read reads a backup of a platform on any target. It writes the bundles of the Git repositories, and nothing else, to an empty folder. version is
// the version of this strata.
func Read(ctx context.Context, file, version string, identities []age.Identity, bundles string) (*Content, error) {
	c := &Content{Files: map[string][]byte{}, bundles: bundles}
	size := int64(0)
	manifest, err := backup.Visit(ctx, file, version, identities, Accept, func(member backup.Member, content io.Reader) (err error) {
		if name, ok := strings.CutPrefix(member.Path, Git+"/"); ok {
			name = strings.TrimSuffix(name, Bundled)
			c.Repositories = append(c.Repositories, name)
			return writeBundle(c.Bundle(name), content)
		}
		if size += member.Size; size > maxContent {
			return fmt.Errorf("its members except the repositories have more than %d bytes", maxContent)
		}
		c.Files[member.Path], err = io.ReadAll(content)
		return err
	})
	c.Manifest = manifest
	return c, err
}

// Bundle returns the path of the file with the bundle of a Git repository.
func (c *Content) Bundle(repository string) string {
	return filepath.Join(c.bundles, repository+Bundled)
}

func writeBundle(path string, content io.Reader) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close())
}

// Secret returns the content of a file in the credentials of the home; empty if there is none.
func (c *Content) Secret(name string) string { return string(c.Files[Credentials+"/"+name]) }

// Secrets returns the names of these files, sorted.
func (c *Content) Secrets() (names []string) {
	for name := range c.Files {
		if name, ok := strings.CutPrefix(name, Credentials+"/"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Settings returns the settings of a layer's stack, see [SettingsFile]; nil if there are none.
func (c *Content) Settings(layer string) []byte { return c.Files[LayerFolder(layer)+"/"+SettingsFile] }

// Ports returns the content of the file with the ports of the home.
func (c *Content) Ports() []byte { return c.Files[PortsFile] }

// Operator returns the operator of the home; empty means the default.
func (c *Content) Operator() string { return string(c.Files[OperatorFile]) }

// Source returns the source of the platform's repository in the home; empty means the default.
func (c *Content) Source() string { return string(c.Files[SourceFile]) }

// LayerState returns the state of a layer by its project; nil if there is none.
func (c *Content) LayerState(project string) []byte {
	return c.Files[LayerState(project, c.Environment)]
}

// StackStates returns the states of the Stacks, sorted by their paths.
func (c *Content) StackStates() (all []State) {
	for name, content := range c.Files {
		below, ok := strings.CutPrefix(name, TeamStates+"/")
		folder, stack, is := strings.Cut(below, "/"+stateFiles)
		stack, isJSON := strings.CutSuffix(stack, stateSuffix)
		project, stack, isProject := strings.Cut(stack, "/")
		if !ok || !is || !isJSON || !isProject || strings.Contains(stack, "/") {
			continue
		}
		namespace, rest, nested := strings.Cut(folder, "/")
		if !nested {
			rest = "."
		}
		all = append(all, State{Namespace: namespace, Folder: rest, Project: project, Stack: stack, Content: content})
	}
	slices.SortFunc(all, func(a, b State) int { return strings.Compare(a.path(), b.path()) })
	return all
}

func (s State) path() string {
	return strings.Join([]string{s.Namespace, s.Folder, s.Project, s.Stack}, "/")
}

// Accept returns an error unless the manifest is that of a backup of a platform, with the members that such a backup has.
func Accept(manifest backup.Manifest) error {
	if manifest.Target != Local && manifest.Target != GKE {
		return fmt.Errorf("it is a backup of a platform on the unknown target %q", manifest.Target)
	}
	if !IsEnvironment(manifest.Environment) {
		return fmt.Errorf("it names no environment, but %q", manifest.Environment)
	}
	for _, member := range manifest.Members {
		if !Allowed(manifest.Target, member.Path, manifest.Environment) {
			return fmt.Errorf("it contains %q, which no backup contains", member.Path)
		}
	}
	if manifest.Target == Local && !slices.ContainsFunc(manifest.Members, func(m backup.Member) bool { return m.Path == PortsFile }) {
		return fmt.Errorf("it does not contain %s", PortsFile)
	}
	return nil
}

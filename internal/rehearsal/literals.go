package rehearsal

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/internal/gittree"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/repositories"
)

// Bounds of the YAML files whose values are published, in bytes: one file, and all files of a repository. The values stay in memory.
const (
	largestFile = 1 << 20
	mostBytes   = 32 << 20
)

// publishLiterals publishes the values that the repositories of the backup contain. A Program writes them into a Secret, such as a port
// beside a password, and the whole Secret is a secret for Pulumi. Whoever reads the repository knows them, so the copy may have them, and
// a plan must not say that they change.
func (r *run) publishLiterals(ctx context.Context) error {
	list, err := r.platform.Tenants()
	if err != nil {
		return err
	}
	for _, name := range r.teamRepositories() {
		revision := "HEAD"
		for _, team := range list {
			if team.Name == name && team.Branch != "" {
				revision = "refs/heads/" + team.Branch
			}
		}
		if err := r.publishCommit(ctx, filepath.Join(r.platform.Home.Git(), name+".git"), revision); err != nil {
			return fmt.Errorf("read the repository %s: %w", name, err)
		}
	}
	// The catalogue has the entries of the platform's repository and those of this version.
	if slices.Contains(r.content.Repositories, repositories.Platform) {
		former := filepath.Join(r.dir, "former")
		if err := os.Mkdir(former, 0o700); err != nil {
			return err
		}
		if err := gitserver.Unbundle(ctx, former, repositories.Platform, r.content.Bundle(repositories.Platform)); err != nil {
			return err
		}
		if err := r.publishCommit(ctx, filepath.Join(former, repositories.Platform+".git"), "refs/heads/"+gitserver.Branch); err != nil {
			return fmt.Errorf("read the repository %s: %w", repositories.Platform, err)
		}
	}
	return r.publishFiles(catalogue.Files)
}

// publishCommit publishes the values in the YAML files of a commit. A revision that does not exist has none.
func (r *run) publishCommit(ctx context.Context, folder, revision string) error {
	most := gitserver.DefaultLimits().Files
	objects, err := gittree.Open(ctx, func(ctx context.Context, args ...string) *exec.Cmd { return git(ctx, folder, args...) }, most)
	if err != nil {
		return err
	}
	defer objects.Close()
	tree, err := objects.TreeOf(revision)
	if err != nil || tree == "" {
		return err
	}
	// The Git server refuses a commit with more files, so its values are in no Stack.
	total, err := objects.Total(tree)
	if err != nil || total.Files > most {
		return err
	}
	return r.publishFiles(objects.FS(tree))
}

// publishFiles publishes the values in the YAML files of a tree, up to the bounds.
func (r *run) publishFiles(tree fs.FS) error {
	read := int64(0)
	return fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if ending := path.Ext(name); ending != ".yaml" && ending != ".yml" {
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.Size() > largestFile {
			return err
		}
		if read += info.Size(); read > mostBytes {
			return fs.SkipAll
		}
		content, err := fs.ReadFile(tree, name)
		r.words.PublishTexts(literals(content)...)
		return err
	})
}

// literals returns the scalar values of YAML documents, up to the first error of their syntax.
func literals(content []byte) []string {
	var all []string
	for decoder := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return all
		}
		all = appendScalars(all, &document)
	}
}

// appendScalars adds the scalars of a node. An alias repeats scalars that are elsewhere in the document.
func appendScalars(all []string, node *yaml.Node) []string {
	if node.Kind == yaml.ScalarNode {
		all = append(all, node.Value)
	}
	for _, each := range node.Content {
		all = appendScalars(all, each)
	}
	return all
}

// git returns a git command in a folder that reads no configuration of the user or of the machine.
func git(ctx context.Context, folder string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	return command
}

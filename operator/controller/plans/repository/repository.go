// Package repository fetches the programs of Stacks from repositories and artifacts, for plans of commits that nobody has reviewed.
package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/inputs"
	"github.com/strata-platform/strata/operator/controller/origin"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/operator/source"
)

// gitKind is the kind of Flux's Git sources.
var gitKind = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}

// ErrFetch means that the files of a program could not be fetched, so that nobody knows what they are.
var ErrFetch = errors.New("its files could not be fetched")

// Finder fetches programs. The zero value finds none.
type Finder struct {
	client  client.Client
	origins *origin.Finder
	folders *workdir.Folders
}

// New returns a Finder. The client reads without a cache. The files of programs are in folders.
func New(c client.Client, folders *workdir.Folders) Finder {
	return Finder{c, origin.NewFinder(c, nil, folders), folders}
}

// Commit is a commit of a team's repository.
type Commit struct {
	// Namespace and Team are the team's.
	Namespace, Team string

	// Hash is the full hash of the commit. Empty means that it is not known.
	Hash string
}

// Own is the repository of a commit, at the commit.
type Own struct {
	git source.Git

	// secret is the name of the Secret with Flux's login, or empty.
	secret string

	// ignore has the patterns of files that Flux leaves out of the artifact, in addition to those of .sourceignore.
	ignore string
}

// Own returns the repository of the commit if the program of a Stack is one of its folders, and nil otherwise. Layer 2 gives the source of
// a team's repository the name of the team. Own returns nil, too, if Flux's artifact has other files than the commit.
func (f *Finder) Own(ctx context.Context, c Commit, spec *v1.StackSpec) (*Own, error) {
	if f.origins == nil || c.Hash == "" || spec.FluxSource == nil && spec.ProjectRepo == "" {
		return nil, nil
	}
	if spec.FluxSource != nil && (!OfTeam(spec, c.Team) || spec.FluxSource.SourceRef.Kind != gitKind.Kind) {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gitKind)
	if err := f.client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Team}, object); meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the GitRepository of team %s: %w", c.Team, err)
	}
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(object.Object, append([]string{"spec"}, path...)...)
		return value
	}
	if spec.FluxSource == nil && (plain(spec.ProjectRepo) != plain(text("url")) || spec.Branch == "" || short(spec.Branch) != short(text("ref", "branch"))) {
		return nil, nil
	}
	sparse, _, _ := unstructured.NestedSlice(object.Object, "spec", "sparseCheckout")
	modules, _, _ := unstructured.NestedBool(object.Object, "spec", "recurseSubmodules")
	if spec.FluxSource != nil && (modules || len(sparse) > 0) {
		return nil, nil
	}
	return &Own{git: source.Git{URL: text("url"), Commit: c.Hash, Shallow: true}, secret: text("secretRef", "name"), ignore: text("ignore")}, nil
}

// checkout returns the commit with Flux's login.
func (f *Finder) checkout(ctx context.Context, own *Own, namespace string) (source.Git, error) {
	git := own.git
	if own.secret == "" {
		return git, nil
	}
	secret := &corev1.Secret{}
	if err := f.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: own.secret}, secret); apierrors.IsNotFound(err) {
		return git, fmt.Errorf("%w: there is no Secret %s with the login of Flux", ErrFetch, own.secret)
	} else if err != nil {
		return git, fmt.Errorf("read Secret %s, which has the login of Flux: %w", own.secret, err)
	}
	// The keys are Flux's (github.com/fluxcd/pkg/git, AuthOptions).
	text := func(key string) string { return string(secret.Data[key]) }
	git.Auth = source.GitAuth{User: text("username"), Password: text("password"), Token: text("bearerToken"), SSHKey: text("identity"), KnownHosts: text("known_hosts")}
	if git.Auth.SSHKey != "" {
		git.Auth.SSHKeyPassword, git.Auth.Password = git.Auth.Password, ""
	}
	return git, nil
}

// OfTeam reports whether the program of a Stack is in the source of the team's repository.
func OfTeam(spec *v1.StackSpec, team string) bool {
	return spec.FluxSource != nil && spec.FluxSource.SourceRef.Name == team
}

// plain returns the address that admission compares (sync/policies/stacks.yaml): with and without .git and a trailing slash, addresses
// mean the same repository.
func plain(address string) string {
	return strings.TrimSuffix(strings.TrimSuffix(address, "/"), ".git")
}

func short(branch string) string { return strings.TrimPrefix(branch, "refs/heads/") }

// Program is a program whose files are on disk.
type Program struct {
	// Project is the name of the Pulumi project, and Path its folder in Source.
	Project, Path string

	// Source copies the files into the folder of a run.
	Source engine.Source
}

// Find fetches the program of a Stack. live is the Stack of today, or nil. own is the result of Own. The caller calls remove.
// The error is a [*stall.Error] if the source is wrong or not available, and [ErrFetch] if the fetch fails.
func (f *Finder) Find(ctx context.Context, stack, live *v1.Stack, own *Own) (_ *Program, remove func(), err error) {
	if f.origins == nil {
		return nil, nil, errors.New("only Stacks with spec.programRef can be planned here")
	}
	found, err := f.find(ctx, stack, live, own)
	if err != nil {
		return nil, nil, err
	}
	dir, err := f.folders.Make()
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the program: %w", err)
	}
	remove = func() { f.folders.Remove(dir) }
	files := filepath.Join(dir, "files")
	revision, err := fetch(ctx, found.Source, files)
	if err == nil && own != nil && stack.Spec.FluxSource != nil {
		err = source.Prune(files, own.ignore)
	}
	name := ""
	if err == nil {
		name, err = projectOf(files, found.Path)
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return &Program{Project: name, Path: found.Path, Source: fetched{files, revision}}, remove, nil
}

// find finds the source of a Stack's program.
func (f *Finder) find(ctx context.Context, stack, live *v1.Stack, own *Own) (*origin.Program, error) {
	if own == nil {
		if err := trusted(stack, live); err != nil {
			return nil, err
		}
		advise := func(_ context.Context, _, otherwise string) string { return otherwise }
		return f.origins.Find(ctx, stack, inputs.New(f.client, stack.Namespace, func(dependents.Object) {}, advise), false)
	}
	dir := stack.Spec.RepoDir
	if from := stack.Spec.FluxSource; from != nil {
		dir = from.Dir
	}
	git, err := f.checkout(ctx, own, stack.Namespace)
	return &origin.Program{Source: git, Path: dir}, err
}

// trusted returns an error if a commit would send the credentials of a repository to another place. Whoever wrote the commit cannot read
// them.
func trusted(stack, live *v1.Stack) error {
	now := stack.Spec.GitSource
	if now.GitAuth == nil && now.GitAuthSecret == "" {
		return nil
	}
	if live != nil {
		was := live.Spec.GitSource
		if was.ProjectRepo == now.ProjectRepo && was.GitAuthSecret == now.GitAuthSecret && equality.Semantic.DeepEqual(was.GitAuth, now.GitAuth) {
			return nil
		}
	}
	return errors.New("spec.projectRepo: the commit adds or changes a repository with credentials, and a plan sends credentials only where runs send them already: " +
		"merge the Stack with the repository first, and change it afterwards")
}

// fetch fetches the files of a program into a folder, without their history, which no program needs.
func fetch(ctx context.Context, from engine.Source, dir string) (revision string, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for the program: %w", err)
	}
	if revision, err = from.Fetch(ctx, dir); err != nil {
		return "", fmt.Errorf("%w: %w", ErrFetch, err)
	}
	return revision, os.RemoveAll(filepath.Join(dir, ".git"))
}

// projectOf returns the name of the project in a folder of the files.
func projectOf(files, dir string) (string, error) {
	root, err := os.OpenRoot(files)
	if err != nil {
		return "", fmt.Errorf("open the folder of the program: %w", err)
	}
	defer root.Close()
	read, err := project.Read(root, dir)
	if err == nil {
		// The name becomes a part of paths.
		err = read.Check("")
	}
	if err != nil {
		return "", fmt.Errorf("the source has no valid project: %w", err)
	}
	return read.Name, nil
}

// fetched is a folder with fetched files.
type fetched struct{ dir, revision string }

// Fetch implements engine.Source. The engine may call it twice.
func (s fetched) Fetch(_ context.Context, dst string) (string, error) {
	return s.revision, os.CopyFS(dst, os.DirFS(s.dir))
}

// Package bootstrap installs and updates Flux on a cluster.
package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/manifestgen/sourcesecret"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/git"
	"github.com/fluxcd/pkg/ssa"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/fluxdrift"
	"github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
	"github.com/strata-platform/strata/internal/local/plugins/flux/manifests"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/flux/repository"
)

const (
	// defaultTimeout is the official provider's time limit for Create, Read and Update.
	defaultTimeout = 15 * time.Minute

	definitionsLimit = time.Minute
	applyConcurrency = 4
)

// installation is the Flux of one cluster.
type installation struct {
	options.Options
	kube client.Client
}

// Run commits Flux's manifests to the repository, installs the controllers, and waits until they are healthy and have
// applied the commit. It returns the files in the repository, by path. If Flux is installed already, Run changes only
// what differs. obsolete are the paths of the files that an earlier bootstrap wrote.
//
// Run does the work of Flux's pkg/bootstrap with one commit and one apply instead of two each. A sync normally fails at
// first, while the controllers start; Run keeps waiting then.
func Run(ctx context.Context, o options.Options, obsolete []string) (map[string]string, error) {
	o = o.WithDefaults()
	ctx, cancel, err := options.WithTimeout(ctx, o.Install.Timeouts.Create, defaultTimeout)
	if err != nil {
		return nil, err
	}
	defer cancel()

	files, err := manifests.Render(o)
	if err != nil {
		return nil, err
	}
	kube, err := o.Kubernetes.NewClient()
	if err != nil {
		return nil, err
	}
	i := installation{o, kube}

	o.Logger.Actionf("committing the manifests of Flux %s to branch %s of %s", o.Install.Version, o.Git.Branch, o.Git.URL)
	var stopped []string
	stop := func(ctx context.Context) (err error) {
		stopped, err = i.stopRemoved(ctx)
		return err
	}
	repo, err := repository.Write(ctx, o.Git, fmt.Sprintf("Add Flux %s manifests", o.Install.Version), files, obsolete, stop)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	head, err := repo.Head()
	if err != nil {
		return nil, fmt.Errorf("read the head of branch %s of git repository %s: %w", o.Git.Branch, o.Git.URL, err)
	}
	revision := fmt.Sprintf("%s@%s", o.Git.Branch, git.Hash(head).Digest())

	o.Logger.Actionf("applying the manifests of Flux %s to namespace %s", o.Install.Version, o.Install.Namespace)
	objects, err := i.objects(repo)
	if err != nil {
		return nil, err
	}
	if err := i.apply(ctx, objects); err != nil {
		return nil, fmt.Errorf("apply the manifests of Flux %s: %w", o.Install.Version, err)
	}

	o.Logger.Waitingf("waiting for Flux to apply %s", revision)
	if err := i.waitReady(ctx, revision); err != nil {
		return nil, err
	}
	if err := i.waitRemoved(ctx, stopped); err != nil {
		return nil, err
	}
	o.Logger.Successf("Flux %s is ready", o.Install.Version)
	return files, nil
}

// objects builds the objects of the manifests in the repository. It adds the Secret with the credentials of the
// repository, unless the inputs disable the Secret.
func (i installation) objects(repo *repository.Checkout) ([]*unstructured.Unstructured, error) {
	build := func(more string) ([]*unstructured.Unstructured, error) {
		built, err := fluxdrift.Build(repo.Path(), i.Folder(), more)
		if err != nil {
			return nil, fmt.Errorf("git repository %s: %w", i.Git.URL, err)
		}
		return built, nil
	}
	if i.Install.DisableSecretCreation {
		return build("")
	}
	secret, err := sourcesecret.GenerateGit(sourcesecret.Options{
		Name:      i.Install.SecretName,
		Namespace: i.Install.Namespace,
		Username:  i.Git.HTTP.Username,
		Password:  i.Git.HTTP.Password,
		CACrt:     []byte(i.Git.HTTP.CertificateAuthority),
	})
	if err != nil {
		return nil, fmt.Errorf("generate Secret %s/%s: %w", i.Install.Namespace, i.Install.SecretName, err)
	}
	return build("\n---\n" + secret.Content)
}

// apply applies the CustomResourceDefinitions first. When the cluster serves their kinds, it applies the other objects.
func (i installation) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	manager := fluxdrift.NewManager(i.kube)
	manager.SetConcurrency(applyConcurrency)
	opts := ssa.DefaultApplyOptions()
	opts.WaitInterval = cluster.PollInterval
	opts.WaitTimeout = definitionsLimit
	_, err := manager.ApplyAllStaged(ctx, objects, opts)
	return err
}

// Status is the result of Inspect.
type Status struct {
	// Files maps the paths of the files in the repository to their contents. It omits missing files.
	Files map[string]string
	// Installed is true if the cluster has Flux's root sync.
	Installed bool
}

// Inspect reads the files at paths in the repository, and whether the cluster has Flux. It changes neither.
func Inspect(ctx context.Context, o options.Options, paths []string) (Status, error) {
	o = o.WithDefaults()
	ctx, cancel, err := options.WithTimeout(ctx, o.Install.Timeouts.Read, defaultTimeout)
	if err != nil {
		return Status{}, err
	}
	defer cancel()

	var s Status
	repo, err := repository.Clone(ctx, o.Git)
	var gone git.ErrRepositoryNotFound
	switch {
	case errors.As(err, &gone):
	case err != nil:
		return s, err
	default:
		defer repo.Close()
		if s.Files, err = repo.Read(paths); err != nil {
			return s, err
		}
	}
	kube, err := o.Kubernetes.NewClient()
	if err != nil {
		return s, err
	}
	s.Installed, err = installation{o, kube}.installed(ctx)
	return s, err
}

// installed reports whether the cluster has Flux's root sync.
func (i installation) installed(ctx context.Context) (bool, error) {
	var sync kustomizev1.Kustomization
	err := i.kube.Get(ctx, i.Root(), &sync)
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) || runtime.IsNotRegisteredError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get Kustomization %s: %w", i.Root(), err)
	}
	return true, nil
}

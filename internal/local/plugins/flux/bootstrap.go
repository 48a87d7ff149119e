package flux

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/kustomization"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/sourcesecret"
	"github.com/fluxcd/pkg/git"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// defaultTimeout is the official provider's default for Create, Read and Update.
	defaultTimeout = 15 * time.Minute

	pollInterval     = 100 * time.Millisecond
	definitionsLimit = time.Minute
	applyConcurrency = 4
)

// Bootstrap commits Flux's manifests, installs its controllers and waits until they are healthy and have applied the
// commit. It returns the files in the repository. If Flux is installed already, Bootstrap changes only what differs.
// obsolete names the files that an earlier bootstrap wrote.
//
// It does the work of Flux's pkg/bootstrap with one commit and one apply instead of two of each. A sync is normally
// not ready at first, right after the controllers' start; Bootstrap waits for it instead of failing.
func Bootstrap(ctx context.Context, o Options, obsolete []string) (map[string]string, error) {
	o = o.withDefaults()
	ctx, cancel, err := withTimeout(ctx, o.Install.Timeouts.Create, defaultTimeout)
	if err != nil {
		return nil, err
	}
	defer cancel()

	files, err := Render(o)
	if err != nil {
		return nil, err
	}
	kube, err := o.Kubernetes.newClient()
	if err != nil {
		return nil, err
	}

	o.Logger.Actionf("committing the manifests of Flux %s to branch %s of %s", o.Install.Version, o.Git.Branch, o.Git.URL)
	var gone leaving
	stop := func(ctx context.Context) (err error) {
		gone, err = o.stopRemoved(ctx, kube)
		return err
	}
	repo, err := writeFiles(ctx, o.Git, fmt.Sprintf("Add Flux %s manifests", o.Install.Version), files, obsolete, stop)
	if err != nil {
		return nil, err
	}
	defer repo.close()
	head, err := repo.Head()
	if err != nil {
		return nil, fmt.Errorf("read the head of branch %s of git repository %s: %w", o.Git.Branch, o.Git.URL, err)
	}
	revision := fmt.Sprintf("%s@%s", o.Git.Branch, git.Hash(head).Digest())

	o.Logger.Actionf("applying the manifests of Flux %s to namespace %s", o.Install.Version, o.Install.Namespace)
	objects, err := o.objects(repo)
	if err != nil {
		return nil, err
	}
	if err := apply(ctx, kube, objects); err != nil {
		return nil, fmt.Errorf("apply the manifests of Flux %s: %w", o.Install.Version, err)
	}

	o.Logger.Waitingf("waiting for Flux to apply %s", revision)
	if err := o.waitReady(ctx, kube, revision); err != nil {
		return nil, err
	}
	if err := o.waitRemoved(ctx, kube, gone); err != nil {
		return nil, err
	}
	o.Logger.Successf("Flux %s is ready", o.Install.Version)
	return files, nil
}

// objects builds the objects in the repository, and the Secret that Flux needs to read the repository.
func (o Options) objects(repo *checkout) ([]*unstructured.Unstructured, error) {
	built, err := kustomization.BuildWithRoot(repo.Path(), filepath.Join(repo.Path(), filepath.FromSlash(o.folder())))
	if err != nil {
		return nil, fmt.Errorf("build %s of git repository %s: %w", o.folder(), o.Git.URL, err)
	}
	manifests := string(built)
	if !o.Install.DisableSecretCreation {
		secret, err := sourcesecret.GenerateGit(sourcesecret.Options{
			Name:      o.Install.SecretName,
			Namespace: o.Install.Namespace,
			Username:  o.Git.HTTP.Username,
			Password:  o.Git.HTTP.Password,
			CACrt:     []byte(o.Git.HTTP.CertificateAuthority),
		})
		if err != nil {
			return nil, fmt.Errorf("generate Secret %s/%s: %w", o.Install.Namespace, o.Install.SecretName, err)
		}
		manifests += "\n---\n" + secret.Content
	}
	objects, err := ssautil.ReadObjects(strings.NewReader(manifests))
	if err != nil {
		return nil, fmt.Errorf("read the objects of %s: %w", o.folder(), err)
	}
	if err := normalize.UnstructuredList(objects); err != nil {
		return nil, fmt.Errorf("normalize the objects of %s: %w", o.folder(), err)
	}
	return objects, nil
}

// apply applies the definitions first. When the cluster serves them, it applies the other objects.
func apply(ctx context.Context, kube client.Client, objects []*unstructured.Unstructured) error {
	manager := ssa.NewResourceManager(kube, polling.NewStatusPoller(kube, kube.RESTMapper(), polling.Options{}), ssa.Owner{
		// Flux's command line uses this field manager, and kustomize-controller takes its fields over.
		Field: "flux",
		Group: "fluxcd.io",
	})
	manager.SetConcurrency(applyConcurrency)
	opts := ssa.DefaultApplyOptions()
	opts.WaitInterval = pollInterval
	opts.WaitTimeout = definitionsLimit
	_, err := manager.ApplyAllStaged(ctx, objects, opts)
	return err
}

// Status is the result of Inspect.
type Status struct {
	// Files maps the paths of the expected files in the repository to their content.
	Files map[string]string
	// Installed says whether the cluster has Flux's root sync.
	Installed bool
}

// Inspect reads the repository and the cluster and changes neither.
func Inspect(ctx context.Context, o Options, paths []string) (Status, error) {
	o = o.withDefaults()
	ctx, cancel, err := withTimeout(ctx, o.Install.Timeouts.Read, defaultTimeout)
	if err != nil {
		return Status{}, err
	}
	defer cancel()

	var s Status
	repo, err := clone(ctx, o.Git)
	var gone git.ErrRepositoryNotFound
	switch {
	case errors.As(err, &gone):
	case err != nil:
		return s, err
	default:
		defer repo.close()
		if s.Files, err = repo.read(paths); err != nil {
			return s, err
		}
	}
	kube, err := o.Kubernetes.newClient()
	if err != nil {
		return s, err
	}
	s.Installed, err = o.installed(ctx, kube)
	return s, err
}

func withTimeout(ctx context.Context, wanted string, otherwise time.Duration) (context.Context, context.CancelFunc, error) {
	limit := otherwise
	if wanted != "" {
		var err error
		if limit, err = time.ParseDuration(wanted); err != nil {
			return nil, nil, fmt.Errorf("timeout %q: %w", wanted, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}

func paths(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }

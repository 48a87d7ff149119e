package uninstall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
)

// prune deletes the syncs and waits until the controllers have pruned the objects that the syncs applied. It begins
// with the syncs on which no other sync depends. Without a running controller, it does not wait.
func (i installation) prune(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, pruneLimit)
	defer cancel()
	var left []string
	// The limit ends the wait but no call, because an interrupted call returns errors of its own.
	err := wait.PollUntilContextCancel(limited, cluster.PollInterval, true, func(context.Context) (bool, error) {
		syncs, err := i.syncs(ctx)
		if err != nil {
			return false, err
		}
		left = nil
		for _, s := range syncs {
			left = append(left, s.String())
		}
		for _, s := range leaves(syncs) {
			if s.object.GetDeletionTimestamp() != nil {
				continue
			}
			if err := i.kube.Delete(ctx, s.object); client.IgnoreNotFound(err) != nil {
				return false, fmt.Errorf("delete %s: %w", s, err)
			}
		}
		if len(syncs) == 0 {
			return true, nil
		}
		alive, err := i.alive(ctx)
		return !alive, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		i.Logger.Warningf("not pruned after %s, the objects that they applied remain: %s", pruneLimit, strings.Join(left, ", "))
		return nil
	}
	return err
}

// syncObject is a Kustomization or a HelmRelease.
type syncObject struct {
	kind   string
	object client.Object
	needs  []string // the keys of the syncs of the same kind on which this one depends
}

func (s syncObject) String() string { return s.kind + " " + s.key() }

// key returns the namespace and the name, separated by a slash.
func (s syncObject) key() string { return s.object.GetNamespace() + "/" + s.object.GetName() }

// syncs returns all Kustomizations except the root sync, and all HelmReleases.
func (i installation) syncs(ctx context.Context) ([]syncObject, error) {
	var syncs []syncObject
	var ks kustomizev1.KustomizationList
	if err := i.kube.List(ctx, &ks); err != nil && !cluster.Gone(err) {
		return nil, fmt.Errorf("list Kustomizations: %w", err)
	}
	for n := range ks.Items {
		k := &ks.Items[n]
		if client.ObjectKeyFromObject(k) == i.Root() {
			continue
		}
		d := syncObject{kind: kustomizev1.KustomizationKind, object: k}
		for _, need := range k.Spec.DependsOn {
			d.needs = append(d.needs, cmp.Or(need.Namespace, k.Namespace)+"/"+need.Name)
		}
		syncs = append(syncs, d)
	}
	var hs helmv2.HelmReleaseList
	if err := i.kube.List(ctx, &hs); err != nil && !cluster.Gone(err) {
		return nil, fmt.Errorf("list HelmReleases: %w", err)
	}
	for n := range hs.Items {
		h := &hs.Items[n]
		d := syncObject{kind: helmv2.HelmReleaseKind, object: h}
		for _, need := range h.Spec.DependsOn {
			d.needs = append(d.needs, cmp.Or(need.Namespace, h.Namespace)+"/"+need.Name)
		}
		syncs = append(syncs, d)
	}
	return syncs, nil
}

// leaves returns the syncs on which no other sync of the same kind depends. If there are none, because the dependencies
// form a circle, it returns all syncs.
func leaves(syncs []syncObject) []syncObject {
	needed := map[string]bool{}
	for _, s := range syncs {
		for _, need := range s.needs {
			needed[s.kind+need] = true
		}
	}
	free := slices.DeleteFunc(slices.Clone(syncs), func(s syncObject) bool { return needed[s.kind+s.key()] })
	if len(free) == 0 {
		return syncs
	}
	return free
}

// alive reports whether a kustomize-controller runs, which prunes the objects of a deleted sync.
func (i installation) alive(ctx context.Context) (bool, error) {
	var d appsv1.Deployment
	err := i.kube.Get(ctx, client.ObjectKey{Namespace: i.Install.Namespace, Name: "kustomize-controller"}, &d)
	if cluster.Gone(err) {
		return false, nil
	}
	return d.Status.AvailableReplicas > 0, err
}

package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/plan"
)

// Most is the number of Plans that stay in a namespace. The operator deletes older ones.
const Most = 20

// page is the number of Plans in one answer of the API server. A Plan may have a megabyte.
const page = 5

// ErrNoKind means that the API server does not serve Plans.
var ErrNoKind = errors.New("this platform has no Plans: only the embedded operator plans commits, and `strata up` installs the kind")

var kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}

// Client keeps Plans in a cluster.
type Client struct {
	objects dynamic.Interface
	// metadata lists Plans without their manifests.
	metadata metadata.Interface
}

// NewClient returns a client for the API server of a configuration.
func NewClient(config *rest.Config) (*Client, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	described, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Client{objects, described}, nil
}

func (c *Client) plans(namespace string) dynamic.ResourceInterface {
	return c.objects.Resource(plan.Resource()).Namespace(namespace)
}

// Syncs returns the Kustomizations of a namespace that apply a source of this name, by their names.
func (c *Client) Syncs(ctx context.Context, namespace, source string) ([]Sync, error) {
	list, err := c.objects.Resource(kustomizations).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Kustomizations in namespace %s: %w", namespace, err)
	}
	var found []Sync
	for i := range list.Items {
		if sync := SyncOf(&list.Items[i]); sync.Source == source {
			found = append(found, sync)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no Kustomization in namespace %s applies a source %q: `strata team list` shows the teams, and `strata up` creates them", namespace, source)
	}
	slices.SortFunc(found, func(a, b Sync) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// Create creates a Plan. It replaces a Plan of the same name: the cluster may have changed since its creation.
func (c *Client) Create(ctx context.Context, p *plan.Plan) (*plan.Plan, error) {
	object, err := p.Object()
	if err != nil {
		return nil, err
	}
	// The API server ignores a status in a create, but it would check it.
	delete(object.Object, "status")
	made, err := c.plans(p.Namespace).Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if err := c.plans(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("replace Plan %s/%s: %w", p.Namespace, p.Name, err)
		}
		made, err = c.plans(p.Namespace).Create(ctx, object, metav1.CreateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("create Plan %s/%s: %w", p.Namespace, p.Name, kindless(err))
	}
	return plan.From(made)
}

// kindless returns ErrNoKind for the answer of an API server that does not serve the kind. Otherwise it names the missing object.
func kindless(err error) error {
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) && (status.Status().Details == nil || status.Status().Details.Name == "") {
		return ErrNoKind
	}
	return err
}

// UnknownError means that there is no Plan of a name.
type UnknownError struct{ Namespace, Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no Plan %q in namespace %s: `strata plan list` shows all; only the newest %d are kept", e.Name, e.Namespace, Most)
}

// Get returns a Plan. The error is an [*UnknownError] if there is none of this name.
func (c *Client) Get(ctx context.Context, namespace, name string) (*plan.Plan, error) {
	object, err := c.plans(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !errors.Is(kindless(err), ErrNoKind) {
		return nil, &UnknownError{Namespace: namespace, Name: name}
	}
	if err != nil {
		return nil, fmt.Errorf("read Plan %s/%s: %w", namespace, name, kindless(err))
	}
	return plan.From(object)
}

// List returns the Plans of a namespace without their manifests, the newest first.
func (c *Client) List(ctx context.Context, namespace string) ([]*plan.Plan, error) {
	var all []*plan.Plan
	for next := ""; ; {
		list, err := c.plans(namespace).List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if err != nil {
			return nil, fmt.Errorf("list the Plans in namespace %s: %w", namespace, kindless(err))
		}
		for i := range list.Items {
			unstructured.RemoveNestedField(list.Items[i].Object, "spec", "manifests")
			p, err := plan.From(&list.Items[i])
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		if next = list.GetContinue(); next == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b *plan.Plan) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// DeleteBranches deletes the Plans of branches, and returns their number. It keeps approved Plans: forges delete a branch when they
// merge it, and the operator looks for the approval after that.
func (c *Client) DeleteBranches(ctx context.Context, namespace string, branches []string) (int, error) {
	approvals, err := c.metadata.Resource(approval.Resource()).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		approvals, err = &metav1.PartialObjectMetadataList{}, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list the Approvals in namespace %s: %w", namespace, err)
	}
	approved := map[types.UID]bool{}
	for _, each := range approvals.Items {
		for _, owner := range each.OwnerReferences {
			approved[owner.UID] = true
		}
	}
	values := map[string]bool{}
	for _, branch := range branches {
		values[BranchValue(branch)] = true
	}
	return c.remove(ctx, namespace, func(all []metav1.PartialObjectMetadata) []metav1.PartialObjectMetadata {
		return slices.DeleteFunc(all, func(p metav1.PartialObjectMetadata) bool { return !values[p.Labels[BranchLabel]] || approved[p.UID] })
	})
}

// Trim deletes the oldest Plans of a namespace until at most this many are left. The Plans of waiting Stacks stay, and do not count.
func (c *Client) Trim(ctx context.Context, namespace string, keep int) error {
	_, err := c.remove(ctx, namespace, func(all []metav1.PartialObjectMetadata) []metav1.PartialObjectMetadata {
		all = slices.DeleteFunc(all, func(p metav1.PartialObjectMetadata) bool { return plan.IsOfStack(p.Name) })
		slices.SortFunc(all, func(a, b metav1.PartialObjectMetadata) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
		return all[:max(len(all)-keep, 0)]
	})
	return err
}

// remove deletes the Plans of a namespace that choose returns, and returns their number.
func (c *Client) remove(ctx context.Context, namespace string, choose func([]metav1.PartialObjectMetadata) []metav1.PartialObjectMetadata) (int, error) {
	plans := c.metadata.Resource(plan.Resource()).Namespace(namespace)
	list, err := plans.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("list the Plans in namespace %s: %w", namespace, kindless(err))
	}
	count := 0
	for _, each := range choose(list.Items) {
		// The UID keeps a Plan of the same name that somebody has created meanwhile.
		err := plans.Delete(ctx, each.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(each.UID))})
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		case err != nil:
			return count, fmt.Errorf("delete Plan %s/%s: %w", namespace, each.Name, err)
		default:
			count++
		}
	}
	return count, nil
}

// Package breaking finds the orders of the catalogue that a change of the entries would break.
//
// It asks the libraries of the API server, and not rules of its own: an order breaks if the API server would refuse it, or
// drop one of its fields, were the order created under the new schema.
package breaking

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/internal/terminal"
)

const (
	// mostOrders is the maximum number of orders of an entry that a Change names. A team may create any number.
	mostOrders = 20
	// mostReasons is the maximum number of reasons for each order, and longestReason the length of one in characters.
	mostReasons, longestReason = 3, 300
	// page is the number of orders in one answer of the API server.
	page = 200
)

// Change is the difference between an entry and its kind in a cluster.
type Change struct {
	// Entry is the name of the entry, and Kind its kind in the cluster.
	Entry, Kind string
	// Breaking describes what an order could say before and cannot say now; empty if every old order is a new one.
	Breaking []string
	// Broken are the existing orders that the change breaks: the first ones, by namespace and name. More is the number of
	// the others.
	Broken []Order
	More   int
}

// Order is an order that a change breaks.
type Order struct {
	// Kind, Namespace and Name identify the order.
	Kind, Namespace, Name string
	// Reasons say what of the order the new schema refuses, each in one line.
	Reasons []string
}

// String returns the order and the reasons in one line.
func (o Order) String() string {
	return o.Kind + " " + o.Namespace + "/" + o.Name + ": " + strings.Join(o.Reasons, "; ")
}

// Error refuses changes that break orders.
type Error struct {
	// Changes are the changes that break at least one order.
	Changes []Change
}

// Error names the orders and says what to do, in one line.
func (e *Error) Error() string {
	var orders, kinds []string
	more := 0
	for _, change := range e.Changes {
		for _, order := range change.Broken {
			orders = append(orders, order.String())
		}
		more += change.More
		kinds = append(kinds, change.Entry)
	}
	if more > 0 {
		orders = append(orders, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("nothing was changed: the change of the catalogue (%s) breaks existing orders: %s: restore what these orders use in %s/NAME/%s, or ask their teams to change or delete them first; "+
		"`strata catalogue lint` lists them", strings.Join(kinds, ", "), strings.Join(orders, " | "), catalogue.Folder, catalogue.EntryFile)
}

// Refuse returns an [Error] if one of the changes breaks an order, and nil otherwise.
func Refuse(changes []Change) error {
	refused := &Error{}
	for _, change := range changes {
		if len(change.Broken) > 0 {
			refused.Changes = append(refused.Changes, change)
		}
	}
	if len(refused.Changes) == 0 {
		return nil
	}
	return refused
}

// Find compares entries with the kinds and orders of a cluster, and returns the changes, by the names of their entries. A
// kind of the cluster without an entry breaks all of its orders. The configuration's identity must be allowed to read the
// kinds of the cluster and the orders of every namespace. read returns the entries; Find calls it only if the cluster has
// kinds of the catalogue.
func Find(ctx context.Context, config *rest.Config, read func() ([]*catalogue.Entry, error)) ([]Change, error) {
	kinds, err := served(config)
	if err != nil || len(kinds) == 0 {
		return nil, err
	}
	entries, err := read()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster for the orders: %w", err)
	}
	var changes []Change
	for _, kind := range kinds {
		old, err := definition(ctx, client, kind)
		if err != nil {
			return nil, err
		}
		if old == nil {
			continue
		}
		var entry *catalogue.Entry
		if at := slices.IndexFunc(entries, func(e *catalogue.Entry) bool { return e.Name == kind.SingularName }); at >= 0 {
			entry = entries[at]
		}
		compared, err := compare(old, entry)
		if err != nil {
			return nil, fmt.Errorf("catalogue entry %s: compare its schema with that of the cluster: %w", kind.SingularName, err)
		}
		if compared.same {
			continue
		}
		change := Change{Entry: kind.SingularName, Kind: kind.Kind, Breaking: compared.breaking}
		if err := eachOrder(ctx, client, kind, func(order *unstructured.Unstructured) { change.add(order, compared.judge(ctx, order)) }); err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// add adds an order to the broken ones if there are reasons.
func (c *Change) add(order *unstructured.Unstructured, reasons []string) {
	switch {
	case len(reasons) == 0:
		return
	case len(c.Broken) == mostOrders:
		c.More++
		return
	}
	if more := len(reasons) - mostReasons; more > 0 {
		reasons = append(slices.Clip(reasons[:mostReasons]), fmt.Sprintf("and %d more", more))
	}
	broken := Order{Kind: order.GetKind(), Namespace: order.GetNamespace(), Name: order.GetName()}
	for _, reason := range reasons {
		// A reason quotes values of the order.
		broken.Reasons = append(broken.Reasons, terminal.Line(reason, longestReason))
	}
	c.Broken = append(c.Broken, broken)
}

// served returns the kinds of the catalogue that a cluster serves, by the names of their entries.
func served(config *rest.Config) ([]metav1.APIResource, error) {
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster for the kinds of the catalogue: %w", err)
	}
	list, err := found.ServerResourcesForGroupVersion(catalogue.Group + "/" + catalogue.Version)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the kinds of %s: %w", catalogue.Group, err)
	}
	kinds := slices.DeleteFunc(list.APIResources, func(r metav1.APIResource) bool { return strings.Contains(r.Name, "/") })
	slices.SortFunc(kinds, func(a, b metav1.APIResource) int { return strings.Compare(a.SingularName, b.SingularName) })
	return kinds, nil
}

// definition returns the CustomResourceDefinition of a kind; nil if it is gone.
func definition(ctx context.Context, client dynamic.Interface, kind metav1.APIResource) (*apiextensionsv1.CustomResourceDefinition, error) {
	return definitionNamed(ctx, client, kind.Name+"."+catalogue.Group)
}

// definitionNamed returns a CustomResourceDefinition by its name; nil if there is none.
func definitionNamed(ctx context.Context, client dynamic.Interface, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	object, err := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the kind %s: %w", name, err)
	}
	encoded, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("read the kind %s: %w", name, err)
	}
	found := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(encoded, found); err != nil {
		return nil, fmt.Errorf("read the kind %s: %w", name, err)
	}
	return found, nil
}

// eachOrder calls do for each order of a kind, by namespace and name.
func eachOrder(ctx context.Context, client dynamic.Interface, kind metav1.APIResource, do func(*unstructured.Unstructured)) error {
	return eachObject(ctx, client, schema.GroupVersionResource{Group: catalogue.Group, Version: catalogue.Version, Resource: kind.Name}, do)
}

// eachObject calls do for each object of a kind, by namespace and name.
func eachObject(ctx context.Context, client dynamic.Interface, kind schema.GroupVersionResource, do func(*unstructured.Unstructured)) error {
	for options := (metav1.ListOptions{Limit: page}); ; {
		found, err := client.Resource(kind).List(ctx, options)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the objects of %s: %w", kind.GroupResource(), err)
		}
		for i := range found.Items {
			do(&found.Items[i])
		}
		if options.Continue = found.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// Package ordered shows in a Plan what a commit does to orders of the catalogue. It computes no preview: the Stacks of orders belong to
// the platform.
package ordered

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/plan"
)

const (
	// mostOrders bounds the orders of one kind in a namespace.
	mostOrders = 1000

	// longestText bounds the texts of a step, in bytes.
	longestText = 500
)

// Is reports whether a kind is one that teams order.
func Is(kind schema.GroupVersionKind) bool {
	return kind.Group == catalogue.Group && kind.Version == catalogue.Version
}

// List returns the orders in a namespace.
func List(ctx context.Context, cluster discovery.DiscoveryInterface, reader client.Reader, namespace string) ([]unstructured.Unstructured, error) {
	kinds, err := catalogue.Kinds(ctx, cluster)
	if err != nil {
		return nil, err
	}
	var all []unstructured.Unstructured
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: catalogue.Group, Version: catalogue.Version, Kind: kind.Kind + "List"})
		if err := reader.List(ctx, list, client.InNamespace(namespace), client.Limit(mostOrders)); err != nil {
			return nil, fmt.Errorf("list the %s: %w", kind.Name, err)
		}
		if list.GetContinue() != "" {
			return nil, fmt.Errorf("the namespace has more than %d %s, too many for a plan: delete some", mostOrders, kind.Name)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// Changes are the changes of a commit to orders. The zero value has none.
type Changes struct {
	steps  []plan.Step
	counts map[string]int

	// kept are the deleted orders whose resources stay. failure says why an order cannot be planned.
	kept    []string
	failure string
}

// Apply adds an order of the commit. live is the order in the cluster, or nil, and applied what the API server would make of it.
func (c *Changes) Apply(live, applied *unstructured.Unstructured) {
	step := plan.Step{Op: "create"}
	if live != nil {
		step.Op, step.Fields = "update", fields(live, applied)
		if len(step.Fields) == 0 {
			c.count("same")
			return
		}
	}
	c.add(step, applied)
}

// Delete adds an order that the commit no longer contains.
func (c *Changes) Delete(live *unstructured.Unstructured) {
	onDelete, _, _ := unstructured.NestedString(live.Object, "spec", "onDelete")
	step := plan.Step{Op: "delete", LosesData: onDelete == catalogue.Delete}
	if !step.LosesData {
		c.kept = append(c.kept, live.GetName())
	}
	c.add(step, live)
}

// Fail adds an order that cannot be planned.
func (c *Changes) Fail(reason string) {
	if c.failure == "" {
		c.failure = reason
	}
}

func (c *Changes) add(step plan.Step, order *unstructured.Unstructured) {
	step.Name = planned.Clean(order.GetName(), longestText)
	step.Type = planned.Clean("kubernetes:"+order.GetAPIVersion()+":"+order.GetKind(), longestText)
	c.steps = append(c.steps, step)
	c.count(step.Op)
}

func (c *Changes) count(op string) {
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[op]++
}

// Entry returns the entry of the Plan, or nil if the commit changes no order.
func (c *Changes) Entry() *plan.Stack {
	if len(c.steps) == 0 && c.failure == "" {
		return nil
	}
	slices.SortFunc(c.steps, plan.CompareSteps)
	made := &plan.Stack{Name: plan.Orders, Changes: c.counts, Steps: c.steps, Failed: c.failure != ""}
	message := c.failure
	if message == "" {
		message = "their Stacks belong to the platform: the plan shows the orders only, and nobody approves by this Plan what the Stacks do"
		if len(c.kept) > 0 {
			message += "; the resources of " + strings.Join(c.kept, ", ") + " stay, because spec.onDelete is " + catalogue.Keep
		}
	}
	made.Message = planned.Clean(message, planned.LongestMessage)
	return made
}

// fields returns the fields of the spec that change.
func fields(live, applied *unstructured.Unstructured) (all []plan.Field) {
	before, _, _ := unstructured.NestedMap(live.Object, "spec")
	after, _, _ := unstructured.NestedMap(applied.Object, "spec")
	names := maps.Clone(before)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(before[name], after[name]) {
			all = append(all, plan.Field{Path: planned.Clean("spec."+name, longestText), Before: text(before, name), After: text(after, name)})
		}
	}
	return all
}

// text returns a field as JSON, or "" for none.
func text(spec map[string]any, name string) string {
	value, is := spec[name]
	if !is {
		return ""
	}
	content, _ := json.Marshal(value) // It is decoded JSON.
	return planned.Clean(string(content), longestText)
}

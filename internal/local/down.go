package local

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"

	"github.com/strata-platform/strata/internal/progress"
)

// stacksTimeout is how long the teams' Stacks may take to be destroyed before `down` reports them instead of waiting on.
const stacksTimeout = 3 * time.Minute

// DownStep is one step of Down.
type DownStep struct {
	Name string
	do   func(context.Context, *progress.Reporter) (string, error)
}

// DownPlan returns what Down does, in order. purge also removes the home.
func (p *Platform) DownPlan(purge bool) []DownStep {
	steps := []DownStep{
		{"teams: destroy their Stacks while the operator lives", p.downStacks},
		{"layer 2: destroy platform", p.downLayer(PlatformLayer)},
		{"layer 1: destroy bootstrap", p.downLayer(BootstrapLayer)},
		{stopStep, func(ctx context.Context, _ *progress.Reporter) (string, error) {
			return "", p.client.Stop(ctx)
		}},
	}
	if purge {
		steps = append(steps, DownStep{p.removeStep(), func(context.Context, *progress.Reporter) (string, error) {
			return "", p.Home.Remove()
		}})
	}
	return steps
}

func (p *Platform) removeStep() string { return "remove " + p.Home.Dir() }

// stopStep is the step without which the home must not be removed: what still runs could not be found again.
const stopStep = "stop what runs"

// Down takes the platform down from the teams to the cluster. With purge a layer that cannot be destroyed does not keep
// the home from being removed: all that the emulated cloud holds goes with it.
func (p *Platform) Down(ctx context.Context, show *progress.Reporter, purge bool) error {
	if p.Home.Exists() {
		release, err := p.Lock()
		if err != nil {
			return err
		}
		defer release()
	}
	return p.runDown(ctx, show, p.DownPlan(purge), purge)
}

func (p *Platform) runDown(ctx context.Context, show *progress.Reporter, steps []DownStep, purge bool) error {
	for _, step := range steps {
		err := show.Run(step.Name, func() (string, error) { return step.do(ctx, show) })
		if err == nil {
			continue
		}
		if !purge || ctx.Err() != nil || step.Name == stopStep {
			return err
		}
		if step.Name == p.removeStep() {
			return err
		}
		show.Note("%v", err)
		show.Note("going on nevertheless: --purge removes the home, and with it all that this step leaves behind")
	}
	return nil
}

// downLayer destroys a layer. Nothing is destroyed where nothing runs and nothing was made.
func (p *Platform) downLayer(layer string) func(context.Context, *progress.Reporter) (string, error) {
	return func(ctx context.Context, show *progress.Reporter) (string, error) {
		if !p.Made(layer) {
			return "never made", nil
		}
		if _, err := p.Start(ctx); err != nil {
			return "", err
		}
		// The steps are in order, so that nothing stands on the layer any more but what could not be destroyed.
		summary, err := p.operate(ctx, layer, func(operation, resource string) { show.Detail("%s %s", operation, resource) }, p.destroy, nil)
		if err != nil {
			return "", err
		}
		return summary.String(), os.RemoveAll(p.Home.Layer(layer))
	}
}

var kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}

// downStacks stops Flux from applying the teams' syncs again, deletes their Stacks, and waits until the operator has
// destroyed what they made.
func (p *Platform) downStacks(ctx context.Context, show *progress.Reporter) (string, error) {
	c, err := p.runningCluster(ctx)
	if err != nil {
		return "", err
	}
	if c == nil {
		return "no cluster", nil
	}
	all, err := stacks(ctx, c)
	if err != nil || len(all) == 0 {
		return "there are none", err
	}
	namespaces := namespacesOf(all)
	if err := p.suspendSyncs(ctx, namespaces); err != nil {
		return "", err
	}
	for i := range all {
		if err := c.Delete(ctx, &all[i]); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("delete Stack %s/%s: %w", all[i].Namespace, all[i].Name, err)
		}
	}
	return fmt.Sprintf("%d destroyed", len(all)), p.waitStacksGone(ctx, c, show)
}

func namespacesOf(all []pulumiv1.Stack) []string {
	var namespaces []string
	for _, s := range all {
		namespaces = append(namespaces, s.Namespace)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

func (p *Platform) suspendSyncs(ctx context.Context, namespaces []string) error {
	config, err := p.AdminConfig()
	if err != nil {
		return err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	for _, namespace := range namespaces {
		syncs, err := dynamicClient.Resource(kustomizations).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the syncs in %s: %w", namespace, err)
		}
		for _, s := range syncs.Items {
			_, err := dynamicClient.Resource(kustomizations).Namespace(namespace).Patch(ctx, s.GetName(), types.MergePatchType,
				[]byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{FieldManager: "strata"})
			if err != nil {
				return fmt.Errorf("suspend the sync %s/%s: %w", namespace, s.GetName(), err)
			}
		}
	}
	return nil
}

// waitStacksGone waits until no Stack is left, or says which are and why.
func (p *Platform) waitStacksGone(ctx context.Context, c client.Client, show *progress.Reporter) error {
	ctx, cancel := context.WithTimeout(ctx, stacksTimeout)
	defer cancel()
	var left []string
	for {
		all, err := stacks(ctx, c)
		if err == nil && len(all) == 0 {
			return nil
		}
		if err == nil {
			left = nil
			for _, s := range all {
				left = append(left, stuck(s))
			}
			show.Detail("waiting for %s", strings.Join(left, "; "))
		}
		select {
		case <-time.After(readyPoll):
		case <-ctx.Done():
			return fmt.Errorf("the Stacks were not destroyed within %s: %s: mend the cause and run this again", stacksTimeout, strings.Join(left, "; "))
		}
	}
}

// stuck names a Stack and what its condition says.
func stuck(s pulumiv1.Stack) string {
	name := fmt.Sprintf("Stack %s/%s", s.Namespace, s.Name)
	for _, kind := range []string{pulumiv1.StalledCondition, pulumiv1.ReconcilingCondition, pulumiv1.ReadyCondition} {
		if condition := meta.FindStatusCondition(s.Status.Conditions, kind); condition != nil && condition.Message != "" {
			return name + ": " + strings.Join(strings.Fields(condition.Message), " ")
		}
	}
	return name
}
